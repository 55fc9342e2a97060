package shard

import (
	"errors"
	"fmt"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/store"
)

func TestOperations(t *testing.T) {
	t.Parallel()
	var o store.Operations
	flush, compaction := o.Begin("flush", "a", 5), o.Begin("compaction", "b", 7)
	flush(nil)
	flush(errors.New("too late"))
	compaction(errors.New("broken"))
	running := o.Begin("flush", "c", 0)
	got := ""
	for _, op := range o.List() {
		got += fmt.Sprintf("%d %s %s %t %d/%d %s|", op.Id, op.Kind, op.Detail, op.EndedUnixNano > 0, op.DoneBytes,
			op.TotalBytes, op.Error)
	}
	if want := "1 flush a true 5/5 |2 compaction b true 0/7 broken|3 flush c false 0/0 |"; got != want {
		t.Errorf("operations are %q, want %q", got, want)
	}
	for range 100 {
		o.Begin("flush", "", 0)(nil)
	}
	if n := len(o.List()); n != 51 {
		t.Errorf("%d are remembered, want %d and the one that runs", n, 50)
	}
	running(nil)
}

func TestStatsOf(t *testing.T) {
	t.Parallel()
	o := openShard(t, testConfig(t))
	o.mustPut(batch(head(1, 1, 1), "a", "b"), batch(head(2, 1, 2), "c"))
	o.flush()
	o.mustPut(batch(head(2, 1, 3), "d"))
	all, one := o.Stats(true), o.StatsOf(&shardpb.StatsRequest{TableIds: []uint64{2, 77}, Segments: true})
	none := o.StatsOf(&shardpb.StatsRequest{NoTables: true})
	for _, s := range []*shardpb.ShardStats{all, one, none} {
		if s.TableCount != 2 || s.Rows != 4 || s.SegmentBytes == 0 || len(s.Operations) != 1 ||
			s.Operations[0].Kind != "flush" {
			t.Errorf("totals are %d tables, %d rows, %d bytes, operations %v", s.TableCount, s.Rows,
				s.SegmentBytes, s.Operations)
		}
	}
	if len(all.Tables) != 2 || len(all.Segments) != 2 || all.Tables[1].Rows != 2 {
		t.Errorf("all tables: %v, %v", all.Tables, all.Segments)
	}
	if len(one.Tables) != 1 || one.Tables[0].TableId != 2 || one.Tables[0].Rows != 2 || len(one.Segments) != 1 {
		t.Errorf("one table: %v, %v", one.Tables, one.Segments)
	}
	if len(none.Tables)+len(none.Segments) != 0 {
		t.Errorf("no table: %v", none.Tables)
	}
}
