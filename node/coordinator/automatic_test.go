package coordinator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// later calls f after a delay.
func (w *world) later(d time.Duration, f func()) {
	go func() {
		time.Sleep(d)
		w.mu.Lock()
		defer w.mu.Unlock()
		f()
		w.settle()
	}()
}

// voting makes the first nodes voters of the metadata group.
func (w *world) voting(ids ...string) *world {
	w.voters = ids
	return w
}

func TestAutomatic(t *testing.T) {
	begin := func() time.Time { return time.Now() }
	for _, c := range []struct {
		name  string
		limit time.Duration
		world func(w *world)
		done  func(w *world) bool
		// not must stay false until done is true or the limit has passed.
		not func(w *world) bool
	}{
		{"first shards go to all nodes and zones", time.Minute, func(w *world) {
			w.node("a/1", "b/2", "c/3").voting("a")
			w.settings = &metapb.Settings{InitialShards: 4, Replication: 3}
			w.later(2*time.Second, func() { w.node("d/1") })
		}, func(w *world) bool {
			heads, holders := map[string]int{}, map[string]int{}
			for _, s := range w.shards {
				heads[s.Replicas[0]]++
				for _, id := range s.Replicas {
					holders[id]++
				}
			}
			return len(w.shards) == 4 && len(heads) == 3 && len(holders) == 4 && w.settings.InitialShards == 0 && w.idle()
		}, func(w *world) bool {
			for _, s := range w.shards {
				zones := map[string]bool{}
				for _, id := range s.Replicas {
					zones[w.nodes[id].Zone] = true
				}
				if len(zones) != 3 {
					return true
				}
			}
			return false
		}},
		{"first shards wait for nodes", 2 * time.Minute, func(w *world) {
			w.node("a", "b", "r:router").voting("a")
			w.settings = &metapb.Settings{InitialShards: 1, Replication: 3}
			w.later(time.Minute, func() { w.node("c") })
		}, func(w *world) bool { return len(w.shards) == 1 && w.idle() }, func(w *world) bool {
			return time.Since(w.began) < time.Minute
		}},
		{
			"a drained leader of the metadata transfers its leadership", time.Minute, func(w *world) {
				w.node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
				w.stopping["a"], w.stopping["b"] = true, true
			}, func(w *world) bool { return w.voters[0] == "c" && w.groups[1].leader == "c" },
			func(w *world) bool { return w.voters[0] == "b" || w.groups[1].leader == "b" },
		},
		{"a node that came back empty replaces its former entry", 5 * time.Minute, func(w *world) {
			w.node("a", "b", "c").shard(1, "a").shard(1, "b").voting("a", "b", "c")
			w.down["x"], w.down["z"] = begin().Add(-20*time.Second), begin().Add(-20*time.Second)
			w.node("x:meta", "y:meta", "z:meta")
			for i, id := range []string{"x", "y", "z"} { // y has the name and address of x; z has only its address
				w.nodes[id].Name, w.nodes[id].RpcAddr = "m", "10.0.0.1:4001"
				w.nodes[id].RegisteredUnixNano += int64(i)
			}
			w.nodes["z"].Name = "other"
		}, func(w *world) bool { return w.nodes["x"] == nil && w.nodes["z"] != nil }, func(w *world) bool {
			return time.Since(w.began) < 40*time.Second
		}},
		{
			"a node with replicas is not forgotten", 5 * time.Minute, func(w *world) {
				w.node("x", "y").shard(1, "x").shard(1, "y").voting("y")
				w.nodes["x"].Name, w.nodes["x"].RpcAddr = "n", "10.0.0.1:4001"
				w.nodes["y"].Name, w.nodes["y"].RpcAddr, w.nodes["y"].RegisteredUnixNano = "n", "10.0.0.1:4001",
					time.Now().UnixNano()+1
				w.down["x"] = begin()
			}, func(w *world) bool { return time.Since(w.began) > 4*time.Minute && w.nodes["x"] != nil },
			func(w *world) bool { return w.nodes["x"] == nil },
		},
		{"a lost node is replaced", 30 * time.Minute, func(w *world) {
			w.node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(3, "a", "b", "c").shard(1, "d").voting("a", "b", "c")
			w.learners = []string{"d"}
			w.down["c"] = begin()
		}, func(w *world) bool {
			return w.idle() && slices.Equal(sorted(w.shards[1].Replicas), []string{"a", "b", "d"}) &&
				slices.Equal(sorted(w.shards[2].Replicas), []string{"a", "b", "d"}) &&
				slices.Equal(sorted(w.voters), []string{"a", "b", "d"})
		}, func(w *world) bool { return time.Since(w.began) < 15*time.Minute }},
		{"a lost voter without another one stays", 20 * time.Minute, func(w *world) {
			w.node("a", "b", "c").shard(1, "a").shard(1, "b").voting("a", "b", "c")
			w.down["c"] = begin()
		}, func(w *world) bool { return time.Since(w.began) > 18*time.Minute }, func(w *world) bool {
			return len(w.voters) != 3
		}},
		{"one voter becomes three", time.Minute, func(w *world) {
			w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").voting("a")
		}, func(w *world) bool { return len(w.voters) == 3 }, nil},
		{"two nodes keep one voter", 3 * time.Minute, func(w *world) {
			w.node("a", "b").shard(1, "a").shard(1, "b").voting("a")
		}, func(w *world) bool { return time.Since(w.began) > 2*time.Minute }, func(w *world) bool {
			return len(w.voters) != 1 || len(w.learners) != 1
		}},
		{"four voters become three", time.Minute, func(w *world) {
			w.node("a", "b", "c", "d").shard(1, "a").shard(1, "b").shard(1, "c").voting("a", "b", "c", "d")
			w.shard(1, "c")
			w.nodes["b"].State = metapb.NodeState_NODE_STATE_DRAINED
		}, func(w *world) bool { return slices.Equal(sorted(w.voters), []string{"a", "c", "d"}) }, nil},
		{"a drained voter stays", 2 * time.Minute, func(w *world) {
			w.node("a", "b", "c", "d").shard(1, "a").shard(1, "c").shard(1, "d").voting("a", "b", "c")
			w.learners = []string{"d"}
			w.nodes["b"].State = metapb.NodeState_NODE_STATE_DRAINED
		}, func(w *world) bool { return time.Since(w.began) > time.Minute }, func(w *world) bool {
			return !slices.Equal(sorted(w.voters), []string{"a", "b", "c"})
		}},
		{"a new node gets shards and hot tables", 20 * time.Minute, func(w *world) {
			w.node("a").shard(1, "a").shard(1, "a").table(1, nil, 1).table(2, nil, 1).table(3, nil, 2).voting("a")
			w.ingest = map[uint64]float64{1: 20 << 20, 2: 20 << 20}
			w.later(time.Second, func() { w.node("b") })
		}, func(w *world) bool {
			home := func(id uint64) string { return w.groups[w.tables[id].Writable().ShardID].leader }
			return w.idle() && len(w.shards) == 4 && home(1) != home(2)
		}, func(w *world) bool { return w.tables[3].Writable().Epoch != 1 }},
		{"a hot table that merges goes to a new node", 20 * time.Minute, func(w *world) {
			w.node("a").shard(1, "a").shard(1, "a").table(1, map[string]string{}, 1).table(2, map[string]string{}, 1).voting("a")
			w.ingest = map[uint64]float64{1: 20 << 20, 2: 20 << 20}
			w.later(time.Second, func() { w.node("b") })
		}, func(w *world) bool {
			home := func(name string) string { return w.groups[w.copyOf(name).Writable().ShardID].leader }
			return w.idle() && len(w.shards) == 4 && home("t1") != home("t2")
		}, nil},
		{"a node that comes back from a drain gets replicas", 30 * time.Minute, func(w *world) {
			w.node("a", "b").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").voting("a")
			w.ops[1] = &metapb.Operation{
				Id: 1, Kind: operation.NodeDrain, NodeId: "b", State: metapb.OperationState_OPERATION_STATE_DONE,
				EndedUnixNano: 1,
			}
			w.lastOp = 1
		}, func(w *world) bool {
			n := 0
			for _, s := range w.shards {
				if s.Replicas[0] == "b" {
					n++
				}
			}
			return w.idle() && n == 2
		}, func(w *world) bool { return len(w.shards) != 4 }},
		{"leaders are spread", 5 * time.Minute, func(w *world) {
			w.node("a", "b", "c").voting("a", "b", "c")
			for range 6 {
				w.shard(3, "a", "b", "c")
			}
		}, func(w *world) bool {
			led := map[string]int{}
			for _, g := range w.groups {
				led[g.leader]++
			}
			return led["a"] == 2 && led["b"] == 2
		}, nil},
		{"partitions as the option says", time.Minute, func(w *world) {
			w.node("a", "b").shard(1, "a").shard(1, "b").shard(1, "a").voting("a")
			w.table(1, map[string]string{"append_mode": "true", "partitions": "2"}, 1).table(2,
				map[string]string{"partitions": "2"}, 1)
		}, func(w *world) bool {
			return w.idle() && slices.Equal(w.tables[1].Writable().Shards(), []uint32{1, 2}) &&
				len(w.copyOf("t2").Writable().Shards()) == 2
		}, nil},
		{
			"a hot table gets partitions", 30 * time.Minute, func(w *world) {
				w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").voting("a")
				w.table(1, map[string]string{"append_mode": "true", "partitions": "auto"}, 1)
				w.ingest = map[uint64]float64{1: 30 << 20}
			}, func(w *world) bool { return len(w.tables[1].Writable().Shards()) == 2 && w.idle() },
			func(w *world) bool { return time.Since(w.began) < 5*time.Minute },
		},
		{"a newer version is used when all nodes support it", 5 * time.Minute, func(w *world) {
			w.node("a").shard(1, "a").voting("a")
			w.version = 1
		}, func(w *world) bool { return w.version == metapb.MaxProtocol }, func(w *world) bool {
			return time.Since(w.began) < time.Minute
		}},
		{"old operations are forgotten", time.Minute, func(w *world) {
			w.node("a").shard(1, "a").voting("a")
			for range 300 {
				w.lastOp++
				w.ops[w.lastOp] = &metapb.Operation{
					Id:    w.lastOp,
					Kind:  operation.TableMove,
					State: metapb.OperationState_OPERATION_STATE_DONE,
				}
			}
		}, func(w *world) bool { return len(w.ops) == keepHistory && w.ops[300] != nil }, nil},
		{"paused: nothing is balanced", time.Hour, func(w *world) {
			w.node("a", "b").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "b").voting("a")
			w.table(1, nil, 1).table(2, nil, 1)
			w.ingest = map[uint64]float64{1: 20 << 20, 2: 20 << 20}
			w.settings.RebalancePaused = true
		}, func(w *world) bool { return time.Since(w.began) > 50*time.Minute }, func(w *world) bool {
			return len(w.ops) > 0
		}},
		{"nodes far apart are balanced", time.Hour, func(w *world) {
			w.node("a", "b").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "a").shard(1, "b").voting("a")
		}, func(w *world) bool {
			n := 0
			for _, s := range w.shards {
				if s.Replicas[0] == "b" {
					n++
				}
			}
			return w.idle() && n == 3
		}, func(w *world) bool { return time.Since(w.began) < 10*time.Minute }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.world(w)
				run(t, w, c.limit, func() bool { return c.done(w) })
				if c.not != nil && c.not(w) {
					t.Errorf("the forbidden state was reached after %v: %s", time.Since(w.began), w.describe())
				}
				w.settledCheck()
				time.Sleep(time.Hour) // let all delayed events happen before the bubble ends
			})
		})
	}
}

