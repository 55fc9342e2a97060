package logreplay

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
)

const testShard = 3

// tableOf returns a table that change, if it is not nil, has changed.
func tableOf(change func(*schemapb.Table)) *schemapb.Table {
	t := &schemapb.Table{
		Id: 1, Database: "public", Name: "t", Version: 4, MinWriterVersion: 1, NextColumnId: 5,
		Options:   map[string]string{"append_mode": "true"},
		Placement: []*schemapb.Placement{{Epoch: 1, ShardId: testShard}},
		Columns: []*schemapb.Column{
			{
				Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_MILLISECOND,
				Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP, NotNull: true,
			},
			{Id: 2, Name: "host", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_TAG},
			{Id: 3, Name: "n", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
		},
	}
	if change != nil {
		change(t)
	}
	return t
}

// batchOf returns two rows as a writer sent them, to the columns of the unchanged table.
func batchOf(t *testing.T, h column.Header) []byte {
	t.Helper()
	var b column.Builder
	cols := make([]*column.Col, 3)
	for i, c := range schema.FromProto(tableOf(nil)).Columns {
		cols[i] = b.Add(c)
	}
	for row := range 2 {
		cols[0].SetInt(row, int64(1000+row))
		cols[1].SetString(row, fmt.Sprint("host", row))
		cols[2].SetInt(row, int64(row))
		b.EndRow()
	}
	h.TableID = 1
	return b.Encode(nil, h)
}

// replayOf returns a replay behind a state with a table, whose log is needed from entry 1 on.
func replayOf(t *testing.T, g *Log, table *schemapb.Table) *replay {
	t.Helper()
	stored, err := manifest.EncodeTable(table)
	if err != nil {
		t.Fatal(err)
	}
	r, err := newReplay(g, &manifest.State{Tables: []manifest.Table{stored}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// columnsOf returns the ids of the columns of a batch.
func columnsOf(b *column.Batch) (ids []uint32) {
	for i := range b.Cols {
		ids = append(ids, b.Cols[i].ID)
	}
	slices.Sort(ids)
	return ids
}

// TestMend gives batches of earlier definitions to the present one of their table.
func TestMend(t *testing.T) {
	t.Parallel()
	placement := func(list ...*schemapb.Placement) func(*schemapb.Table) {
		return func(t *schemapb.Table) { t.Placement = list }
	}
	at := func(epoch, shard uint32, more ...uint32) *schemapb.Placement {
		return &schemapb.Placement{Epoch: epoch, ShardId: shard, MoreShards: more}
	}
	for _, tt := range []struct {
		name    string
		table   func(*schemapb.Table)
		epoch   uint32 // of the batch; 0 means 1
		version uint32 // of its schema; 0 means 4
		// lost means that the rows are refused; same that the batch is taken as it is.
		lost, same bool
		columns    []uint32
	}{
		{name: "the same definition", same: true},
		{name: "no placement", table: placement(), same: true},
		{name: "more shards since", table: placement(at(1, testShard), at(2, testShard, 8)), columns: []uint32{1, 2, 3}},
		{name: "one of more shards", table: placement(at(1, testShard), at(2, 8, testShard)), columns: []uint32{1, 2, 3}},
		{
			name: "moved away and back", table: placement(at(1, testShard), at(2, 8), at(3, testShard)),
			columns: []uint32{1, 2, 3},
		},
		{name: "moved away", table: placement(at(1, testShard), at(2, 8)), lost: true},
		{name: "moved away, and the schema is old", table: placement(at(1, testShard), at(2, 8)), version: 1, lost: true},
		{
			name:  "closed for a move",
			table: placement(at(1, testShard), &schemapb.Placement{Epoch: 2, ShardId: testShard, Closed: true}),
			lost:  true,
		},
		{name: "moved here, and sent since", table: placement(at(1, 8), at(2, testShard)), epoch: 2, same: true},
		{name: "a column was dropped", table: func(t *schemapb.Table) {
			t.Columns, t.MinWriterVersion = t.Columns[:2], 4
		}, version: 3, columns: []uint32{1, 2}},
		{name: "a column was dropped, and the table moved away and back", table: func(t *schemapb.Table) {
			t.Columns, t.MinWriterVersion = t.Columns[:2], 4
			t.Placement = []*schemapb.Placement{at(1, testShard), at(2, 8), at(3, testShard)}
		}, version: 3, columns: []uint32{1, 2}},
		{name: "a column became wider", table: func(t *schemapb.Table) {
			t.Columns[2].Type, t.MinWriterVersion = schemapb.Type_TYPE_FLOAT64, 4
		}, version: 3, columns: []uint32{1, 2, 3}},
		{name: "a column became another one", table: func(t *schemapb.Table) {
			t.Columns[2].Type, t.MinWriterVersion = schemapb.Type_TYPE_TIMESTAMP_SECOND, 4
		}, version: 3, lost: true},
		{name: "a column was added, which readers fill in", table: func(t *schemapb.Table) {
			t.Columns = append(t.Columns, &schemapb.Column{
				Id: 4, Name: "m", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD,
			})
			t.MinWriterVersion = 4
		}, version: 3, columns: []uint32{1, 2, 3}},
	} {
		r := replayOf(t, Whole(testShard, 1), tableOf(tt.table))
		h := column.Header{Epoch: max(tt.epoch, 1), SchemaVersion: max(tt.version, 1), Session: 9, Seq: 5}
		if tt.version == 0 {
			h.SchemaVersion = 4
		}
		data := batchOf(t, h)
		read, err := column.DecodeHeader(data)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.mend(&read, r.state.Tables[1], data)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if lost := r.refused[1] == 2; lost != tt.lost || lost != (got == nil) || tt.same != slices.Equal(got, data) {
			t.Errorf("%s: %d rows are refused, %d bytes of %d are left", tt.name, r.refused[1], len(got), len(data))
			continue
		}
		if tt.lost || tt.same {
			continue
		}
		b, err := column.Decode(got, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := r.state.Tables[1].Writable()
		if !slices.Equal(columnsOf(b), tt.columns) || b.Rows != 2 || b.Epoch != w.Epoch || b.Session != 9 || b.Seq != 5 ||
			b.SchemaVersion < r.state.Tables[1].MinWriterVersion || b.MinTime != 1000 || b.MaxTime != 1001 {
			t.Errorf("%s: the batch has columns %v, %+v", tt.name, columnsOf(b), b.Header)
		}
		adm := rules.Admission{State: r.state}
		if v, err := adm.Admit(&b.Header); v != rules.Admitted || err != nil || adm.Accept(b) != nil {
			t.Errorf("%s: the table does not take it: %v, %v", tt.name, v, err)
		}
	}
}

// TestMovedTableInTheLog replays the log of a shard from which a table moved away, and to which it came back. Its rows
// from before are taken in the present epoch, and those that the shard refused at that time stay refused.
func TestMovedTableInTheLog(t *testing.T) {
	t.Parallel()
	here, away := []*schemapb.Placement{{Epoch: 1, ShardId: testShard}}, &schemapb.Placement{Epoch: 2, ShardId: 8}
	define := func(version uint32, list ...*schemapb.Placement) []byte {
		b, err := proto.Marshal(tableOf(func(t *schemapb.Table) { t.Version, t.Placement = version, list }))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	write := func(h column.Header, tables ...[]byte) *rules.Entry {
		h.SchemaVersion = 1
		return &rules.Entry{Kind: rules.KindWrite, Writes: []rules.Write{{
			Tables: tables, Batches: [][]byte{batchOf(t, h)},
		}}}
	}
	back := append(slices.Clone(here), away, &schemapb.Placement{Epoch: 3, ShardId: testShard})
	entries := []*rules.Entry{
		write(column.Header{Epoch: 1, Session: 9, Seq: 1}, define(1, here...)),
		{Kind: rules.KindDefine, Tables: [][]byte{define(2, append(slices.Clone(here), away)...)}},
		write(column.Header{Epoch: 1, Session: 9, Seq: 2}), // refused: the table was away
		write(column.Header{Epoch: 1, Session: 9, Seq: 3}), // too, and the writer gave up
		{Kind: rules.KindDefine, Tables: [][]byte{define(3, back...)}},
		write(column.Header{Epoch: 3, Session: 9, Seq: 2}), // the same rows, sent again
		write(column.Header{Epoch: 3, Session: 9, Seq: 2}), // and once more
	}
	for _, applied := range []uint64{0, uint64(len(entries))} { // all entries are after the state, or in it
		g := Whole(testShard, 1)
		g.applied = applied
		table := tableOf(func(t *schemapb.Table) { t.Version, t.Placement = 4, back })
		r := replayOf(t, g, table)
		var taken []string
		for i, e := range entries {
			err := r.entry(&states.LogEntry{
				Index: uint64(i + 1), Term: 1, Command: true, Data: rules.AppendEntry(nil, e),
			}, func(data []byte) error {
				x, err := rules.DecodeEntry(data)
				if err != nil {
					return err
				}
				for _, w := range x.Writes {
					for _, b := range w.Batches {
						h, err := column.DecodeHeader(b)
						if err != nil {
							return err
						}
						taken = append(taken, fmt.Sprintf("batch %d in epoch %d", h.Seq, h.Epoch))
					}
				}
				return nil
			})
			if err != nil {
				t.Fatalf("entry %d: %v", i+1, err)
			}
		}
		// Entries after the state are taken as they are: the rules refuse the same batches as before.
		want := []string{
			"batch 1 in epoch 1", "batch 2 in epoch 1", "batch 3 in epoch 1", "batch 2 in epoch 3", "batch 2 in epoch 3",
		}
		if applied > 0 {
			want = []string{"batch 1 in epoch 3", "batch 2 in epoch 3"}
		}
		if !slices.Equal(taken, want) || r.refused[1] != 0 || applied > 0 && r.rows[1] != 4 {
			t.Errorf("state of entry %d: taken are %q, want %q; %d rows, %d refused", applied, taken, want, r.rows[1],
				r.refused[1])
		}
	}
}
