package coordinator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
	"cordwood/proto/metapb"
)

// TestKeepDamaged checks that a damaged replica may be removed only if all others are present and
// intact.
func TestKeepDamaged(t *testing.T) {
	three := func(w *world) *world {
		return w.node("a", "b", "c", "d").shard(3, "a", "b", "c").damage(1, "c", damagedSegment)
	}
	for _, c := range []struct {
		name  string
		world func(w *world)
		// why is a part of the reason why the replica stays; empty if it may be removed.
		why   string
		never bool
	}{
		{"all others are undamaged", func(w *world) { three(w) }, "", false},
		{"two replicas", func(w *world) { w.node("a", "c").shard(2, "a", "c").damage(1, "c", damagedSegment) }, "", false},
		{"it leads", func(w *world) { three(w); w.groups[1].leader = "c" }, "", false},
		{"its log", func(w *world) { three(w).damage(1, "c", damagedLog) }, "", false},
		{"one replica", func(w *world) { w.node("c").shard(1, "c").damage(1, "c", damagedSegment) }, "from a backup", true},
		{
			"another is down", func(w *world) { three(w).down["b"] = time.Now().Add(-time.Minute) },
			"node node-b does not answer", false,
		},
		{"another is damaged", func(w *world) { three(w).damage(1, "b", damagedSegment) }, "node-b is damaged too", false},
		{"another does not open", func(w *world) { three(w).damage(1, "b", damagedLog) }, "node-b is damaged too", false},
		{
			"another is behind", func(w *world) { three(w).groups[1].ready["b"] = time.Now().Add(time.Hour) },
			"node-b is copying", false,
		},
		{"it is down", func(w *world) { three(w).down["c"] = time.Now().Add(-time.Minute) }, "does not answer", false},
		{
			"it is drained", func(w *world) { three(w).nodes["c"].State = metapb.NodeState_NODE_STATE_DRAINING },
			"drained", true,
		},
		{"no leader", func(w *world) { three(w).groups[1].leader = "" }, "no leader", false},
		{"a learner", func(w *world) { three(w).groups[1].learners = []string{"d"} }, "the members of shard 1 change", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.world(w)
			snap := snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), nil, nil)
			why, never := snapshot.WhyKeepDamaged(snap, snap.Shards[1], snap.Groups[1], "c")
			if (why == "") != (c.why == "") || !strings.Contains(why, c.why) || never != c.never {
				t.Errorf("keepDamaged = %q, %v, want %q, %v", why, never, c.why, c.never)
			}
			started := rebuildReplicas(snap)
			if (started != nil) != (c.why == "") {
				t.Errorf("started by itself: %v, want %v", started, c.why == "")
			}
		})
	}
}

// TestRebuildAutomatic damages replicas of a working cluster, and waits until they have been
// rebuilt.
func TestRebuildAutomatic(t *testing.T) {
	for _, c := range []struct {
		name  string
		world func(w *world)
	}{
		{"a follower", func(w *world) { w.damage(1, "c", damagedSegment) }},
		{"a leader", func(w *world) { w.damage(1, "a", damagedSegment) }},
		{"a log", func(w *world) { w.damage(1, "b", damagedLog) }},
		{"all of a node", func(w *world) { w.damage(1, "b", damagedLog).damage(2, "b", damagedSegment) }},
		{"one on each of several nodes", func(w *world) { w.damage(1, "b", damagedLog).damage(2, "a", damagedSegment) }},
		{"while another node is away", func(w *world) {
			w.damage(1, "a", damagedSegment).down["b"] = time.Now()
			w.later(30*time.Second, func() { delete(w.down, "b") })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t).node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c")
				c.world(w)
				run(t, w, 2*time.Minute, func() bool {
					return w.idle() && len(w.groups[1].damaged)+len(w.groups[2].damaged) == 0
				})
				for _, op := range w.ops {
					if op.State != metapb.OperationState_OPERATION_STATE_DONE || op.Kind != operation.ReplicaRebuild ||
						!strings.Contains(op.Reason, "rebuilt from the others") {
						t.Errorf("operation: %v", op)
					}
				}
				w.settledCheck()
			})
		})
	}
}