// TestPairIsUndone checks a shard of one replica that is moved: if its former voter cannot be
// removed within the limit, the move is undone.
func TestPairIsUndone(t *testing.T) {
	snap := snapshot.New(time.Unix(1000, 0), snapshot.Limits{}.WithDefaults(), newWorldStatus(t, func(w *world) {
		w.node("a", "b").shard(1, "a")
		w.shards[1].Learners = []string{"b"}
		w.groups[1].voters = []string{"a", "b"}
	}), nil, nil)
	op := &metapb.Operation{
		Id: 1, Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "b", Step: stepPromote,
		// The time comes from another clock.
		Progress: &metapb.Operation_Replicas{
			Replicas: &metapb.ReplicasProgress{PromotedUnixNano: time.Unix(5000, 0).UnixNano()},
		},
	}
	snap.PairedFor = map[uint64]time.Duration{1: 31 * time.Second}
	d := decide(snap, op)
	undone := proto.CloneOf(op)
	d.progress(undone)
	if undone.GetReplicas().GetUndo() == "" || !strings.Contains(d.reason, "a shard of one replica must not keep two "+
		"voters") {
		t.Errorf("decision %+v", d)
	}
	operation.ReplicasProgress(op).PromotedUnixNano = 1
	snap.PairedFor[1] = 29 * time.Second
	if d := decide(snap, op); d.step != stepRecord || d.do == nil {
		t.Errorf("before the limit: %+v", d)
	}
}

