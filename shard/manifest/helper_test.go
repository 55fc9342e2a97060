package manifest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// appendRecord appends an edit in one record.
func appendRecord(dst []byte, e *Edit) []byte {
	at := len(dst)
	return endRecord(e.append(beginRecord(dst)), at)
}

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
		Id: id, Database: "public", Name: fmt.Sprint("t", id), Version: version,
		Options: map[string]string{"ttl": "7days", "comment": "c"},
		Columns: []*schemapb.Column{
			{Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP},
		},
	})
	if err != nil {
		panic(err)
	}
	return t
}

// edits returns a history with every kind of change.
func edits() []*Edit {
	return []*Edit{
		{
			AppliedIndex: 5, AppliedTerm: 1, Clock: 1000, NextSegmentID: 3, Add: []segment.Meta{seg(1, 7), seg(2, 8)},
			Tables:   []Table{table(7, 1), table(8, 1)},
			Sessions: []Session{{ID: 1 << 63, High: 70, Seen: []uint64{1, 1 << 63}, LastUnixNano: 900}},
		},
		{
			AppliedIndex: 9, AppliedTerm: 2, Clock: 2000, Add: []segment.Meta{seg(3, 7), seg(4, 7)},
			Tables: []Table{table(7, 2)},
		},
		{
			AppliedIndex: 9, AppliedTerm: 2, Clock: 2000, Remove: []uint64{4}, Drop: []uint64{8},
			Sessions: []Session{{ID: 4, High: 1, Seen: []uint64{1}, LastUnixNano: 1}},
		},
	}
}

// shared returns a segment of several tables.
func shared(id uint64, spans ...segment.TableSpan) segment.Meta {
	m := seg(id, 0)
	m.SchemaVersion, m.Order, m.Tables = 0, id-1, spans
	m.Columns[1].FieldID, m.Columns[1].Logical = 2, "ünï"
	return m
}

// newEdits returns a history with the additions of version 2.
func newEdits() []*Edit {
	span := func(table uint64, lo, hi int64) segment.TableSpan {
		return segment.TableSpan{TableID: table, Rows: 7, MinTime: lo, MaxTime: hi}
	}
	return []*Edit{
		{
			AppliedIndex: 12, AppliedTerm: 2, Clock: 3000, Add: []segment.Meta{
				shared(10, span(7, -5, 99), span(9, -1<<63, 1<<63-1), span(1<<40, 1, 1)),
				shared(11, span(7, 0, 10), span(9, 1, 1)), seg(12, 1<<40), shared(14, span(9, 1, 2)),
				shared(6, span(7, 0, 9), span(9, 1, 2)),
			},
			Tables: []Table{table(9, 1), table(1<<40, 3)}, Sessions: []Session{
				{ID: 4, High: 1, Seen: []uint64{1}, LastUnixNano: 1},
				{ID: 4, Unlogged: true, High: 9, Seen: []uint64{3}, LastUnixNano: 2},
			},
		},
		{
			AppliedIndex: 13, AppliedTerm: 2, Clock: 4000, Drop: []uint64{9},
			Expire:   []Expiry{{TableID: 7, Before: 10, Order: 11}, {TableID: 1 << 40, Before: 1, Order: 5}},
			Reserved: []uint64{13, 15}, NextSegmentID: 16,
		},
		{
			Swept: true, Garbage: []uint64{5},
			Add:    []segment.Meta{shared(8, span(77, 1, 2)), shared(13, span(7, 0, 9), span(9, 1, 2), span(1<<40, 1, 1))},
			Remove: []uint64{10, 12}, Reserved: []uint64{15},
		},
	}
}

// newFinal returns the state after edits and newEdits.
func newFinal() *State {
	return &State{
		AppliedIndex: 13, AppliedTerm: 2, NextSegmentID: 16, Clock: 4000,
		Segments: []segment.Meta{seg(1, 7), seg(3, 7), newEdits()[0].Add[1], newEdits()[2].Add[1]},
		Tables:   []Table{table(7, 2), table(1<<40, 3)}, Dropped: []Tombstone{{8, 2000}, {9, 4000}},
		Expired:  []Expiry{{TableID: 7, Before: 10, Order: 11}, {TableID: 1 << 40, Before: 1, Order: 5}},
		Reserved: []uint64{15}, Garbage: []uint64{5, 8, 10, 12},
	}
}

// final returns the state after edits.
func final() *State {
	return &State{
		AppliedIndex: 9, AppliedTerm: 2, NextSegmentID: 5, Clock: 2000, Segments: []segment.Meta{seg(1, 7), seg(3, 7)},
		Tables: []Table{table(7, 2)}, Dropped: []Tombstone{{8, 2000}}, Garbage: []uint64{2, 4},
		Sessions: []Session{{ID: 4, High: 1, Seen: []uint64{1}, LastUnixNano: 1}},
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
