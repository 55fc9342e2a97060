package cache

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// inspectFile prints a file as `cordwood inspect` does.
func inspectFile(w io.Writer, f *os.File) error { return segment.Inspect(w, vfs.OS, f.Name()) }

func sampleMap() *savedMap {
	m := &savedMap{
		Object: Object{
			Key: "data/7/20000/3-1-5-2-abc.parquet", Bytes: 1 << 20, TailOffset: 1<<20 - 5000, TailCRC: 0x12345678,
		},
		bareBytes: 1234, bareCRC: 0x9abcdef0,
	}
	for i := range 3 {
		e := savedExtent{
			number: 2 + 3*i, offset: int64(4 + i*100_000), length: 90_000, bytes: 40_960, main: i == 1, filters: i == 2,
			uses: uint8(i), units: 16 + i*30, has: newBits(16 + i*30),
		}
		for u := range e.units {
			if u%3 == i {
				e.has.add(u)
			}
		}
		m.extents = append(m.extents, e)
	}
	return m
}

const mapV1 = "testdata/v1.map"

// TestMapFormat reads the file of the first version of the format, and writes the same bytes.
func TestMapFormat(t *testing.T) {
	want := sampleMap()
	if os.Getenv("WRITE_GOLDEN") != "" {
		if err := os.WriteFile(mapV1, want.encode(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.FromSlash(mapV1))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, want.encode()) {
		t.Error("a map is written in another way than before")
	}
	got, err := parseMap(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(savedMap{}, savedExtent{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	var text strings.Builder
	if err := Inspect(&text, b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "extent 8: 25 of 76 bloom filters in the 90000 bytes from 200004") {
		t.Errorf("got\n%s", text.String())
	}
	for n := range b {
		if _, err := parseMap(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are a map", n, len(b))
		}
		flipped := bytes.Clone(b)
		flipped[n] ^= 1
		if _, err := parseMap(flipped); err == nil {
			t.Errorf("a map with byte %d changed is a map", n)
		}
	}
}

func FuzzMap(f *testing.F) {
	f.Add(sampleMap().encode())
	f.Add([]byte(mapMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMap(b)
		if err != nil {
			return
		}
		if again, err := parseMap(m.encode()); err != nil || !cmp.Equal(m, again, cmp.AllowUnexported(savedMap{},
			savedExtent{})) {
			t.Errorf("%+v became %+v, %v", m, again, err)
		}
	})
}
