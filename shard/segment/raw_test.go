package segment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/vfs"
)

func heap(n int) ([]byte, error) { return make([]byte, n), nil }

// TestRaw writes raw batches and reads them back, also with damage in every byte.
func TestRaw(t *testing.T) {
	tab := tableOf(t, "ts:TimestampMillisecond:TIMESTAMP", "n:Int64", "s:String")
	raw := &Raw{
		TableID: tab.ID, Reason: "for a test", Since: 1234, Cuts: []RawCut{{At: 1, Merge: 2}, {At: 2}, {At: 2, Number: 9}},
	}
	raw.Batches = append(raw.Batches, batchOf(t, tab, row{"ts": 5, "n": 1, "s": "a"}, row{"ts": 6}),
		batchOf(t, tab, row{"ts": 3, "s": "b"}))
	for i, b := range raw.Batches {
		b.Session, b.Seq, b.Epoch = 9, uint64(i), 4
	}
	dir := t.TempDir()
	m, err := WriteRaw(Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { return 12 }}, raw)
	if err != nil {
		t.Fatal(err)
	}
	if m.ID != 12 || m.Order != 12 || m.Rows != 3 || !m.Raw || m.TableID != tab.ID || m.SchemaVersion != tab.Version ||
		m.FileName() != "0000000000000012.rows" {
		t.Errorf("meta %+v", m)
	}
	got, err := ReadRaw(vfs.OS, dir, &m, heap)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(raw, got); diff != "" {
		t.Error(diff)
	}
	path := filepath.Join(dir, m.FileName())
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range sound {
		data := slices.Clone(sound)
		data[i] ^= 0x81
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		corrupt := (*ErrCorrupt)(nil)
		if _, err := ReadRaw(vfs.OS, dir, &m, heap); !errors.As(err, &corrupt) {
			t.Errorf("byte %d of %d: %v", i, len(sound), err)
		}
	}
}

// TestRawDiskFails checks that no file is left after a disk error.
func TestRawDiskFails(t *testing.T) {
	tab := tableOf(t, "ts:TimestampMillisecond:TIMESTAMP")
	raw := &Raw{TableID: tab.ID}
	raw.Batches = append(raw.Batches, batchOf(t, tab, row{"ts": 5}))
	if _, err := WriteRaw(Config{FS: vfs.OS, Dir: filepath.Join(t.TempDir(), "none"), NextID: func() uint64 { return 1 }},
		raw); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that does not exist: %v", err)
	}
	rows := (*ErrRows)(nil)
	if _, err := Write(Config{FS: vfs.OS, Dir: filepath.Join(t.TempDir(), "none"), NextID: func() uint64 { return 1 }},
		tab, raw.Batches); err == nil || errors.As(err, &rows) {
		t.Errorf("a disk error counts as an error of the rows: %v", err)
	}
}

// FuzzReadRaw reads raw segments with arbitrary bytes. Reading must not panic, and must not
// allocate memory for lengths that are only claimed.
func FuzzReadRaw(f *testing.F) {
	tab := tableOf(f, "ts:TimestampMillisecond:TIMESTAMP", "s:String")
	raw := &Raw{TableID: tab.ID, Reason: "x", Cuts: []RawCut{{At: 1}}}
	raw.Batches = append(raw.Batches, batchOf(f, tab, row{"ts": 5, "s": "a"}, row{"ts": 6}))
	dir := f.TempDir()
	m, err := WriteRaw(Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { return 1 }}, raw)
	if err != nil {
		f.Fatal(err)
	}
	sound, err := os.ReadFile(filepath.Join(dir, m.FileName()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	long := slices.Clone(sound)
	copy(long[rawHead+rawRecord-8:], "\xff\xff\xff\xff\xff\xff\xff\x7f")
	f.Add(long)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &rawReader{f: readerAt(data), size: int64(len(data))}
		took := allocated(func() {
			if raw, err := r.read(tab.ID, heap); err == nil {
				for _, b := range raw.Batches {
					_ = fmt.Sprint(b.Rows, len(b.Cols))
				}
			}
		})
		if took > 4<<20+uint64(50*len(data)) {
			t.Fatalf("reading %d bytes took %d", len(data), took)
		}
	})
}

type readerAt []byte

func (r readerAt) ReadAt(b []byte, at int64) (int, error) { return copy(b, r[at:]), nil }
