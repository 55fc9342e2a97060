package coordinator

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// TestRebalanceMovesNoMoreThanNeeded checks that an empty node gets each replica by one move. Running
// moves must count, because surplus replicas would have to be moved back.
func TestRebalanceMovesNoMoreThanNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", "b", "c", "d").voting("a", "b", "c")
		for i := range 8 {
			nodes := []string{"a", "b", "c"}
			w.shard(3, slices.Concat(nodes[i%3:], nodes[:i%3])...)
		}
		w.request(&metapb.Operation{Kind: operation.Rebalance})
		run(t, w, time.Hour, func() bool { return w.ops[1].State == metapb.OperationState_OPERATION_STATE_DONE })
		moves, held := 0, map[string]int{}
		for _, op := range w.ops {
			if op.Kind == operation.ShardMove {
				moves++
			}
		}
		for _, s := range w.shards {
			for _, id := range s.Replicas {
				held[id]++
			}
		}
		if moves != 6 || held["d"] != 6 || held["a"] != 6 {
			t.Errorf("%d moves, after which the nodes hold %v: %s", moves, held, w.describe())
		}
		time.Sleep(time.Hour) // let delayed events happen before the bubble ends
	})
}

// TestRebalanceLeavesRetiringShards checks that retiring shards are not moved.
func TestRebalanceLeavesRetiringShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").voting("a")
		w.shards[1].Retiring, w.shards[2].Retiring = true, true
		w.request(&metapb.Operation{Kind: operation.Rebalance})
		run(t, w, time.Hour, func() bool { return w.ops[1].State == metapb.OperationState_OPERATION_STATE_DONE })
		for _, op := range w.ops {
			if op.Kind == operation.ShardMove && op.ShardId <= 2 {
				t.Errorf("shard %d was moved: %s", op.ShardId, w.describe())
			}
		}
		if held := append(w.shards[3].Replicas, w.shards[4].Replicas...); !slices.Contains(held, "b") {
			t.Errorf("node b got nothing: %s", w.describe())
		}
		time.Sleep(time.Hour) // let delayed events happen before the bubble ends
	})
}