// TestLeaderWithoutRows checks that leadership is transferred even if nothing can be rebuilt.
func TestLeaderWithoutRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c").shard(3, "a", "b", "c").voting("a", "b", "c").damage(1, "a",
			damagedSegment).damage(1, "b", damagedSegment)
		run(t, w, time.Minute, func() bool { return w.groups[1].leader == "c" })
		run(t, w, 3*time.Minute, func() bool { return time.Since(w.began) > 2*time.Minute })
		if w.groups[1].leader != "c" || len(w.ops) > 0 {
			t.Errorf("%s", w.describe())
		}
	})
}

// TestRebuildNodeLost loses the node for good after its replica was removed. The shard gets another replica on
// another node.
func TestRebuildNodeLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c").shard(1, "d").voting("a", "b", "d").damage(1, "c",
			damagedSegment)
		removed := func() bool { return !slices.Contains(w.groups[1].voters, "c") }
		run(t, w, time.Minute, removed)
		w.mu.Lock()
		w.down["c"] = time.Now()
		w.mu.Unlock()
		run(t, w, 30*time.Minute, func() bool {
			return w.idle() && slices.Equal(sorted(w.shards[1].Replicas), []string{"a", "b", "d"})
		})
		if op := w.ops[1]; op.Kind != operation.ReplicaRebuild || op.State != metapb.OperationState_OPERATION_STATE_FAILED ||
			!strings.Contains(op.Reason, "one replica less") {
			t.Errorf("the rebuild: %v", op)
		}
		w.settledCheck()
	})
}

// TestDamageInStatus checks the status of damaged replicas.
func TestDamageInStatus(t *testing.T) {
	for _, c := range []struct {
		name         string
		world        func(w *world)
		severity     string
		text, advice string
	}{
		{
			"one replica", func(w *world) { w.node("a").shard(1, "a").damage(1, "a", damagedSegment) }, "critical",
			"shards/1/segments/7.parquet (99 rows)", "from a backup",
		},
		{
			"a follower", func(w *world) { w.node("a", "b", "c").shard(3, "a", "b", "c").damage(1, "b", damagedSegment) },
			"warning", "2 damaged files on node node-b", "nothing: it is rebuilt",
		},
		{"two", func(w *world) {
			w.node("a", "b", "c").shard(3, "a", "b", "c").damage(1, "b", damagedSegment).damage(1, "c", damagedLog)
		}, "warning", "does not open: the log is damaged", "node-b is damaged too"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.world(w)
			problems := view.Diagnose(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), nil, nil))
			for _, p := range problems {
				if p.Severity == c.severity && strings.Contains(p.Text, c.text) && strings.Contains(p.Advice, c.advice) {
					return
				}
			}
			t.Errorf("no problem %q %q %q in %+v", c.severity, c.text, c.advice, problems)
		})
	}
}

// TestRebuildRests checks that a report that was sent before the first rebuild does not start a second one.
func TestRebuildRests(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		state metapb.OperationState
		ended time.Duration // time since the last rebuild ended
		want  bool
	}{
		{metapb.OperationState_OPERATION_STATE_RUNNING, 0, true},
		{metapb.OperationState_OPERATION_STATE_DONE, time.Second, true},
		{metapb.OperationState_OPERATION_STATE_DONE, 30 * time.Second, false},
		{metapb.OperationState_OPERATION_STATE_FAILED, 30 * time.Second, true},
		{metapb.OperationState_OPERATION_STATE_FAILED, 2 * time.Minute, false},
	} {
		op := &metapb.Operation{
			Kind: operation.ReplicaRebuild, FromNode: "a", State: c.state, EndedUnixNano: now.Add(-c.ended).UnixNano(),
		}
		snap := snapshot.New(now, snapshot.Limits{}.WithDefaults(),
			&metapb.StatusResponse{Operations: []*metapb.Operation{op}}, nil, nil)
		if got := rebuildsOn(snap, "a"); got != c.want {
			t.Errorf("%s %s ago: %t, want %t", c.state, c.ended, got, c.want)
		}
	}
}
