package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/router/httpapi/clusterapi"
)

// removalWorld is a cluster of three nodes, each with a shard, and a table on each shard.
func removalWorld(t *testing.T) *world {
	w := newWorld(t).node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").voting("a")
	return w.table(7, nil, 1).table(8, nil, 2).table(9, nil, 3)
}

// TestShardRemoveRefused checks each reason for which a removal is refused. Nothing must be
// started.
func TestShardRemoveRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     func(w *world)
		request clusterapi.Request
		want    string
	}{
		{"no shard", func(*world) {}, clusterapi.Request{}, "shard-remove needs shard"},
		{"an unknown shard", func(*world) {}, clusterapi.Request{Shard: 9}, "there is no shard 9: there are 1, 2, 3"},
		{
			"an older cluster", func(w *world) { w.version = 8 },
			clusterapi.Request{Shard: 2},
			"before the cluster uses protocol version 9; it uses 8",
		},
		{"the last shard", func(w *world) {
			w.shards[1].Retiring, w.shards[3].Retiring = true, true
		}, clusterapi.Request{Shard: 2}, "there is no other shard that stays; add one with 'cordwood shard add'"},
		{"a table needs three", func(w *world) {
			w.table(10, map[string]string{"append_mode": "true", "partitions": "3"}, 1, 2, 3)
		}, clusterapi.Request{Shard: 2}, "table public.t10 has the option partitions=3, and only 2 other shards would be " +
			"left; " +
			"add shards with 'cordwood shard add', or run 'cordwood table set public.t10 partitions=2'"},
		{
			"its rows would have fewer replicas", func(w *world) {
				w.shards[2].Want = 3
			},
			clusterapi.Request{Shard: 2},
			"its rows have 3 replicas, and no other shard has as many, so the rows of table public.t8 would have fewer",
		},
		{
			"it is being removed already", func(w *world) { w.request(removes(2)) },
			clusterapi.Request{Shard: 2},
			"operation 1 removes shard 2 already",
		},
		{"it is being created", func(w *world) {
			w.request(&metapb.Operation{
				Kind:     operation.ShardAdd,
				Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 2, Begun: true, Base: 1}},
			})
		}, clusterapi.Request{Shard: 2}, "operation 1 creates shard 2: wait until it has ended"},
		{
			"a plan of another kind", func(*world) {},
			clusterapi.Request{Kind: operation.ShardSplitHot, Shard: 2, Plan: true},
			"plan is only for shard-remove",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := removalWorld(t)
				c.set(w)
				before := len(w.ops)
				if c.request.Kind == "" {
					c.request.Kind = operation.ShardRemove
				}
				_, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Start(t.Context(), &c.request, "ann")
				if err == nil || !strings.Contains(err.Error(), c.want) || len(w.ops) != before {
					t.Errorf("got %v and %d operations, want %q and %d", err, len(w.ops), c.want, before)
				}
			})
		})
	}
}

// fakeStats has two replicas of each shard, one of which lags. The size of a table is 100 bytes
// times its number.
type fakeStats struct {
	w   *world
	err error
}

func (f fakeStats) Stats(context.Context, *shardpb.StatsRequest) (out []*shardpb.ShardStats, err error) {
	for _, t := range f.w.tables {
		for _, id := range t.Shards() {
			for _, n := range []int64{1, 100} {
				out = append(out, &shardpb.ShardStats{
					ShardId: id,
					Tables:  []*shardpb.TableStats{{TableId: t.ID, SegmentBytes: n * int64(t.ID), MemtableBytes: 1}},
				})
			}
		}
	}
	return out, f.err
}

