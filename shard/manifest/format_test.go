package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden reads files of every released version, and of an imagined future one.
func TestGolden(t *testing.T) {
	b := appendHeader(nil, 17)
	for _, e := range slices.Concat(edits(), newEdits()) {
		b = appendRecord(b, e)
	}
	v2 := filepath.Join("testdata", "v2.manifest")
	if *update {
		future := bytes.Clone(b)
		future[4] = version + 1
		copy(future, refreshHeader(future))
		for name, data := range map[string][]byte{v2: b, filepath.Join("testdata", "future.manifest"): future} {
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]*State{filepath.Join("testdata", "v1.manifest"): final(), v2: newFinal()} {
		golden, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == v2 && !bytes.Equal(b, golden) {
			t.Error("the bytes that version 2 writes have changed")
		}
		f, err := parse(name, golden)
		if err != nil {
			t.Fatal(err)
		}
		state := &State{}
		for i := range f.edits {
			state = state.apply(&f.edits[i].edit)
		}
		equal(t, name, want, state)
	}

	future, err := os.ReadFile(filepath.Join("testdata", "future.manifest"))
	if err != nil {
		t.Fatal(err)
	}
	unsupported := (*ErrUnsupported)(nil)
	if _, err := parse("future", future); !errors.As(err, &unsupported) || unsupported.Version != version+1 {
		t.Errorf("a file of version %d: %v", version+1, err)
	}
}

// refreshHeader returns the header of b with a correct checksum.
func refreshHeader(b []byte) []byte {
	h := appendHeader(nil, 17)
	h[4] = b[4]
	return binary.LittleEndian.AppendUint32(h[:12], crc32.Checksum(h[:12], castagnoli))
}

func TestUnknownField(t *testing.T) {
	w := writer{b: (&Edit{AppliedIndex: 3}).append(nil)}
	w.uint(77, 1)
	var e Edit
	r := reader{name: "x"}
	r.edit(w.b, &e)
	if unsupported := (*ErrUnsupported)(nil); !errors.As(r.err, &unsupported) || unsupported.Field != 77 {
		t.Errorf("got %v", r.err)
	}
}

func TestInspect(t *testing.T) {
	var out strings.Builder
	if err := Inspect(&out, vfs.OS, filepath.Join("testdata", "v2.manifest")); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "inspect.txt")
	if *update {
		if err := os.WriteFile(name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	b := appendHeader(nil, 17)
	for _, e := range slices.Concat(edits(), newEdits()) {
		b = appendRecord(b, e)
	}
	f.Add(b)
	f.Add(b[:len(b)-5])
	inParts(f, 60)
	b, _ = appendRecords(appendHeader(nil, 17), edits()[0])
	b, _ = appendRecords(b, edits()[1])
	f.Add(b)
	f.Add(b[:len(b)-5])
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parse("fuzz", data)
		var e Edit // after a correct checksum
		(&reader{name: "fuzz"}).edit(data, &e)
	})
}

// TestRawSegment checks that the manifest keeps the raw flag of a segment.
func TestRawSegment(t *testing.T) {
	want := Edit{Add: []segment.Meta{seg(1, 7), seg(2, 7)}}
	want.Add[1].Raw = true
	var got Edit
	r := &reader{name: "test"}
	r.edit(want.append(nil), &got)
	if diff := cmp.Diff(want, got); diff != "" || r.err != nil {
		t.Error(diff, r.err)
	}
}