func newWorldStatus(t *testing.T, set func(w *world)) *metapb.StatusResponse {
	w := newWorld(t)
	set(w)
	return w.status()
}

// TestRefused checks that impossible operations fail at once, with a reason.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		op   *metapb.Operation
		want string
	}{
		{&metapb.Operation{Kind: operation.ShardMove, ShardId: 9, FromNode: "a", ToNode: "b"}, "there is no shard 9"},
		{
			&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "b", ToNode: "c"},
			"shard 1 has no replica on node node-b: its replicas are on node-a",
		},
		{
			&metapb.Operation{Kind: operation.ShardMove, ShardId: 2, FromNode: "a", ToNode: "b"},
			"shard 2 has a replica on node node-b already",
		},
		{&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "x"}, "there is no node x"},
		{
			&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "r"},
			"node node-r does not hold shards",
		},
		{&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "d"}, "node node-d does not answer"},
		{
			&metapb.Operation{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "e"},
			"node node-e is drained: 'cordwood node undrain node-e' makes it active again",
		},
		{
			&metapb.Operation{Kind: operation.ReplicaRepair, ShardId: 1, FromNode: "a"},
			"shard 1 has one replica, on node node-a: it cannot be given up",
		},
		{
			&metapb.Operation{Kind: operation.ReplicaChange, ShardId: 1, Want: 5},
			"shard 1 cannot have 5 replicas: all nodes that are up (3) have a replica; add a node",
		},
		{&metapb.Operation{Kind: operation.ReplicaChange, ShardId: 1, Want: 8}, "from 1 to 7 are possible"},
		{&metapb.Operation{Kind: operation.TableMove, TableId: 9, ToShards: []uint32{1}}, "table 9 no longer exists"},
		{&metapb.Operation{Kind: operation.TableMove, TableId: 1, ToShards: []uint32{9}}, "there is no shard 9"},
		{
			&metapb.Operation{Kind: operation.TableMove, TableId: 2, ToShards: []uint32{2}},
			fmt.Sprintf("can be moved or spread once the cluster uses protocol version %d; it uses 2",
				metapb.ProtocolHandoff),
		},
		{&metapb.Operation{Kind: operation.NodeDrain, NodeId: "x"}, "there is no node x"},
		{&metapb.Operation{Kind: "shard-paint"}, `does not know operations of kind "shard-paint"`},
	} {
		w := newWorld(t).node("a", "b", "c", "d", "e", "r:router").shard(1, "a").shard(3, "a", "b", "c")
		w.table(1, nil, 1).table(2, map[string]string{}, 1)
		w.down["d"] = time.Now().Add(-time.Minute)
		w.nodes["e"].State = metapb.NodeState_NODE_STATE_DRAINED
		w.version = metapb.ProtocolCluster
		snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(),
			[]*schema.Table{w.tables[1], w.tables[2]}, nil)
		d := decide(snap, c.op)
		if d.end != metapb.OperationState_OPERATION_STATE_FAILED || !strings.Contains(d.reason, c.want) {
			t.Errorf("%v: %+v, want failure with %q", c.op, d, c.want)
		}
	}
}

