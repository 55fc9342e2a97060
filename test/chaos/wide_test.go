package chaos

import (
	"fmt"
	"maps"
	"regexp"
	"testing"
	"time"

	"cordwood/test/cluster"
)

var termLine = regexp.MustCompile(`(?m)^cordwood_raft_term\{group="([^"]+)"\} (\S+)$`)

// terms returns the terms of all groups. A term rises when a leader is elected, or a member stands
// for election.
func terms(t testing.TB, c *cluster.Cluster) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, n := range c.Nodes {
		a, err := n.Do("GET", "/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range termLine.FindAllStringSubmatch(string(a.Body), -1) {
			out[n.Name+" "+m[1]] = m[2]
		}
	}
	if len(out) == 0 {
		t.Fatal("no node reports the term of any group")
	}
	return out
}

// rate returns the number of rows a second that are acknowledged during length.
func (l *Load) rate(length time.Duration) float64 {
	from, begin := l.Acked(), time.Now()
	<-time.After(length)
	return float64(l.Acked()-from) / time.Since(begin).Seconds()
}

// TestWide (T7) adds a delay of 50±20 ms in each direction between nodes, and 2 % packet loss. No row may be lost or
// doubled, no group may elect a leader after the first minute, and writers must reach half of the rate that the round
// trips allow.
func TestWide(t *testing.T) {
	c := cluster.NewCluster(t, cluster.Spec{All: 3})
	s := newNetwork(t, c).wide(c)
	c.Start()
	opt := mixed
	opt.Routers = c.Routers
	l := Start(opt)
	l.Warm(t)
	clean := l.rate(15 * time.Second)
	l.Fault("far from each other")
	s.All(Line{Delay: 50 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.02})
	<-time.After(time.Minute)
	before := terms(t, c)
	far := l.rate(time.Duration(rounds(1, 5)) * time.Minute)
	if after := terms(t, c); !maps.Equal(before, after) {
		t.Errorf("leaders were elected: the terms were %v, and are %v", before, after)
	}
	// A request goes to the leader, and from the leader to the other replicas.
	const writers, rows, trips = 8, 20, 2 * 100 * time.Millisecond
	near := writers * rows / clean // seconds between two requests of a writer
	allowed := writers * rows / (near + trips.Seconds())
	t.Logf("%.0f rows a second are acknowledged without delays, %.0f (%.0f %%) with delays; two more round trips "+
		"allow %.0f",
		clean, far, 100*far/clean, allowed)
	if far < allowed/2 {
		t.Errorf("%.0f rows a second are acknowledged, want half of %.0f", far, allowed)
	}
	s.All(Line{})
	end(t, c, l, 3)
	l.Report(t, 0, 0)
}

// TestSlowLine (T8) writes more than the line between the leader and another replica can carry, 10 Mbit/s. This must
// not delay heartbeats, so no group may elect a leader. When the line is as fast as the others again, the replica
// must catch up.
func TestSlowLine(t *testing.T) {
	c := cluster.NewCluster(t, cluster.Spec{All: 3, Args: []string{"--shard-flush-bytes", "8MiB"}})
	s := newNetwork(t, c).wide(c)
	c.Start()
	opt := mixed
	opt.Routers = c.Routers
	l := Start(opt)
	l.Warm(t)
	leader := shardLeader(t, c, 1)
	at, other := 0, 0
	for i, n := range c.Nodes {
		if n == leader {
			at, other = i, (i+1)%3
		}
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	noise := Noise{Router: leader, Table: "noise", Pause: 100 * time.Millisecond}
	go func() { done <- noise.Write(1<<40, stop) }()
	fast := l.rate(10 * time.Second)
	before := terms(t, c)
	l.Fault("10 Mbit/s between %s and %s", leader.Name, c.Nodes[other].Name)
	slow := Line{Bits: 10_000_000}
	s.Set(at, other, slow)
	s.Set(other, at, slow)
	sent, begin := s.Sent(at, other), time.Now()
	rate := l.rate(time.Duration(rounds(1, 3)) * time.Minute)
	used := float64(s.Sent(at, other)-sent) * 8 / time.Since(begin).Seconds() / 1e6
	if after := terms(t, c); !maps.Equal(before, after) {
		t.Errorf("leaders were elected: the terms were %v, and are %v", before, after)
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
	t.Logf("%.0f rows a second before, %.0f with the slow line, which carried %.1f Mbit/s; %d MB of noise", fast,
		rate, used, noise.Bytes>>20)
	if used < 8 {
		t.Errorf("%.1f Mbit/s went through the slow line, which is far below its limit: this run shows nothing", used)
	}
	s.All(Line{})
	end(t, c, l, 3)
	if err := noise.Check(leader); err != nil {
		t.Error(err)
	}
	l.Report(t, 0, 0)
}

// TestSwitch checks that the switch delays, loses, limits and drops packets as its lines require.
func TestSwitch(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name string
		line Line
		want func(got []packet) error
	}{
		{"a plain line", Line{}, func(got []packet) error {
			if len(got) != 1000 {
				return fmt.Errorf("%d packets arrive, want all", len(got))
			}
			return nil
		}},
		{"a delay, in order", Line{Delay: time.Minute, Jitter: 10 * time.Second}, func(got []packet) error {
			for i, p := range got {
				if d := p.at.Sub(now); d < 50*time.Second || d > 71*time.Second || i > 0 && p.at.Before(got[i-1].at) {
					return fmt.Errorf("packet %d takes %s", i, d)
				}
			}
			return nil
		}},
		{"losses", Line{Loss: 0.5}, func(got []packet) error {
			if len(got) < 400 || len(got) > 600 {
				return fmt.Errorf("%d packets arrive, want about half", len(got))
			}
			return nil
		}},
		{"a narrow line", Line{Bits: 8000, Queue: 100_000}, func(got []packet) error {
			if len(got) != 100 {
				return fmt.Errorf("%d packets arrive, want those that fit into the queue", len(got))
			}
			if d := got[99].at.Sub(now); d < 99*time.Second || d > 101*time.Second {
				return fmt.Errorf("100 kB arrive after %s, want 100 s", d)
			}
			return nil
		}},
		{"a cut", Line{Cut: true}, func(got []packet) error {
			if len(got) > 0 {
				return fmt.Errorf("%d packets arrive", len(got))
			}
			return nil
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &wire{line: test.line, packets: make(chan packet, packetsAhead)}
			now = time.Now()
			for range 1000 {
				w.send(make([]byte, 1000), dice(t))
			}
			close(w.packets)
			var got []packet
			for p := range w.packets {
				got = append(got, p)
			}
			if err := test.want(got); err != nil {
				t.Error(err)
			}
		})
	}
}