// TestShardRemovePlan checks that a plan shows the destinations of tables, starts nothing, and matches
// the moves that follow.
func TestShardRemovePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := removalWorld(t).table(10, nil, 2).table(11, nil, 1, 2).table(12, nil, 2).placed(12, 3)
		w.reads[2], w.keys[2] = 2, time.Now().Add(90*time.Second)
		stats := fakeStats{w, nil}
		admin := NewAdmin(catalog{&process{w: w, leads: true}, false}).WithShards(&stats)
		plan := func() *clusterapi.Removal {
			t.Helper()
			answer, err := admin.Start(t.Context(), &clusterapi.Request{
				Kind:  operation.ShardRemove,
				Shard: 2,
				Plan:  true,
			}, "ann")
			if err != nil || answer.Removal == nil || answer.Operation != nil || len(w.ops) > 0 {
				t.Fatalf("%+v, %v, %d operations", answer, err, len(w.ops))
			}
			return answer.Removal
		}
		w.settle()
		want := &clusterapi.Removal{
			Shard: 2, Bytes: 801 + 1001 + 2*1101 + 2*1201,
			Tables: []clusterapi.TableMove{
				{Table: "public.t8", Bytes: 801, From: []uint32{2}, To: []uint32{1}},
				{Table: "public.t10", Bytes: 1001, From: []uint32{2}, To: []uint32{3}},
				{Table: "public.t11", Bytes: 2202, From: []uint32{1, 2}, To: []uint32{1, 3}},
				{Table: "public.t12", Bytes: 2402, From: []uint32{3, 2}, To: []uint32{3}},
			},
			Waits: []string{"2 queries or backups read the replica of shard 2 on node node-b"},
		}
		got := plan()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("plan (-want +got):\n%s", diff)
		}
		stats.err = errors.New("node b does not answer")
		w.reads[2] = 0
		want.Waits = []string{
			"the sizes of tables are not complete: node b does not answer",
			"shard 2 remembers the Idempotency-Keys of requests for 2 minutes more, so that they are not stored twice if they " +
				"are repeated",
		}
		if diff := cmp.Diff(want.Waits, plan().Waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if answer, err := admin.Start(t.Context(), &clusterapi.Request{Kind: operation.ShardRemove, Shard: 2},
			"ann"); err != nil || answer.Operation.Subject != "shard 2" {
			t.Fatalf("%+v, %v", answer, err)
		}
		run(t, w, 10*time.Minute, w.idle)
		for _, m := range want.Tables {
			if to := w.copyOf(strings.TrimPrefix(m.Table, "public.")).Shards(); !slices.Equal(to, m.To) {
				t.Errorf("table %s went to shards %v, planned were %v", m.Table, to, m.To)
			}
		}
		w.settledCheck()
	})
}

// TestShardRemoveWaits checks that a shard is not retired while it may be read or remembers keys of
// requests.
func TestShardRemoveWaits(t *testing.T) {
	for _, c := range []struct {
		name       string
		hold, free func(w *world)
		want       string
	}{
		{
			"a query", func(w *world) { w.reads[2] = 1 }, func(w *world) { w.reads[2] = 0 },
			"1 query or backup reads the replica of shard 2 on node node-b",
		},
		{
			"keys", func(w *world) { w.keys[2] = time.Now().Add(9 * time.Minute) },
			func(w *world) { w.keys[2] = time.Time{} },
			"shard 2 remembers the Idempotency-Keys of requests for 9 minutes more",
		},
		{
			"a replica that does not report", func(w *world) { w.down["c"] = time.Now() },
			func(w *world) { delete(w.down, "c") },
			"its replica on node node-c does not report",
		},
		{
			"an operation that moves it", func(w *world) {
				w.request(&metapb.Operation{Kind: operation.ShardMove, ShardId: 2, FromNode: "b", ToNode: "e"})
				w.down["e"] = time.Now()
			}, func(w *world) { delete(w.down, "e") },
			"(shard-move shard 2) has to end first",
		},
		{
			"an operation that may create it again", func(w *world) {
				w.request(&metapb.Operation{
					Kind:     operation.ShardDrop,
					Progress: &metapb.Operation_ShardDrop{ShardDrop: &metapb.ShardDropProgress{ShardId: 2, Incarnation: 1}},
				})
				w.unheard = map[string]bool{"a": true}
			}, func(w *world) { w.unheard = nil },
			"(shard-drop shard 2) has to end first",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t).node("a", "b", "c", "d", "e").shard(1, "a").shard(3, "b", "c", "d").voting("a")
				w.request(removes(2))
				c.hold(w)
				until := time.Now().Add(50 * time.Second)
				run(t, w, 5*time.Minute, func() bool { return time.Now().After(until) })
				if w.shards[2] == nil || !strings.Contains(w.ops[1].Reason, c.want) {
					t.Errorf("want it to wait because %q: %s", c.want, w.describe())
				}
				c.free(w)
				run(t, w, 5*time.Minute, w.idle)
				if w.shards[2] != nil || w.ops[1].State != metapb.OperationState_OPERATION_STATE_DONE {
					t.Errorf("not removed: %s", w.describe())
				}
			})
		})
	}
}

// TestShardRemoveFails checks that a removal which cannot continue is undone: the shard takes
// tables again.
func TestShardRemoveFails(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(w *world)
		want string
	}{
		{
			"a table cannot be copied", func(w *world) { w.broken["b"] = 1000 },
			"table public.t8 could not be moved; operation",
		},
		{"a table needs all shards in the meantime", func(w *world) {
			w.reads[2] = 1
			w.later(20*time.Second, func() {
				next := *w.copyOf("t8")
				next.Options = map[string]string{"append_mode": "true", "partitions": "3"}
				next.Placement = append(slices.Clone(next.Placement), next.Writable())
				next.Placement[len(next.Placement)-1].More = []uint32{2}
				next.Placement[len(next.Placement)-1].Epoch++
				w.tables[next.ID] = &next
			})
		}, "has the option partitions=3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := removalWorld(t)
				w.request(removes(2))
				c.set(w)
				run(t, w, time.Hour, func() bool { return w.ops[1].State != metapb.OperationState_OPERATION_STATE_RUNNING })
				if op := w.ops[1]; op.State != metapb.OperationState_OPERATION_STATE_FAILED ||
					!strings.Contains(op.Reason, c.want) ||
					!strings.HasSuffix(op.Reason,
						"shard 2 stays and takes tables again; tables that have left it stay where they are") {
					t.Errorf("want a failure with %q: %s", c.want, w.describe())
				}
				if w.shards[2].Retiring {
					t.Error("it is still retiring")
				}
			})
		})
	}
}