// TestNewLeaderWaits checks that a leader which has not heard from some nodes yet makes no
// irreversible decision about them.
func TestNewLeaderWaits(t *testing.T) {
	for _, op := range []*metapb.Operation{
		{Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "d"},
		{Kind: operation.TableMove, TableId: 1, ToShards: []uint32{2}},
	} {
		w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(1, "d")
		w.table(1, nil, 1)
		status := w.status()
		for _, n := range status.Nodes {
			if n.Node.Id == "d" {
				n.Report, n.SilentNanos = nil, int64(time.Second)
			}
		}
		decided := func() decision {
			return decide(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, []*schema.Table{w.tables[1]}, nil),
				op)
		}
		if d := decided(); d.end != 0 || d.do != nil || !strings.Contains(d.reason, "node-d may still report") {
			t.Errorf("%v: %+v, want that it waits for node d", op, d)
		}
		for _, n := range status.Nodes {
			n.Down = n.Node.Id == "d"
		}
		if d := decided(); d.end != metapb.OperationState_OPERATION_STATE_FAILED {
			t.Errorf("%v: %+v, want failure once node d counts as down", op, d)
		}
	}
}

// TestMoveAwaitsElection checks that a move waits while the target shard elects a leader, and fails
// if it has none after a while.
func TestMoveAwaitsElection(t *testing.T) {
	w := newWorld(t).node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "a", "b", "c").table(1, nil, 1)
	now := time.Now()
	snap := snapshot.New(now, snapshot.Limits{}.WithDefaults(), w.status(), []*schema.Table{w.tables[1]}, nil)
	snap.Groups[2].Leader = ""
	for age, want := range map[time.Duration]metapb.OperationState{
		time.Second: metapb.OperationState_OPERATION_STATE_UNSPECIFIED,
		time.Minute: metapb.OperationState_OPERATION_STATE_FAILED,
	} {
		op := &metapb.Operation{
			Kind: operation.TableMove, TableId: 1, ToShards: []uint32{2}, CreatedUnixNano: now.Add(-age).UnixNano(),
		}
		if d := decide(snap, op); d.end != want || d.do != nil || !strings.Contains(d.reason, "shard 2") {
			t.Errorf("begun %s ago: %+v, want end %v because of shard 2", age, d, want)
		}
	}
}

