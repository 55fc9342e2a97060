package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

func TestCommitAndOpen(t *testing.T) {
	for _, fsys := range []vfs.FS{vfs.OS, mem(t)} {
		dir := "/s"
		if fsys == vfs.OS {
			dir = t.TempDir()
		}
		m := open(t, fsys, dir)
		equal(t, "new", &State{}, m.State())
		commit(t, m, edits()...)
		equal(t, "committed", final(), m.State())
		for range 2 {
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Commit(edits()[2]); !errors.Is(err, ErrBroken) {
			t.Errorf("commit after Close: %v", err)
		}
		m = open(t, fsys, dir)
		equal(t, "opened", final(), m.State())
		commit(t, m, newEdits()...)
		equal(t, "of version 2", newFinal(), m.State())
		commit(t, m, newEdits()[2])
		equal(t, "the last one twice", newFinal(), m.State())
		m.size = rewriteFactor*m.base + rewriteBytes + 1
		commit(t, m, &Edit{Reserved: []uint64{15}})
		equal(t, "rewritten", newFinal(), open(t, fsys, dir).State())
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		dir += "2"
		if err := fsys.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		m = open(t, fsys, dir)
		commit(t, m, edits()...)
		commit(t, m, &Edit{AppliedIndex: 9, AppliedTerm: 2, Clock: 2000, Sessions: final().Sessions}) // the file is rewritten
		equal(t, "opened again", final(), open(t, fsys, dir).State())
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIndexRegress(t *testing.T) {
	m := open(t, mem(t), "/s")
	commit(t, m, edits()...)
	err := m.Commit(&Edit{AppliedIndex: 8})
	if !errors.Is(err, ErrIndexRegress) || !strings.Contains(err.Error(), "from 9 to 8") {
		t.Errorf("got %v", err)
	}
	equal(t, "after a refusal", final(), m.State())
	commit(t, m, &Edit{AppliedIndex: 10})
}

// TestOrder records what commits write and sync, and in which order.
func TestOrder(t *testing.T) {
	var rec vfs.Recorder
	m := open(t, vfs.Hook(mem(t), rec.Record), "/s")
	rec.Transcript()
	commit(t, m, edits()[0])
	first := []string{
		"create MANIFEST.tmp", "write MANIFEST.tmp", "sync MANIFEST.tmp", "rename MANIFEST.tmp -> MANIFEST",
		"sync-dir s",
	}
	if diff := cmp.Diff(first, rec.Transcript()); diff != "" {
		t.Error(diff)
	}
	commit(t, m, edits()[1])
	if diff := cmp.Diff([]string{"write MANIFEST.tmp", "sync MANIFEST.tmp"}, rec.Transcript()); diff != "" {
		t.Error(diff) // the record shows the file under its first name
	}
}

func TestRewriteWhenLarge(t *testing.T) {
	fsys := mem(t)
	m := open(t, fsys, "/s")
	e := Edit{Sessions: []Session{{ID: 1, Seen: make([]uint64, 16<<10)}}} // 128 KiB
	for i := range 40 {
		e.AppliedIndex = uint64(i + 1)
		commit(t, m, &e)
	}
	size, err := fsys.Stat("/s/" + FileName)
	if err != nil {
		t.Fatal(err)
	}
	if size > rewriteBytes+200<<10 {
		t.Errorf("file has grown to %d bytes", size)
	}
	if got := open(t, fsys, "/s").State().AppliedIndex; got != 40 {
		t.Errorf("applied index %d", got)
	}
}

// TestFaults makes every operation of a history fail once, with and without a crash after it.
// Committed edits must be there, the failed one may or may not be, and nothing else may be.
func TestFaults(t *testing.T) {
	boom := errors.New("boom")
	for _, crash := range []bool{false, true} {
		for n := 1; ; n++ {
			disk := mem(t)
			fail := vfs.FailNth{N: n, Err: boom}
			m := open(t, vfs.Hook(disk, fail.Fail), "/s")
			committed := uint64(0)
			for i := range 3 {
				e := &Edit{AppliedIndex: uint64(i + 1), Add: []segment.Meta{seg(uint64(i+1), 1)}}
				err := m.Commit(e)
				if err == nil {
					committed = e.AppliedIndex
					continue
				}
				if !errors.Is(err, boom) {
					t.Fatalf("operation %d: %v", n, err)
				}
				if err := m.Commit(e); !errors.Is(err, ErrBroken) {
					t.Fatalf("operation %d: commit of a broken manifest: %v", n, err)
				}
				break
			}
			if crash {
				disk.Crash(n % 20)
			}
			got := open(t, disk, "/s").State()
			if got.AppliedIndex < committed || got.AppliedIndex > committed+1 || len(got.Segments) != int(got.AppliedIndex) {
				t.Errorf("operation %d, crash %t: index %d with %d segments, committed %d", n, crash, got.AppliedIndex,
					len(got.Segments), committed)
			}
			if !fail.Hit() {
				break
			}
		}
	}
}

// TestRecovery checks every state of the file that a crash or damage may leave.
func TestRecovery(t *testing.T) {
	whole := appendHeader(nil, 17)
	var ends []int
	for _, e := range edits() {
		whole = appendRecord(whole, e)
		ends = append(ends, len(whole))
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte { b[at] ^= 0x10; return b }
	}
	tests := []struct {
		name    string
		change  func([]byte) []byte
		records int // surviving records; -1 means an error
		err     string
	}{
		{"sound", cut(len(whole)), 3, ""},
		{"last record unfinished by a byte", cut(len(whole) - 1), 2, ""},
		{"last record: only its mark", cut(ends[1] + 4), 2, ""},
		{"last record: a byte", cut(ends[1] + 1), 2, ""},
		{"last record damaged", flip(ends[2] - 3), 2, ""},
		{"zeros behind the last record", func(b []byte) []byte { return append(b, make([]byte, 100)...) }, 3, ""},
		{"two records gone", cut(ends[0]), 1, ""},
		{"first record unfinished", cut(ends[0] - 1), -1, fmt.Sprintf("at offset %d", headerSize)},
		{"only a header", cut(headerSize), -1, "want a record, got the end of the file"},
		{"half a header", cut(7), -1, "want a header of 16 bytes, got a file of 7 bytes"},
		{"empty", cut(0), -1, "got a file of 0 bytes"},
		{"magic damaged", flip(1), -1, `want magic "CWMF"`},
		{"header damaged", flip(9), -1, "header checksum"},
		{"version damaged", flip(4), -1, "header checksum"},
		{
			"first record damaged", flip(headerSize + recordHead + 3), -1,
			fmt.Sprintf("at offset %d: want record checksum", headerSize),
		},
		{
			"middle record damaged", flip(ends[0] + recordHead + 3), -1,
			fmt.Sprintf("offset %d: want record checksum", ends[0]),
		},
		{"middle record's mark damaged", flip(ends[0]), -1, fmt.Sprintf(`an intact record at offset %d`, ends[1])},
		{"middle record's length damaged", flip(ends[0] + 7), -1, fmt.Sprintf("offset %d: want a record of", ends[0])},
		{
			"another shard's", func(b []byte) []byte { return append(appendHeader(nil, 3), b[headerSize:]...) }, -1,
			"belongs to shard 3, not to shard 17",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName), test.change(bytes.Clone(whole)), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, FileName+".tmp"), whole[:20], 0o644); err != nil {
				t.Fatal(err)
			}
			m, err := Open(Config{FS: vfs.OS, Dir: dir, ShardID: 17})
			if test.records < 0 {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), dir) {
					t.Fatalf("got %v, want an error with %q and the file", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := &State{}
			for _, e := range edits()[:test.records] {
				want = want.apply(e)
			}
			equal(t, "state", want, m.State())
			if _, err := os.Stat(filepath.Join(dir, FileName+".tmp")); !errors.Is(err, os.ErrNotExist) {
				t.Error("the unfinished file is still there")
			}
			// Nothing may be appended to the torn tail.
			commit(t, m, &Edit{AppliedIndex: 100})
			equal(t, "after a commit", want.apply(&Edit{AppliedIndex: 100}), open(t, vfs.OS, dir).State())
		})
	}
}

