package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// poll is the interval at which run checks for the end.
const poll = 500 * time.Millisecond

// run runs a coordinator until done returns true, and starts another one whenever it dies. It returns the number of
// calls that changed something.
func run(t *testing.T, w *world, limit time.Duration, done func() bool) int {
	t.Helper()
	deadline := time.Now().Add(limit)
	ended := false
	for !ended {
		ctx, cancel := context.WithCancel(t.Context())
		var once sync.Once
		p := &process{w: w, leads: true, stop: cancel}
		w.kill = func() { once.Do(func() { p.leads = false; w.killAt = 0; cancel() }) }
		lost := make(chan struct{})
		c := New(Config{
			Meta: p, Dial: p.dial,
			Leads:        func() bool { w.mu.Lock(); defer w.mu.Unlock(); return p.leads },
			LeadsChanged: func() <-chan struct{} { return lost },
			Logger:       testLogger(t), Tick: w.tick,
		})
		finished := make(chan struct{})
		go func() { _ = c.Run(ctx); close(finished) }()
		for ctx.Err() == nil {
			if time.Now().After(deadline) {
				ended = true
				w.mu.Lock()
				t.Errorf("no end after %v: %s", limit, w.describe())
				w.mu.Unlock()
				break
			}
			time.Sleep(poll)
			w.mu.Lock()
			ended = done() && ctx.Err() == nil
			w.mu.Unlock()
			if ended {
				break
			}
		}
		cancel()
		<-finished
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.effects
}

// testLogger writes to the test's log with -v.
func testLogger(t *testing.T) *slog.Logger {
	if !testing.Verbose() {
		return nil
	}
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

func (w *world) describe() string {
	var b strings.Builder
	for id, op := range w.ops {
		fmt.Fprintf(&b, "\noperation %d %s %s, step %q: %s %v", id, op.Kind, operation.StateName(op.State), op.Step,
			op.Reason, op.Progress)
	}
	for id, t := range w.tables {
		fmt.Fprintf(&b, "\ntable %d %s: %v, handoff %v", id, t.Name, t.Placement, t.Handoff)
	}
	for id, s := range w.shards {
		fmt.Fprintf(&b, "\nshard %d: %v %v removed %v, group %+v", id, s.Replicas, s.Learners, s.Removed, *w.groups[id])
	}
	return b.String()
}

// request stores an operation as a user's request would.
func (w *world) request(op *metapb.Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	op.State, op.RequestedBy = metapb.OperationState_OPERATION_STATE_RUNNING, "ann"
	if _, err := w.putOperation(op, time.Now().UnixNano()); err != nil {
		w.t.Fatal(err)
	}
}

// idle reports whether no operation runs.
func (w *world) idle() bool {
	for _, op := range w.ops {
		if op.State == metapb.OperationState_OPERATION_STATE_RUNNING {
			return false
		}
	}
	return len(w.ops) > 0
}

// settledCheck checks that the metadata match the groups once no operation is running.
func (w *world) settledCheck() {
	for id, t := range w.tables {
		if t.Writable().Closed || t.Handoff != nil {
			w.fail("table %d is being handed over still: %v, %v", id, t.Handoff, t.Placement)
		}
	}
	for id, s := range w.shards {
		if s.Retiring {
			w.fail("shard %d is retiring still", id)
		}
		g := w.groups[id]
		same := func(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }
		if !same(s.Replicas, g.voters) || len(s.Learners) > 0 || len(g.learners) > 0 {
			w.fail("shard %d: the metadata say %v and %v, the group %v and %v", id, s.Replicas, s.Learners, g.voters, g.learners)
		}
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// scenario is an operation in a cluster.
type scenario struct {
	name  string
	world func(w *world) *world
	op    *metapb.Operation
	// check reports whether the cluster is in the state that the operation should reach.
	check func(w *world) bool
}

func scenarios() []scenario {
	on := func(w *world, id uint32, nodes ...string) bool {
		return slices.Equal(sorted(w.shards[id].Replicas), sorted(nodes))
	}
	return append(slices.Concat(handoffs(), removalScenarios()), []scenario{
		{
			"move one replica", func(w *world) *world { return w.node("a", "b").shard(1, "a").shard(1, "b") },
			&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "b"},
			func(w *world) bool { return on(w, 1, "b") },
		},
		{
			"move one of three", func(w *world) *world {
				return w.node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(1, "d")
			},
			&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "d"},
			func(w *world) bool { return on(w, 1, "b", "c", "d") },
		},
		{
			"drop a lost shard", func(w *world) *world {
				w.node("a", "b", "c").shard(1, "a").shard(1, "b")
				w.down["b"] = time.Now().Add(-time.Minute)
				return w
			},
			&metapb.Operation{
				Kind: operation.ShardDrop,
				Progress: &metapb.Operation_ShardDrop{
					ShardDrop: &metapb.ShardDropProgress{ShardId: 2, Incarnation: 1, Loss: "all"},
				},
			},
			func(w *world) bool { return on(w, 2, "c") && w.groups[2].leader == "c" },
		},
		{
			"replace a dead one", func(w *world) *world {
				w.node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(1, "d")
				w.down["c"] = time.Now().Add(-time.Minute)
				return w
			},
			&metapb.Operation{Kind: operation.ReplicaRepair, ShardId: 1, FromNode: "c", ToNode: "d"},
			func(w *world) bool { return on(w, 1, "a", "b", "d") },
		},
		{
			"rebuild a follower without some rows", func(w *world) *world {
				return w.node("a", "b", "c").shard(3, "a", "b", "c").damage(1, "c", damagedSegment)
			},
			&metapb.Operation{Kind: operation.ReplicaRebuild, ShardId: 1, FromNode: "c", ToNode: "c"},
			func(w *world) bool { return on(w, 1, "a", "b", "c") && len(w.groups[1].damaged) == 0 },
		},
		{
			"rebuild a leader without some rows", func(w *world) *world {
				return w.node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(1, "d").damage(1, "a", damagedSegment)
			},
			&metapb.Operation{Kind: operation.ReplicaRebuild, ShardId: 1, FromNode: "a", ToNode: "a"},
			func(w *world) bool { return on(w, 1, "a", "b", "c") && len(w.groups[1].damaged) == 0 },
		},
		{
			"rebuild one that does not open", func(w *world) *world {
				return w.node("a", "b", "c").shard(3, "a", "b", "c").damage(1, "b", damagedLog)
			},
			&metapb.Operation{Kind: operation.ReplicaRebuild, ShardId: 1, FromNode: "b", ToNode: "b"},
			func(w *world) bool { return on(w, 1, "a", "b", "c") && len(w.groups[1].damaged) == 0 },
		},
		{
			"one to three", func(w *world) *world {
				return w.node("a/1", "b/2", "c/3").shard(1, "a").shard(1, "b").shard(1, "c")
			},
			&metapb.Operation{Kind: operation.ReplicaChange, ShardId: 1, Want: 3},
			func(w *world) bool { return on(w, 1, "a", "b", "c") && w.shards[1].Want == 3 },
		},
		{
			"three to one", func(w *world) *world { return w.node("a", "b", "c").shard(3, "a", "b", "c") },
			&metapb.Operation{Kind: operation.ReplicaChange, ShardId: 1, Want: 1},
			func(w *world) bool { return len(w.shards[1].Replicas) == 1 && w.shards[1].Want == 1 },
		},
		{
			"add shards", func(w *world) *world { return w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c") },
			&metapb.Operation{
				Kind:     operation.ShardAdd,
				Want:     3,
				Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 3}},
			},
			func(w *world) bool { return len(w.shards) == 6 && len(w.shards[6].Replicas) == 3 },
		},
		{
			"move a table", func(w *world) *world { return w.node("a", "b").shard(1, "a").shard(1, "b").table(7, nil, 1) },
			&metapb.Operation{Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2}},
			func(w *world) bool { return w.tables[7].Writable().ShardID == 2 && w.defined[1][7] == 2 },
		},
		{
			"partition a table", func(w *world) *world {
				return w.node("a", "b").shard(1, "a").shard(1, "b").shard(1, "a").table(7, nil, 1, 3)
			},
			&metapb.Operation{
				Kind: operation.TablePartition, TableId: 7,
				Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{Partitions: 2}}, ToShards: []uint32{1, 2},
			},
			func(w *world) bool {
				return slices.Equal(w.tables[7].Writable().Shards(), []uint32{1, 2}) && w.defined[3][7] == 2 && w.defined[1][7] == 0
			},
		},
		{
			"drain", func(w *world) *world {
				return w.node("a", "b", "c", "d").shard(1, "a").shard(1, "a").shard(1, "a").shard(3, "a", "b", "c").shard(1, "d")
			},
			&metapb.Operation{Kind: operation.NodeDrain, NodeId: "a"},
			func(w *world) bool {
				return w.nodes["a"].State == metapb.NodeState_NODE_STATE_DRAINED &&
					!slices.ContainsFunc(w.status().Shards, func(s *metapb.Shard) bool { return slices.Contains(s.Replicas, "a") })
			},
		},
		{
			"drain for a restart", func(w *world) *world {
				return w.node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "a", "b", "c")
			},
			&metapb.Operation{
				Kind:     operation.NodeDrain,
				NodeId:   "a",
				Progress: &metapb.Operation_Node{Node: &metapb.NodeProgress{ForRestart: true}},
			},
			func(w *world) bool { return w.groups[1].leader != "a" && w.groups[2].leader != "a" },
		},
		{
			"decommission a dead node", func(w *world) *world {
				w.node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(1, "d")
				w.voters = []string{"b", "a", "c"}
				w.learners = []string{"d"}
				w.down["a"] = time.Now().Add(-time.Minute)
				return w
			},
			&metapb.Operation{Kind: operation.NodeDecommission, NodeId: "a"},
			func(w *world) bool {
				return w.nodes["a"] == nil && on(w, 1, "b", "c", "d") && slices.Equal(sorted(w.voters), []string{"b", "c", "d"}) &&
					len(w.learners) == 0
			},
		},
		{
			"decommission a node that is up", func(w *world) *world {
				w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c")
				w.voters = []string{"a", "b", "c"}
				return w
			},
			&metapb.Operation{Kind: operation.NodeDecommission, NodeId: "a"},
			func(w *world) bool {
				return w.nodes["a"].State == metapb.NodeState_NODE_STATE_DRAINED &&
					slices.Equal(sorted(w.voters), []string{"b", "c"})
			},
		},
		{
			"rebalance", func(w *world) *world {
				return w.node("a", "b").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "b")
			},
			&metapb.Operation{Kind: operation.Rebalance},
			func(w *world) bool {
				on := map[string]int{}
				for _, s := range w.shards {
					on[s.Replicas[0]]++
				}
				return on["a"] >= 2 && on["b"] >= 2
			},
		},
		{
			"split a hot shard", func(w *world) *world {
				w.node("a", "b").shard(1, "a").shard(1, "b").table(1, nil, 1).table(2, nil, 1)
				w.ingest = map[uint64]float64{1: 1000, 2: 1000}
				w.settings.RebalancePaused = true
				return w
			},
			&metapb.Operation{Kind: operation.ShardSplitHot, ShardId: 1},
			func(w *world) bool { return w.tables[1].Writable().ShardID == 2 || w.tables[2].Writable().ShardID == 2 },
		},
	}...)
}