// TestUnheardNodeStays checks that a drained node which has not reported to a new leader of the
// metadata group is not removed.
func TestUnheardNodeStays(t *testing.T) {
	w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c")
	op := &metapb.Operation{Kind: operation.NodeDecommission, NodeId: "d"}
	status := w.status()
	for _, n := range status.Nodes {
		if n.Node.Id == "d" {
			n.Report, n.SilentNanos, n.Node.State = nil, int64(time.Second), metapb.NodeState_NODE_STATE_DRAINED
		}
	}
	decided := func() decision {
		return decide(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), status, nil, nil), op)
	}
	if d := decided(); d.do != nil || d.end != 0 || !strings.Contains(d.reason, "node-d") {
		t.Errorf("%+v, want that it waits for node d", d)
	}
	for _, n := range status.Nodes {
		n.Down = n.Node.Id == "d"
	}
	if d := decided(); d.do == nil {
		t.Errorf("%+v, want that node d is removed once it counts as down", d)
	}
}

// FuzzOperations runs random operations in random clusters whose nodes fail and return and whose
// leader dies. All operations must end or report what they wait for, and the invariants must hold.
func FuzzOperations(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		synctest.Test(t, func(t *testing.T) { randomOperations(t, rand.New(rand.NewPCG(seed, 3))) })
	})
}

