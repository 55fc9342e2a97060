package coordinator

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// TestVerdicts checks the table in docs/operating.md: the state, the verdict, and the exit status
// of 'cordwood cluster status'.
func TestVerdicts(t *testing.T) {
	page, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	// adds creates all shards except the first by an operation that changed the given time ago.
	adds := func(w *world, ago time.Duration) {
		w.ops[1] = &metapb.Operation{
			Id: 1, Kind: operation.ShardAdd, State: metapb.OperationState_OPERATION_STATE_RUNNING, Step: stepStart,
			Progress:        &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Begun: true, Base: 1, Count: 1}},
			UpdatedUnixNano: time.Now().Add(-ago).UnixNano(),
		}
	}
	leaderless := func(w *world, shard uint32, ago time.Duration) {
		w.groups[shard].leader, w.groups[shard].leaderLost = "", time.Now().Add(-ago)
		w.frozen = true
	}
	gone := func(w *world, id string, ago time.Duration) { w.down[id] = time.Now().Add(-ago) }
	for _, c := range []struct {
		what      string
		set       func(w *world)
		verdict   string
		tolerance int
		shard     string // state of the last shard
		node      string // state of node-c
	}{
		{"all nodes and shards work", func(*world) {}, "ok", 1, "ok", "up"},
		{"a new cluster makes its first shards", func(w *world) {
			clear(w.shards)
			clear(w.groups)
			w.settings.InitialShards, w.settings.Replication = 4, 3
		}, "starting", 1, "", "up"},
		{"a new cluster has no nodes for its shards", func(w *world) {
			clear(w.shards)
			clear(w.groups)
			w.settings.InitialShards, w.settings.Replication = 4, 5
		}, "degraded", 1, "", "up"},
		{"a new cluster has had no nodes for its shards for more than 5 minutes", func(w *world) {
			clear(w.shards)
			clear(w.groups)
			w.settings.InitialShards, w.settings.Replication, w.began = 4, 5, time.Now().Add(-6*time.Minute)
		}, "broken", 1, "", "up"},
		{"a node was added, and has not reported yet", func(w *world) {
			w.node("d")
			w.nodes["d"].RegisteredUnixNano, w.unheard = time.Now().UnixNano(), map[string]bool{"d": true}
			w.began = time.Now().Add(-time.Hour)
		}, "ok", 1, "ok", "up"},
		{"new shards elect their first leader", func(w *world) {
			w.shard(3, "a", "b", "c")
			adds(w, time.Second)
			leaderless(w, 2, 20*time.Second)
		}, "ok", 1, "starting", "up"},
		{"not all replicas of new shards are open", func(w *world) {
			w.shard(3, "a", "b", "c")
			adds(w, time.Second)
			w.groups[2].opened["c"], w.groups[2].opened["b"] = time.Now().Add(time.Hour), time.Now().Add(time.Hour)
		}, "ok", 1, "starting", "up"},
		{"a new shard has no leader for 30 seconds", func(w *world) {
			w.shard(3, "a", "b", "c")
			adds(w, 31*time.Second)
			leaderless(w, 2, 31*time.Second)
		}, "broken", -1, "no leader", "up"},
		{
			"a leader has transferred its leadership, and no node has reported yet that it leads",
			func(w *world) { leaderless(w, 1, time.Second) },
			"ok", 1, "electing", "up",
		},
		{"a leader has transferred its leadership, and a follower has not heard from the new leader yet", func(w *world) {
			w.groups[1].ledFor, w.groups[1].deaf = time.Second, map[string]bool{"c": true}
		}, "ok", 1, "ok", "up"},
		{"a follower has not heard from a new leader for 5 seconds", func(w *world) {
			w.groups[1].ledFor, w.groups[1].deaf = 5*time.Second, map[string]bool{"c": true}
		}, "degraded", 0, "catching up", "up"},
		{
			"a node is drained", func(w *world) { w.nodes["d"].State = metapb.NodeState_NODE_STATE_DRAINED }, "ok", 1,
			"ok", "up",
		},
		{"a shard is being removed", func(w *world) { w.shards[1].Retiring = true }, "ok", 1, "retiring", "up"},
		{"the last replica of a shard that is being removed, with rows, is down", func(w *world) {
			w.shard(1, "c").table(9, nil, 2)
			w.shards[2].Retiring = true
			gone(w, "c", time.Minute)
		}, "broken", -1, "no leader", "down"},
		{"the last replica of a shard that is being removed, and is empty, is down", func(w *world) {
			w.shard(1, "c").table(9, nil, 1)
			w.shards[2].Retiring = true
			gone(w, "c", time.Minute)
		}, "degraded", 0, "retiring", "down"},
		{"a node is stopping", func(w *world) { w.stopping["c"] = true }, "degraded", 0, "under-replicated", "stopping"},
		{"a node has stopped", func(w *world) {
			w.stopping["c"] = true
			gone(w, "c", 4*time.Second)
		}, "degraded", 0, "under-replicated", "stopped"},
		{
			"a node has been silent for 3 seconds", func(w *world) { gone(w, "c", 4*time.Second) }, "degraded", 0, "ok",
			"silent",
		},
		{
			"a node has been silent for 10 seconds, so it is down", func(w *world) { gone(w, "c", time.Minute) },
			"degraded", 0,
			"under-replicated", "down",
		},
		{"a node was killed, and its shards elect leaders", func(w *world) {
			gone(w, "c", 4*time.Second)
			leaderless(w, 1, 4*time.Second)
		}, "degraded", 0, "electing", "silent"},
		{"a node is stopping, and its shards elect leaders", func(w *world) {
			w.stopping["c"] = true
			leaderless(w, 1, time.Second)
		}, "degraded", 0, "electing", "stopping"},
		{
			"enough replicas of a shard work, but they have elected no leader for 10 seconds",
			func(w *world) { leaderless(w, 1, 11*time.Second) }, "broken", -1, "no leader", "up",
		},
		{"too few replicas of a shard are left", func(w *world) {
			gone(w, "b", 4*time.Second)
			gone(w, "c", 4*time.Second)
			leaderless(w, 1, 4*time.Second)
		}, "broken", -1, "no leader", "silent"},
		{"too few replicas of a shard are left, because nodes have stopped", func(w *world) {
			w.stopping["b"], w.stopping["c"] = true, true
			leaderless(w, 1, time.Second)
		}, "broken", -1, "no leader", "stopping"},
		{"the only replica of a shard is on a node that is stopping", func(w *world) {
			w.shard(1, "c")
			w.stopping["c"] = true
		}, "degraded", 0, "under-replicated", "stopping"},
		{"the only replica of a shard is on a node that has stopped, or is silent", func(w *world) {
			w.shard(1, "c")
			w.stopping["c"] = true
			gone(w, "c", 4*time.Second)
		}, "broken", -1, "no leader", "stopped"},
		{"the metadata group has a new leader, and not all nodes have reported to it", func(w *world) {
			w.unheard = map[string]bool{"b": true, "c": true}
		}, "unknown", 1, "ok", "unknown"},
		{"the metadata group has a new leader, and the leader of a shard has not reported to it", func(w *world) {
			w.unheard = map[string]bool{"a": true, "c": true}
			w.groups[1].leader = "c"
		}, "unknown", 1, "unknown", "unknown"},
		{"the metadata group has a new leader, and a shard lost its leader before", func(w *world) {
			w.unheard = map[string]bool{"c": true}
			w.began = time.Now().Add(-4 * time.Second)
			gone(w, "c", 4*time.Second)
			leaderless(w, 1, 4*time.Second)
		}, "degraded", 0, "electing", "silent"},
	} {
		t.Run(c.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c").voting("a", "b", "c")
				c.set(w)
				s, err := NewAdmin(catalog{process: &process{w: w}}).Status(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				shard, node := "", ""
				if n := len(s.Shards); n > 0 {
					shard = s.Shards[n-1].State
				}
				for _, n := range s.Nodes {
					if n.ID == "c" {
						node = n.State
					}
				}
				if s.Health != c.verdict || s.FailureTolerance != c.tolerance || shard != c.shard || node != c.node {
					t.Errorf("%s, tolerance %d, the last shard is %q, node-c %q; want %s, %d, %q, %q\n%s",
						s.Health, s.FailureTolerance, shard, node, c.verdict, c.tolerance, c.shard, c.node, catalog{}.text(s))
				}
				if s.FailureTolerance < 0 && s.Health != "broken" {
					t.Errorf("the tolerance is %d, and the verdict %s", s.FailureTolerance, s.Health)
				}
				// The metrics show the same.
				snap := NewAdmin(catalog{process: &process{w: w}}).snapshotOf(w.status())
				m := newMetrics(nil)
				m.publish(snap)
				if tolerance, _ := snapshot.ClusterTolerance(m.last.Load()); tolerance != c.tolerance {
					t.Errorf("cordwood_cluster_failure_tolerance is %d, want %d", tolerance, c.tolerance)
				}
				exit := 0
				if c.verdict == "broken" {
					exit = 1
				}
				if row := fmt.Sprintf("| %s | `%s` | %d |", c.what, c.verdict, exit); !strings.Contains(string(page), row) {
					t.Errorf("docs/operating.md has no row %q", row)
				}
			})
		})
	}
}