// TestShardRemoveDuringOtherWork runs other operations and rules on the shard at the same time. All
// must end, and the shard must be gone.
func TestShardRemoveDuringOtherWork(t *testing.T) {
	moveTo := func(shard uint32, rows bool) *metapb.Operation {
		return &metapb.Operation{
			Kind: operation.TableMove, TableId: 7, ToShards: []uint32{shard},
			Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{WithRows: rows}},
		}
	}
	drop := func() *metapb.Operation {
		return &metapb.Operation{
			Kind:     operation.ShardDrop,
			Progress: &metapb.Operation_ShardDrop{ShardDrop: &metapb.ShardDropProgress{ShardId: 2, Incarnation: 1, Loss: "all"}},
		}
	}
	lost := func(w *world) { w.down["b"] = time.Now().Add(-time.Minute) }
	for _, c := range []struct {
		name          string
		set           func(w *world)
		first, second *metapb.Operation
		after         time.Duration // between the two operations
	}{
		{"a move of writes there", func(*world) {}, moveTo(2, false), removes(2), 0},
		{"a move there with rows", func(*world) {}, moveTo(2, true), removes(2), 0},
		{"a move there that copies", func(*world) {}, moveTo(2, true), removes(2), time.Second},
		{
			"a move there that was started and copies again", func(w *world) { w.broken["a"] = 4 }, moveTo(2, true),
			removes(2), time.Second,
		},
		{"a move there, requested later", func(*world) {}, removes(2), moveTo(2, true), time.Second},
		{"another removal", func(*world) {}, removes(2), removes(3), 0},
		{"a removal of the same shard", func(*world) {}, removes(2), removes(2), time.Second},
		{"the shard is lost and dropped first", lost, drop(), removes(2), time.Second},
		{"the shard is lost and dropped later", lost, removes(2), drop(), 30 * time.Second},
		{
			"its node is drained", func(*world) {}, removes(2), &metapb.Operation{Kind: operation.NodeDrain, NodeId: "b"},
			time.Second,
		},
		{
			"replicas are balanced", func(w *world) { w.node("d") }, removes(2),
			&metapb.Operation{Kind: operation.Rebalance}, time.Second,
		},
		{
			"shards are added", func(*world) {}, removes(2),
			&metapb.Operation{
				Kind:     operation.ShardAdd,
				Want:     1,
				Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 2}},
			},
			time.Second,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := removalWorld(t)
				c.set(w)
				w.request(proto.CloneOf(c.first))
				since, asked := time.Now(), false
				ask := func() {
					second := proto.CloneOf(c.second)
					second.State = metapb.OperationState_OPERATION_STATE_RUNNING
					_, _ = w.putOperation(second, time.Now().UnixNano()) // It may be refused because of the first operation.
					asked = true
				}
				if c.after == 0 {
					ask()
				}
				run(t, w, time.Hour, func() bool {
					if !asked && time.Since(since) >= c.after {
						ask()
					}
					return asked && w.idle()
				})
				if w.shards[2] != nil {
					t.Errorf("shard 2 still exists: %s", w.describe())
				}
				for _, table := range w.tables {
					for _, id := range table.Shards() {
						if w.shards[id] == nil {
							t.Errorf("table %d is on shard %d, which was removed", table.ID, id)
						}
					}
				}
				w.settledCheck()
			})
		})
	}
}

// TestShardRemoveIsNotUndone checks that the cluster creates no shard for a node whose only shard
// was retired.
func TestShardRemoveIsNotUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := removalWorld(t)
		w.request(removes(2))
		until := time.Now().Add(time.Hour)
		run(t, w, 2*time.Hour, func() bool { return time.Now().After(until) })
		if len(w.shards) != 2 || w.lastShard != 3 {
			t.Errorf("there are %d shards, the last one is %d: %s", len(w.shards), w.lastShard, w.describe())
		}
	})
}

// TestRetiringIsShown checks the status of a retiring shard.
func TestRetiringIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := removalWorld(t)
		w.shards[2].Retiring = true
		w.settle()
		status, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Status(t.Context())
		if err != nil || status.Shards[0].State != "ok" || status.Shards[1].State != "retiring" {
			t.Errorf("%+v, %v", status.Shards, err)
		}
	})
}

