package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// inParts makes edits continue in another record after the given number of bytes.
func inParts(t testing.TB, bytes int) {
	before := maxPart
	t.Cleanup(func() { maxPart = before })
	maxPart = bytes
}

// appendRecords appends an edit in one or more records, and returns the offsets of their ends.
func appendRecords(dst []byte, e *Edit) (b []byte, ends []int) {
	_ = records(nil, e, func(rec []byte) error {
		dst = append(dst, rec...)
		ends = append(ends, len(dst))
		return nil
	})
	return dst, ends
}

// TestEditsInParts commits the same edits with records of every size, and checks that the read
// state is the same.
func TestEditsInParts(t *testing.T) {
	all := append(slices.Concat(edits(), newEdits(), coldEdits()), &Edit{
		AppliedIndex: 20, AppliedTerm: 3, Clock: 5000, Keys: []Key{{1 << 63, 4, 4000}, {1<<63 + 1, 5, 4001}},
		Merging: []Merging{{TableID: 7, Eras: []Era{{Before: 9, Merge: 1}}}}, Reserved: []uint64{15},
	})
	want := &State{}
	for _, e := range all {
		want = want.apply(e)
	}
	most := 0
	for size := 1; size < 1200; size += 1 + size/7 {
		inParts(t, size)
		for _, reopen := range []bool{false, true} {
			fsys := mem(t)
			m := open(t, fsys, "/s")
			for _, e := range all {
				commit(t, m, e)
				if reopen {
					m = open(t, fsys, "/s")
				}
			}
			m = open(t, fsys, "/s")
			equal(t, fmt.Sprint("records of ", size, " bytes"), want, m.State())
			if err := m.Replace(want); err != nil {
				t.Fatal(err)
			}
			equal(t, fmt.Sprint("replaced, records of ", size, " bytes"), want, open(t, fsys, "/s").State())
			b, err := vfs.ReadFile(fsys, "/s/"+FileName)
			if err != nil {
				t.Fatal(err)
			}
			f, err := parse("x", b)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.edits) != 1 {
				t.Errorf("records of %d bytes: %d edits", size, len(f.edits))
			}
			most = max(most, f.edits[0].records)
		}
	}
	if most < 15 {
		t.Errorf("a state has at most %d records", most)
	}
}

// TestFaultsInParts is like TestFaults, for edits of several records.
func TestFaultsInParts(t *testing.T) {
	inParts(t, 100)
	boom := errors.New("boom")
	edit := func(i uint64) *Edit {
		return &Edit{
			AppliedIndex: i,
			Add:          []segment.Meta{seg(3*i, 1), seg(3*i+1, 1), seg(3*i+2, 1)},
			Tables:       []Table{table(100+i, 1), table(200+i, 1)},
		}
	}
	for n := 1; ; n++ {
		hit := true
		for lost := range 20 {
			disk := mem(t)
			fail := vfs.FailNth{N: n, Err: boom}
			m := open(t, vfs.Hook(disk, fail.Fail), "/s")
			committed := uint64(0)
			for i := range uint64(4) {
				if err := m.Commit(edit(i + 1)); err != nil {
					break
				}
				committed = i + 1
			}
			disk.Crash(lost)
			got := open(t, disk, "/s").State()
			if got.AppliedIndex < committed || got.AppliedIndex > committed+1 || len(got.Segments) != 3*int(got.AppliedIndex) ||
				len(got.Tables) != 2*int(got.AppliedIndex) {
				t.Fatalf("operation %d, crash %d: index %d with %d segments and %d tables, committed %d", n, lost, got.AppliedIndex,
					len(got.Segments), len(got.Tables), committed)
			}
			hit = fail.Hit()
		}
		if !hit {
			break
		}
	}
}

// TestCutInParts truncates a file at every length, and damages it at every byte. It must be refused
// or read completely.
func TestCutInParts(t *testing.T) {
	inParts(t, 60)
	whole := appendHeader(nil, 17)
	var ends []int // ends of the edits
	var states []*State
	state, first, parts := &State{}, 0, 0
	for _, e := range edits() {
		var of []int
		whole, of = appendRecords(whole, e)
		parts = max(parts, len(of))
		ends, state = append(ends, len(whole)), state.apply(e)
		states = append(states, state)
		if first == 0 {
			first = len(whole)
		}
	}
	if parts < 3 {
		t.Fatalf("edits have at most %d records", parts)
	}
	check := func(what string, b []byte, want *State) {
		t.Helper()
		f, err := parse("x", b)
		if want == nil {
			if corrupt := (*ErrCorrupt)(nil); !errors.As(err, &corrupt) {
				t.Fatalf("%s: %v, want an error for a damaged file", what, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got := &State{}
		for i := range f.edits {
			got = got.apply(&f.edits[i].edit)
		}
		equal(t, what, want, got)
		if end := f.edits[len(f.edits)-1]; end.offset+end.size+f.torn != int64(len(b)) {
			t.Errorf("%s: %d bytes of an unfinished edit after %d of %d", what, f.torn, end.offset+end.size, len(b))
		}
	}
	complete := func(n int) (s *State) {
		for i, end := range ends {
			if end <= n {
				s = states[i]
			}
		}
		return s
	}
	for n := range len(whole) + 1 {
		check(fmt.Sprint("cut to ", n), whole[:n], complete(n))
	}
	// A flipped bit counts as an unfinished end only after all intact records.
	lastRecord := bytes.LastIndex(whole, []byte(recordMark))
	for at := headerSize; at < len(whole); at++ {
		b := bytes.Clone(whole)
		b[at] ^= 4
		var want *State
		if at >= lastRecord {
			want = states[len(states)-2]
		}
		check(fmt.Sprint("flipped at ", at), b, want)
	}
	// The last record of a file with one edit cannot be missing.
	one := whole[:first]
	check("the first edit without its last record", one[:bytes.LastIndex(one, []byte(recordMark))], nil)
}

// TestTooLarge checks that a definition that is too large to be read again is refused, and that
// nothing changes.
func TestTooLarge(t *testing.T) {
	defer func(n int) { maxField = n }(maxField)
	fsys := mem(t)
	m := open(t, fsys, "/s")
	commit(t, m, edits()...)
	maxField = 1000
	table := func(id uint64, bytes int) *Edit {
		def := append([]byte{8, byte(id)}, make([]byte, bytes)...)
		return &Edit{AppliedIndex: 1000 + id, AppliedTerm: 9, Tables: []Table{{ID: id, Def: def}}}
	}
	before := m.State()
	if err := m.Commit(table(100, 2000)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("a definition of 2000 bytes: %v", err)
	}
	equal(t, "unchanged", before, m.State())
	if err := m.Replace(before.apply(table(100, 2000))); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("a state with a definition of 2000 bytes: %v", err)
	}
	commit(t, m, table(100, 700))
	equal(t, "opened", m.State(), open(t, fsys, "/s").State())
}

// TestInspectParts checks that Inspect shows the number of records of an edit.
func TestInspectParts(t *testing.T) {
	inParts(t, 60)
	b, _ := appendRecords(appendHeader(nil, 17), edits()[0])
	path := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Inspect(&out, vfs.OS, path); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "bytes in 5 records\n") {
		t.Error(out.String())
	}
}
