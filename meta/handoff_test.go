package meta

import (
	"fmt"
	"testing"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestHandoffHistory hands a table over again and again, proposed by nodes whose clocks are years apart: the
// last shards that had it are remembered, and no more than some, whatever the times are.
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
