package meta

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// TestHandoffHistory hands a table over repeatedly. The proposing nodes have clocks that differ by
// years. A limited number of the last shards must be remembered, whatever the times are.
func TestHandoffHistory(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=3")
	r.do("create m time:ts9! k:string#")
	id, epoch := uint64(1), uint32(1)
	var table *schemapb.Table
	step := func(round int, line string) {
		t.Helper()
		cmd := command(t, fmt.Sprintf("place %d epoch=%d %s", id, epoch, line))
		cmd.TimeUnixNano = time.Date(2020+(7*round+len(line))%13, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
		res, ok := r.raw(cmd).(*metapb.Result)
		if !ok || res.ErrorCode != 0 || len(res.Tables) != 1 {
			t.Fatalf("round %d, %s: %v", round, line, res)
		}
		table = res.Tables[0]
		id, epoch = table.Id, table.Placement[len(table.Placement)-1].Epoch
	}
	for round := range 40 {
		step(round, fmt.Sprintf("step=begin shards=%d", 1+round%3))
		handoff := table.Handoff.TableId
		step(round, fmt.Sprintf("step=close copy=%d", handoff))
		step(round, fmt.Sprintf("step=finish copy=%d", handoff))
		if got, want := len(table.Placement), min(round+1, keptHistory)+1; got != want {
			t.Fatalf("round %d: %d placements, want %d", round, got, want)
		}
		for i, p := range table.Placement {
			if handed := i < len(table.Placement)-1; p.Handed != handed {
				t.Errorf("round %d: placement %d is handed over: %t", round, i, p.Handed)
			}
		}
		if round > 0 && table.Placement[len(table.Placement)-2].ShardId != uint32(1+(round-1)%3) { //nolint:gosec // small
			t.Errorf("round %d: the shard of before is %v", round, table.Placement[len(table.Placement)-2])
		}
	}
}

// TestHandoffOfAppending hands over a table that keeps all rows and has some in a former shard.
// Every shard with rows must take part, none may be listed afterwards, and plain placements must be
// refused meanwhile.
func TestHandoffOfAppending(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=3")
	r.do("create m time:ts9! k:string# append_mode=true")
	step := func(id uint64, epoch uint32, line string) *metapb.Result {
		t.Helper()
		res, ok := r.raw(command(t, fmt.Sprintf("place %d epoch=%d %s", id, epoch, line))).(*metapb.Result)
		if !ok {
			t.Fatalf("%s: no result", line)
		}
		return res
	}
	must := func(id uint64, epoch uint32, line string) *schemapb.Table {
		t.Helper()
		res := step(id, epoch, line)
		if res.ErrorCode != 0 || len(res.Tables) != 1 {
			t.Fatalf("%s: %v", line, res)
		}
		return res.Tables[0]
	}
	first := must(1, 1, "shards=1").Placement[0].ShardId
	if first != 3 {
		t.Fatalf("the table was made in shard %d", first)
	}
	table := must(1, 2, "step=begin shards=2")
	if _, ok := table.Handoff.Incarnations[first]; !ok || len(table.Handoff.Incarnations) != 3 {
		t.Errorf("shards %v take part; shard %d has rows, too", table.Handoff.Incarnations, first)
	}
	if res := step(1, 2, "shards=3"); res.ErrorCode == 0 {
		t.Error("the table got other shards while it was handed over")
	}
	handoff := table.Handoff.TableId
	must(1, 2, fmt.Sprintf("step=close copy=%d", handoff))
	table = must(1, 3, fmt.Sprintf("step=finish copy=%d", handoff))
	if has := schema.FromProto(table).Shards(); !slices.Equal(has, []uint32{2}) {
		t.Errorf("the table has rows in shards %v", has)
	}
}
