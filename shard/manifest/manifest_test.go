package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

var update = flag.Bool("update", false, "write the golden files anew")

func equal(t *testing.T, what string, want, got *State) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func seg(id, table uint64) segment.Meta {
	return segment.Meta{
		ID: id, TableID: table, SchemaVersion: 3, Rows: 10, Bytes: 4096, MinTime: -5, MaxTime: 1 << 60,
		FooterCRC: 0xfeedbeef, FileCRC: 1, Order: id,
		Columns: []segment.Column{
			{ID: 1, FieldID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
			{ID: 9, FieldID: 9, Name: "Ünï.code \"x\"", Type: schema.String, Semantic: schema.Tag},
		},
	}
}

func table(id uint64, version uint32) Table {
	t, err := EncodeTable(&schemapb.Table{
		Id: id, Database: "public", Name: fmt.Sprint("t", id), Version: version, Options: map[string]string{"ttl": "7days", "comment": "c"},
		Columns: []*schemapb.Column{{Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP}},
	})
	if err != nil {
		panic(err)
	}
	return t
}

// edits is a history with every kind of change.
func edits() []*Edit {
	return []*Edit{
		{
			AppliedIndex: 5, AppliedTerm: 1, Clock: 1000, NextSegmentID: 3, Add: []segment.Meta{seg(1, 7), seg(2, 8)}, Tables: []Table{table(7, 1), table(8, 1)},
			Sessions: []Session{{ID: 1 << 63, High: 70, Seen: []uint64{1, 1 << 63}, LastUnixNano: 900}},
		},
		{AppliedIndex: 9, AppliedTerm: 2, Clock: 2000, Add: []segment.Meta{seg(3, 7), seg(4, 7)}, Tables: []Table{table(7, 2)}},
		{AppliedIndex: 9, AppliedTerm: 2, Clock: 2000, Remove: []uint64{4}, Drop: []uint64{8}, Sessions: []Session{{ID: 4, High: 1, Seen: []uint64{1}, LastUnixNano: 1}}},
	}
}

// shared is a segment of several tables.
func shared(id uint64, spans ...segment.TableSpan) segment.Meta {
	m := seg(id, 0)
	m.SchemaVersion, m.Order, m.Tables = 0, id-1, spans
	m.Columns[1].FieldID, m.Columns[1].Logical = 2, "ünï"
	return m
}

// newEdits is a history with what version 2 has and version 1 has not.
func newEdits() []*Edit {
	span := func(table uint64, lo, hi int64) segment.TableSpan {
		return segment.TableSpan{TableID: table, Rows: 7, MinTime: lo, MaxTime: hi}
	}
	return []*Edit{
		{
			AppliedIndex: 12, AppliedTerm: 2, Clock: 3000, Add: []segment.Meta{shared(10, span(7, -5, 99), span(9, -1<<63, 1<<63-1), span(1<<40, 1, 1)), shared(11, span(7, 0, 10), span(9, 1, 1)), seg(12, 1<<40), shared(14, span(9, 1, 2)), shared(6, span(7, 0, 9), span(9, 1, 2))},
			Tables: []Table{table(9, 1), table(1<<40, 3)}, Sessions: []Session{{ID: 4, High: 1, Seen: []uint64{1}, LastUnixNano: 1}, {ID: 4, Unlogged: true, High: 9, Seen: []uint64{3}, LastUnixNano: 2}},
		},
		{AppliedIndex: 13, AppliedTerm: 2, Clock: 4000, Drop: []uint64{9}, Expire: []Expiry{{7, 10, 11}, {1 << 40, 1, 5}}, Reserved: []uint64{13, 15}, NextSegmentID: 16},
		{Swept: true, Garbage: []uint64{5}, Add: []segment.Meta{shared(8, span(77, 1, 2)), shared(13, span(7, 0, 9), span(9, 1, 2), span(1<<40, 1, 1))}, Remove: []uint64{10, 12}, Reserved: []uint64{15}},
	}
}

// newFinal is the state that edits and newEdits lead to.
func newFinal() *State {
	return &State{
		AppliedIndex: 13, AppliedTerm: 2, NextSegmentID: 16, Clock: 4000,
		Segments: []segment.Meta{seg(1, 7), seg(3, 7), newEdits()[0].Add[1], newEdits()[2].Add[1]},
		Tables:   []Table{table(7, 2), table(1<<40, 3)}, Dropped: []Tombstone{{8, 2000}, {9, 4000}},
		Expired: []Expiry{{7, 10, 11}, {1 << 40, 1, 5}}, Reserved: []uint64{15}, Garbage: []uint64{5, 8, 10, 12},
	}
}

// final is the state that edits lead to.
func final() *State {
	return &State{
		AppliedIndex: 9, AppliedTerm: 2, NextSegmentID: 5, Clock: 2000, Segments: []segment.Meta{seg(1, 7), seg(3, 7)},
		Tables: []Table{table(7, 2)}, Dropped: []Tombstone{{8, 2000}}, Garbage: []uint64{2, 4}, Sessions: []Session{{ID: 4, High: 1, Seen: []uint64{1}, LastUnixNano: 1}},
	}
}

func open(t *testing.T, fsys vfs.FS, dir string) *Manifest {
	t.Helper()
	m, err := Open(Config{FS: fsys, Dir: dir, ShardID: 17})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mem(t *testing.T) *vfs.Mem {
	t.Helper()
	m := vfs.NewMem()
	if err := m.MkdirAll("/s"); err != nil {
		t.Fatal(err)
	}
	return m
}

func commit(t *testing.T, m *Manifest, edits ...*Edit) {
	t.Helper()
	for _, e := range edits {
		if err := m.Commit(e); err != nil {
			t.Fatal(err)
		}
	}
}

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
		equal(t, "written anew", newFinal(), open(t, fsys, dir).State())
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		dir += "2"
		if err := fsys.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		m = open(t, fsys, dir)
		commit(t, m, edits()...)
		commit(t, m, &Edit{AppliedIndex: 9, AppliedTerm: 2, Clock: 2000, Sessions: final().Sessions}) // written anew
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

// TestOrder is the transcript of commits: what is written and synced, in which order.
func TestOrder(t *testing.T) {
	var rec vfs.Recorder
	m := open(t, vfs.Hook(mem(t), rec.Record), "/s")
	rec.Transcript()
	commit(t, m, edits()[0])
	first := []string{"create MANIFEST.tmp", "write MANIFEST.tmp", "sync MANIFEST.tmp", "rename MANIFEST.tmp -> MANIFEST", "sync-dir s"}
	if diff := cmp.Diff(first, rec.Transcript()); diff != "" {
		t.Error(diff)
	}
	commit(t, m, edits()[1])
	if diff := cmp.Diff([]string{"write MANIFEST.tmp", "sync MANIFEST.tmp"}, rec.Transcript()); diff != "" {
		t.Error(diff) // the handle keeps its first name in the transcript
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

// TestFaults fails every operation of a history once, with and without a crash after
// it: what was committed is there, what was not is there or not, and nothing else.
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
				t.Errorf("operation %d, crash %t: index %d with %d segments, committed %d", n, crash, got.AppliedIndex, len(got.Segments), committed)
			}
			if !fail.Hit() {
				break
			}
		}
	}
}

