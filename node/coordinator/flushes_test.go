package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
)

// TestReplicaThatCannotFlush makes the flushes of replicas fail. Such replicas must not lead, and must
// be moved to other nodes, if possible, after the time limit for silent nodes.
func TestReplicaThatCannotFlush(t *testing.T) {
	for _, c := range []struct {
		name  string
		world func(w *world)
		want  []string // replicas of shard 1 at the end
	}{
		{
			"a follower", func(w *world) { w.node("a", "b", "c", "d").shard(3, "a", "b", "c").stick(1, "c") },
			[]string{"a", "b", "d"},
		},
		{
			"a leader", func(w *world) { w.node("a", "b", "c", "d").shard(3, "a", "b", "c").stick(1, "a") },
			[]string{"b", "c", "d"},
		},
		{"the only replica", func(w *world) { w.node("a", "b").shard(1, "a").shard(1, "b").stick(1, "a") }, []string{"b"}},
		{
			"no other node", func(w *world) { w.node("a", "b", "c").shard(3, "a", "b", "c").stick(1, "a") },
			[]string{"a", "b", "c"},
		},
		{
			"by zones",
			func(w *world) { w.node("a/1", "b/2", "c/3", "d/1", "e/3").shard(3, "a", "b", "c").stick(1, "c") },
			[]string{"a", "b", "e"},
		},
		{"another replica cannot flush either", func(w *world) {
			w.node("a", "b", "c", "d", "e").shard(3, "a", "b", "c").shard(1, "d").stick(1, "c").stick(2, "d")
		}, []string{"a", "b", "e"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t).voting("b")
				c.world(w)
				w.settings.RebalancePaused = true
				stuck := slices.Collect(func(yield func(string) bool) {
					for id := range w.groups[1].stuck {
						yield(id)
					}
				})[0]
				run(t, w, time.Hour, func() bool {
					since := time.Since(w.began)
					if g := w.groups[1]; since > 2*time.Minute && len(c.want) > 1 && g.leader == stuck {
						w.fail("%s leads after %s", stuck, since)
					}
					if since < 15*time.Minute && len(w.shards[1].Replicas) != len(c.want) {
						w.fail("the replicas are %v after %s", w.shards[1].Replicas, since)
					}
					return since > 30*time.Minute && (w.idle() || len(w.ops) == 0) &&
						slices.Equal(sorted(w.shards[1].Replicas), c.want)
				})
			})
		})
	}
}

// TestStuckReplicasAreReported checks the messages to the operator about replicas that cannot flush.
func TestStuckReplicasAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t).node("a", "b", "c", "d").shard(3, "a", "b", "c").stick(1, "c")
		problems := func() (out string) {
			for _, p := range view.Diagnose(snapshot.New(time.Now(), snapshot.Limits{}.WithDefaults(), w.status(), nil, nil)) {
				if strings.Contains(p.Text, "could not write rows") {
					out = fmt.Sprint(p.Severity, ": ", p.Text, ": ", p.Advice, " ", p.Actions)
				}
			}
			return out
		}
		time.Sleep(20 * time.Second)
		if got := problems(); got != "" {
			t.Errorf("after 20 s: %s", got)
		}
		time.Sleep(70 * time.Second)
		got := problems()
		for _, want := range []string{
			"warning: shard 1: its replica on node node-c", "for 1m30s (cannot create a file)",
			"check the disk of node node-c", "moves to another node in 13m30s",
			"[{shard-move node-c 1 0}]",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
		w.groups[1].leader = "c"
		if got := problems(); !strings.HasPrefix(got, "critical") {
			t.Errorf("the message about a leader: %s", got)
		}
	})
}
