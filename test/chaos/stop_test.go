package chaos

import (
	"fmt"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestPauseNodes suspends processes: followers, and leaders, which others replace while the suspended leaders still
// consider themselves leaders.
func TestPauseNodes(t *testing.T) {
	together(t)
	r := dice(t)
	opt := mixed
	opt.Timeout = 5 * time.Second
	c, l := start(t, cluster.Spec{All: 3}, opt)
	lengths := []time.Duration{time.Second, 5 * time.Second}
	if long() {
		lengths = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	}
	for i := range rounds(2, 12) {
		n := shardLeader(t, c, 1)
		if i%3 == 2 {
			n = c.Nodes[r.IntN(3)]
		}
		l.Fault("pause %s for %s", n.Name, lengths[i%len(lengths)])
		n.Pause()
		<-time.After(lengths[i%len(lengths)])
		n.Continue()
		l.AwaitAcked(t, 200)
	}
	// Without a majority, no row may be acknowledged, and none may be lost.
	leader := shardLeader(t, c, 1)
	l.Fault("pause all but %s", leader.Name)
	for _, n := range c.Nodes {
		if n != leader {
			n.Pause()
		}
	}
	pause(r, time.Second, 4*time.Second)
	for _, n := range c.Nodes {
		if n != leader {
			n.Continue()
		}
	}
	l.AwaitAcked(t, 200)
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

// TestMetaLeaderKilled kills the leader of the metadata group, whose nodes have no other role. No request to an
// existing table may fail, and new tables must be created within seconds.
func TestMetaLeaderKilled(t *testing.T) {
	together(t)
	c, l := start(t, cluster.Spec{Meta: 3, Shard: 1, Router: 2}, Options{Keyed: 2, Once: 4})
	for i := range rounds(2, 20) {
		n := metaLeader(t, c)
		l.Fault("kill %s, which leads the metadata group", n.Name)
		n.Kill()
		table, begin := fmt.Sprintf("new_%d", i), time.Now()
		cluster.Eventually(t, 30*time.Second, func() error { return c.Routers[i%2].Ingest(table, []byte(`{"a":1}`)) })
		took := time.Since(begin)
		t.Logf("a new table took %s", took.Round(time.Millisecond))
		if long() && took > 5*time.Second {
			t.Errorf("a new table took %s while the metadata group had lost its leader, want at most 5 s", took)
		}
		l.AwaitAcked(t, 200)
		n.Launch()
		c.AwaitReady(time.Minute)
	}
	end(t, c, l, 1)
	l.WantAnswers(t, "the metadata group lost its leader")
	l.Report(t, 0, 0)
}