// TestTombstonesGo checks that dropped tables are forgotten after TombstoneTTL.
func TestTombstonesGo(t *testing.T) {
	m := open(t, mem(t), "/s")
	commit(t, m, &Edit{AppliedIndex: 1, Clock: 5, Drop: []uint64{3}}, &Edit{
		AppliedIndex: 2,
		Clock:        7,
		Drop:         []uint64{3, 2},
	})
	equal(t, "dropped", &State{AppliedIndex: 2, Clock: 7, Dropped: []Tombstone{{2, 7}, {3, 5}}}, m.State())
	last := int64(TombstoneTTL) + int64(time.Minute) - 1 // the end of the last step with the tombstones
	commit(t, m, &Edit{AppliedIndex: 3, Clock: last, Drop: []uint64{4}, Tombstones: []Tombstone{{4, int64(time.Minute)}}})
	equal(t, "the times of drops", &State{
		AppliedIndex: 3,
		Clock:        last,
		Dropped:      []Tombstone{{2, 7}, {3, 5}, {4, int64(time.Minute)}},
	}, m.State())
	commit(t, m, &Edit{AppliedIndex: 4, Clock: last + 1})
	equal(t, "later", &State{AppliedIndex: 4, Clock: last + 1, Dropped: []Tombstone{{4, int64(time.Minute)}}}, m.State())
	// A drop that reaches the manifest late still makes segments dead.
	commit(t, m, &Edit{AppliedIndex: 5, Clock: 2 * last, Tables: []Table{table(7, 1)}, Add: []segment.Meta{seg(1, 7)}})
	commit(t, m, &Edit{AppliedIndex: 6, Clock: 4 * last, Drop: []uint64{7}, Tombstones: []Tombstone{{7, 2 * last}}})
	if st := m.State(); len(st.Segments) != 0 {
		t.Errorf("segments of a dropped table: %v", st.Segments)
	}
}

// TestManyTables opens the manifest of a shard with 20,000 tables.
func TestManyTables(t *testing.T) {
	fsys := mem(t)
	m := open(t, fsys, "/s")
	e := &Edit{AppliedIndex: 1}
	spans := []segment.TableSpan{}
	for id := range uint64(20_000) {
		e.Tables = append(e.Tables, table(id+1, 1))
		spans = append(spans, segment.TableSpan{TableID: id + 1, Rows: 5, MinTime: 1, MaxTime: 2})
	}
	commit(t, m, e)
	for i := range uint64(8) {
		commit(t, m, &Edit{AppliedIndex: 2 + i, Add: []segment.Meta{shared(i+1, spans...)}})
	}
	got := open(t, fsys, "/s").State()
	if len(got.Tables) != 20_000 || len(got.Segments) != 8 || len(got.Segments[7].Tables) != 20_000 {
		t.Errorf("%d tables, %d segments", len(got.Tables), len(got.Segments))
	}
}