// TestMoveToDrainedNode checks a replica that is being moved to a node which is drained meanwhile:
// the move ends, and does not block other operations of the shard.
func TestMoveToDrainedNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c")
		w.nodes["d"].State = metapb.NodeState_NODE_STATE_DRAINING
		op := &metapb.Operation{
			Id: 7, Kind: operation.ShardMove, ShardId: 1, FromNode: "a", ToNode: "d",
			State: metapb.OperationState_OPERATION_STATE_RUNNING, Step: stepOpen,
		}
		w.ops[7] = op
		snap := NewAdmin(catalog{process: &process{w: w}}).snapshotOf(w.status())
		d := decide(snap, op)
		d.progress(op)
		if op.GetReplicas().GetUndo() == "" || d.do != nil {
			t.Fatalf("it continues with %+v", d)
		}
		if d = decide(snap, op); d.end != metapb.OperationState_OPERATION_STATE_FAILED ||
			!strings.Contains(d.reason, "is drained") {
			t.Errorf("it ends as %v: %s", d.end, d.reason)
		}
	})
}

// TestFirstShardsAtOnce checks that the first shards are created as soon as all seeds have
// reported, and otherwise when no other node has joined for a while.
func TestFirstShardsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		seeds []string
		all   bool
		set   func(w *world)
		want  bool
	}{
		"all seeds have reported":   {[]string{"a", "b", "c"}, true, func(*world) {}, true},
		"a seed does not answer":    {[]string{"a", "b", "c"}, false, func(*world) {}, false},
		"a seed has not joined yet": {[]string{"a", "b", "c", "d"}, true, func(*world) {}, false},
		"one seed has not reported yet": {
			[]string{"a", "b", "c"}, true, func(w *world) { w.unheard = map[string]bool{"c": true} }, false,
		},
		"a node that is not a seed has joined, too": {[]string{"a", "b", "c"}, true, func(w *world) { w.node("d") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t).node("a", "b", "c")
				w.settings.InitialShards, w.settings.Replication = 2, 3
				c.set(w)
				cfg := Config{Holders: func() ([]string, bool) { return c.seeds, c.all }}.withDefaults()
				l := &leading{Coordinator: &Coordinator{cfg: cfg}, meter: newMeter(), began: time.Now()}
				l.cfg.Meta = &process{w: w}
				look := func() bool { return initialShards(l.snapshot(w.status())) != nil }
				if got := look(); got != c.want {
					t.Errorf("created at once: %v, want %v", got, c.want)
				}
				time.Sleep(cfg.Settle)
				if !c.want && name != "one seed has not reported yet" && !look() {
					t.Error("they are not created after a while either")
				}
			})
		})
	}
}