// TestRecovery lists the files that a reader may find.
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
		records int // that survive; -1: an error
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
		{"first record damaged", flip(headerSize + recordHead + 3), -1, fmt.Sprintf("at offset %d: want record checksum", headerSize)},
		{"middle record damaged", flip(ends[0] + recordHead + 3), -1, fmt.Sprintf("offset %d: want record checksum", ends[0])},
		{"middle record's mark damaged", flip(ends[0]), -1, fmt.Sprintf(`a sound record at offset %d`, ends[1])},
		{"middle record's length damaged", flip(ends[0] + 7), -1, fmt.Sprintf("offset %d: want a record of", ends[0])},
		{"another shard's", func(b []byte) []byte { return append(appendHeader(nil, 3), b[headerSize:]...) }, -1, "belongs to shard 3, not to shard 17"},
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
			// The torn tail must not be appended to.
			commit(t, m, &Edit{AppliedIndex: 100})
			equal(t, "after a commit", want.apply(&Edit{AppliedIndex: 100}), open(t, vfs.OS, dir).State())
		})
	}
}

// TestGolden reads the file of every released version, and of one to come.
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

// TestTombstonesGo forgets dropped tables after a while.
func TestTombstonesGo(t *testing.T) {
	m := open(t, mem(t), "/s")
	commit(t, m, &Edit{AppliedIndex: 1, Clock: 5, Drop: []uint64{3}}, &Edit{AppliedIndex: 2, Clock: 7, Drop: []uint64{3, 2}})
	equal(t, "dropped", &State{AppliedIndex: 2, Clock: 7, Dropped: []Tombstone{{2, 7}, {3, 5}}}, m.State())
	commit(t, m, &Edit{AppliedIndex: 3, Clock: 6 + int64(TombstoneTTL)})
	equal(t, "later", &State{AppliedIndex: 3, Clock: 6 + int64(TombstoneTTL), Dropped: []Tombstone{{2, 7}}}, m.State())
}

// TestManyTables opens what 20,000 tables leave.
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

// refreshHeader returns the header of b with a right checksum.
func refreshHeader(b []byte) []byte {
	h := appendHeader(nil, 17)
	h[4] = b[4]
	return binary.LittleEndian.AppendUint32(h[:12], crc32.Checksum(h[:12], castagnoli))
}

func TestUnknownField(t *testing.T) {
	w := writer{(&Edit{AppliedIndex: 3}).append(nil)}
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
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parse("fuzz", data)
		var e Edit // behind a right checksum
		(&reader{name: "fuzz"}).edit(data, &e)
	})
}
