package coordinator

import (
	"strings"
	"testing"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// TestRetiringShardGetsNothing checks that no retiring shard is chosen for a table, and that moving
// a table to one is refused.
func TestRetiringShardGetsNothing(t *testing.T) {
	w := newWorld(t).node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").table(7, nil, 1)
	w.settle()
	w.shards[2].Retiring = true
	snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), []*schema.Table{w.tables[7]}, nil)
	chosen := placement.Emptiest(snapshot.ShardLoads(snap), snapshot.TableLoads(snap), nil, 3)
	for _, id := range chosen {
		if id == 2 {
			t.Errorf("a table was spread over shards %v, of which shard 2 is being removed", chosen)
		}
	}
	if len(chosen) != 2 {
		t.Errorf("shards %v are chosen, want two", chosen)
	}
	d := decide(snap, &metapb.Operation{Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2}})
	if d.end != metapb.OperationState_OPERATION_STATE_FAILED ||
		!strings.Contains(d.reason, "shard 2 is being removed") {
		t.Errorf("the move to it is %+v", d)
	}
}

// TestNewShardAfterRetired checks that a new shard gets an id above those of retired shards.
func TestNewShardAfterRetired(t *testing.T) {
	w := newWorld(t).node("a").shard(1, "a")
	w.settle()
	status := w.status()
	status.LastShardId = 5
	snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil)
	op := &metapb.Operation{
		Id:       1,
		Kind:     operation.ShardAdd,
		Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 1}},
	}
	d := decide(snap, op)
	d.progress(op)
	if p := op.GetShardAdd(); !p.GetBegun() || p.GetBase() != 5 {
		t.Errorf("the highest id of a shard is recorded as %v, want 5", p)
	}
	d = decide(snap, op)
	if d.do == nil || d.do.propose.GetCreateShard().GetShardId() != 6 {
		t.Errorf("the next shard is %+v", d)
	}
	for id, want := range map[uint32]string{
		1: "",
		5: "shard 5 no longer exists: it was removed, and its number is not used again; there are 1",
		6: "no shard 6: there are 1",
	} {
		if why := whyNoShard(snap, id); (why == "") != (want == "") || !strings.Contains(why, want) {
			t.Errorf("shard %d: %q, want %q", id, why, want)
		}
	}
}