func randomOperations(t *testing.T, r *rand.Rand) {
	w := newWorld(t)
	var ids []string
	for i := range 2 + r.IntN(5) {
		ids = append(ids, fmt.Sprint("n", i))
		w.node(fmt.Sprintf("n%d/z%d", i, r.IntN(3)))
	}
	w.voting(ids[0])
	some := func(n int) []string {
		p := slices.Clone(ids)
		r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		return p[:min(n, len(p))]
	}
	for range 1 + r.IntN(6) {
		n := 1 + 2*r.IntN(2)
		w.shard(uint32(n), some(n)...)
	}
	for i := range 3 {
		w.table(uint64(i+1), nil, uint32(1+r.IntN(len(w.shards))))
		w.ingest[uint64(i+1)] = r.Float64() * (30 << 20)
	}
	for range 1 + r.IntN(4) {
		op := &metapb.Operation{State: metapb.OperationState_OPERATION_STATE_RUNNING}
		shard := uint32(1 + r.IntN(len(w.shards)))
		switch r.IntN(10) {
		case 0, 1:
			op.Kind, op.ShardId, op.FromNode, op.ToNode = operation.ShardMove, shard, w.shards[shard].Replicas[0], some(1)[0]
		case 2:
			op.Kind, op.ShardId, op.Want = operation.ReplicaChange, shard, uint32(1+r.IntN(3))
		case 3:
			op.Kind, op.NodeId = operation.NodeDrain, some(1)[0]
		case 4:
			op.Kind, op.NodeId = operation.NodeDecommission, some(1)[0]
		case 5:
			op.Kind, op.TableId, op.ToShards = operation.TableMove, uint64(1+r.IntN(3)), []uint32{shard}
		case 6:
			op.Kind = operation.Rebalance
		case 7:
			op.Kind, op.Want, op.Progress = operation.ShardAdd, 1, &metapb.Operation_ShardAdd{
				ShardAdd: &metapb.ShardAddProgress{Count: 2},
			}
		case 8, 9:
			op = removes(shard)
			op.State = metapb.OperationState_OPERATION_STATE_RUNNING
			w.keys[shard] = time.Now().Add(time.Duration(r.IntN(600)) * time.Second)
		}
		_, _ = w.putOperation(op, time.Now().UnixNano()) // an operation that excludes another is refused
	}
	for range r.IntN(4) {
		id := some(1)[0]
		// Not at the moment when the coordinator looks: nobody can foresee a failure during a call.
		at := time.Duration(r.IntN(30))*time.Second + 700*time.Millisecond
		w.later(at, func() { w.down[id] = time.Now() })
		if r.IntN(2) == 0 {
			w.later(at+time.Duration(r.IntN(2000))*time.Second, func() { delete(w.down, id) })
		}
	}
	if r.IntN(2) == 0 {
		w.killAt, w.applied = 1+r.IntN(30), r.IntN(2) == 0
	}
	if r.IntN(3) == 0 {
		w.cancelAt = 1 + r.IntN(30)
	}
	w.tick = 5 * time.Second
	end := time.Now().Add(40 * time.Minute)
	run(t, w, time.Hour, func() bool { return time.Now().After(end) })
	for id, op := range w.ops {
		if op.Reason == "" {
			t.Errorf("operation %d (%s) is %s and does not say why", id, op.Kind, operation.StateName(op.State))
		}
	}
	if w.idle() && len(w.down) == 0 {
		w.settledCheck()
	}
}