// TestRemovalKeepsReplicas checks that tables move to shards with at least as many replicas, even
// if another shard has a lower ingest rate.
func TestRemovalKeepsReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "a", "b", "c").shard(1, "c").voting("a")
		w.table(7, nil, 1).table(8, nil, 2).table(9, nil, 2).table(10, nil, 1, 3)
		w.settle()
		answer, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Start(t.Context(), &clusterapi.Request{
			Kind: operation.ShardRemove, Shard: 1, Plan: true,
		}, "ann")
		if err != nil {
			t.Fatal(err)
		}
		to := map[string][]uint32{}
		for _, m := range answer.Removal.Tables {
			to[m.Table] = m.To
		}
		if diff := cmp.Diff(map[string][]uint32{"public.t7": {2}, "public.t10": {3, 2}}, to); diff != "" {
			t.Errorf("targets of the tables (-want +got):\n%s", diff)
		}
	})
}

// TestShardRemoveWithoutItsReplica retires an empty shard whose only replica is lost. The shard is
// created again first, and the status must report it.
func TestShardRemoveWithoutItsReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c").shard(1, "a").shard(1, "b").voting("a").table(7, nil, 1)
		w.keys[2] = time.Now().Add(2 * time.Minute)
		w.request(removes(2))
		until := time.Now().Add(50 * time.Second)
		run(t, w, 5*time.Minute, func() bool { return time.Now().After(until) })
		w.down["b"] = time.Now()
		until = time.Now().Add(50 * time.Second)
		run(t, w, 5*time.Minute, func() bool { return time.Now().After(until) })
		status, err := NewAdmin(catalog{process: &process{w: w}}).Status(t.Context())
		isReported := func(p clusterapi.Problem) bool {
			return strings.Contains(p.Text, "shard 2 holds no table and is being removed (operation 1)") &&
				strings.Contains(p.Advice, "'cordwood shard drop 2'")
		}
		if err != nil || status.Health != "degraded" || !slices.ContainsFunc(status.Problems, isReported) {
			t.Errorf("status %v, %v", status, err)
		}
		w.request(&metapb.Operation{
			Kind: operation.ShardDrop,
			Progress: &metapb.Operation_ShardDrop{ShardDrop: &metapb.ShardDropProgress{
				ShardId: 2, Incarnation: w.shards[2].Incarnation,
			}},
		})
		run(t, w, 30*time.Minute, w.idle)
		if w.shards[2] != nil || w.ops[1].State != metapb.OperationState_OPERATION_STATE_DONE {
			t.Errorf("not removed: %s", w.describe())
		}
	})
}

// TestShardRemoveTakesNoLonger checks that a reopened replica, which reports the full time for its keys again, does
// not delay the removal. The removal counts the time itself, across leaders of the metadata group.
func TestShardRemoveTakesNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b").shard(1, "a").shard(1, "b").voting("a").table(7, nil, 2)
		w.keys[2], w.keysSaid = time.Now().Add(15*time.Minute), map[uint32]time.Duration{2: 15 * time.Minute}
		w.request(removes(2))
		begun := time.Now()
		for range 3 { // leaders of the metadata group
			until := time.Now().Add(4*time.Minute + 20*time.Second)
			run(t, w, 5*time.Minute, func() bool { return time.Now().After(until) })
		}
		if w.shards[2] == nil {
			t.Errorf("removed after %s: %s", time.Since(begun), w.describe())
		}
		run(t, w, 10*time.Minute, w.idle)
		// Each change of leaders loses the time since the last whole minute.
		if took := time.Since(begun); w.shards[2] != nil || took < 15*time.Minute || took > 18*time.Minute {
			t.Errorf("the removal took %s: %s", took, w.describe())
		}
	})
}

// TestShardRemoveWithoutSilentNode retires an empty shard whose last replica is on a node that does
// not return.
func TestShardRemoveWithoutSilentNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b").shard(1, "a").shard(1, "b").voting("a").table(7, nil, 1)
		w.keys[2] = time.Now().Add(5 * time.Minute)
		w.request(removes(2))
		until := time.Now().Add(time.Minute)
		run(t, w, 5*time.Minute, func() bool { return time.Now().After(until) })
		w.down["b"] = time.Now()
		until = time.Now().Add(14 * time.Minute)
		run(t, w, 15*time.Minute, func() bool { return time.Now().After(until) })
		if w.shards[2] == nil {
			t.Errorf("removed while its replica may be read: %s", w.describe())
		}
		run(t, w, 5*time.Minute, w.idle)
		if w.shards[2] != nil || w.retired[2] == nil ||
			!strings.Contains(w.ops[1].Reason, "node node-b deletes the replica once it is back") {
			t.Errorf("not removed: %s", w.describe())
		}
	})
}