func (s scenario) start(t *testing.T) *world {
	w := s.world(newWorld(t))
	if len(w.voters) == 0 {
		w.voters = sortedKeys(w.nodes)
		w.voters = w.voters[:min(len(w.voters), 1+2*((len(w.voters)-1)/2))]
		for _, id := range sortedKeys(w.nodes) {
			if !slices.Contains(w.voters, id) {
				w.learners = append(w.learners, id)
			}
		}
	}
	if s.op != nil {
		w.request(proto.CloneOf(s.op))
	}
	return w
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func TestOperations(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := s.start(t)
				n := run(t, w, 10*time.Minute, w.idle)
				if state := w.ops[1].State; state != metapb.OperationState_OPERATION_STATE_DONE || !s.check(w) {
					t.Errorf("after %d effects: %s", n, w.describe())
				}
				w.settledCheck()
			})
		})
	}
}

// TestLeaderKilledAtEveryStep kills the leader at every call that changes something, before and
// after the call. The next leader must bring the operation to the same end.
func TestLeaderKilledAtEveryStep(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			total := 0
			synctest.Test(t, func(t *testing.T) {
				w := s.start(t)
				total = run(t, w, 10*time.Minute, w.idle)
			})
			for kill := 1; kill <= total; kill++ {
				for _, applied := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						w := s.start(t)
						w.killAt, w.applied = kill, applied
						run(t, w, 10*time.Minute, w.idle)
						if w.ops[1].State != metapb.OperationState_OPERATION_STATE_DONE || !s.check(w) {
							t.Errorf("killed at %d of %d, call made: %v: %s", kill, total, applied, w.describe())
						}
						w.settledCheck()
					})
				}
			}
		})
	}
}

// TestCancelledAtEveryStep cancels each operation after every call. It must end as done or
// cancelled, and leave nothing half done.
func TestCancelledAtEveryStep(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			total := 0
			synctest.Test(t, func(t *testing.T) {
				w := s.start(t)
				total = run(t, w, 10*time.Minute, w.idle)
			})
			for at := 1; at <= total; at++ {
				synctest.Test(t, func(t *testing.T) {
					w := s.start(t)
					w.cancelAt = at
					run(t, w, 10*time.Minute, w.idle)
					switch w.ops[1].State {
					case metapb.OperationState_OPERATION_STATE_CANCELLED:
					case metapb.OperationState_OPERATION_STATE_DONE:
						if !s.check(w) {
							t.Errorf("cancelled at %d of %d: done, but the result is wrong: %s", at, total, w.describe())
						}
					default:
						t.Errorf("cancelled at %d of %d: %s", at, total, w.describe())
					}
					w.settledCheck()
				})
			}
		})
	}
}
