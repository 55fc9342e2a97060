package chaos

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// lostByCut is the maximum number of bytes that one interruption of a transfer costs: data in flight, and received
// data that was not written yet.
const lostByCut = 2 << 20

// TestTransferCut (T18) makes a node fetch the rows of a shard over a line of 20 Mbit/s. It repeatedly cuts the line
// and kills the node at random points. Each time the transfer must continue at the point of interruption, and it must
// complete.
func TestTransferCut(t *testing.T) {
	r := dice(t)
	// A shard with one replica keeps no log for others, so all rows are sent as files.
	c := cluster.NewCluster(t, cluster.Spec{
		Meta: 1, Shard: 2, Router: 1, Shards: 1, Replication: 1, Args: []string{"--shard-flush-age", "10s"},
	})
	s := newNetwork(t, c).wide(c)
	c.Start()
	l := Start(Options{Routers: c.Routers, Keyed: 2, Again: 1, Once: 1})
	l.Warm(t)
	noise := Noise{Router: c.Routers[0], Table: "noise"}
	if err := noise.Write(12_000, nil); err != nil { // 36 MB
		t.Fatal(err)
	}
	leader, target := shardLeader(t, c, 1), 0
	for i, n := range c.Nodes {
		if slices.Contains(c.Shards, n) && n != leader {
			target = i
		}
	}
	old, err := leader.Identity()
	if err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, time.Minute, func() error {
		if have := segments(t, leader); have < noise.Bytes {
			return fmt.Errorf("%d bytes are in segments, of %d", have, noise.Bytes)
		}
		return nil
	})
	n := c.Nodes[target]
	id, err := n.Identity()
	if err != nil {
		t.Fatal(err)
	}
	came := func() (sum int64) {
		for i := range c.Nodes {
			if i != target {
				sum += s.Sent(i, target)
			}
		}
		return sum
	}
	line := Line{Bits: 20_000_000}
	s.Around(target, line)
	begun, start := came(), time.Now()
	op := begin(t, c.Routers[0], operation{Kind: "shard-move", Shard: 1, From: old.NodeID, To: id.NodeID})
	cuts := rounds(3, 20)
	for i := range cuts {
		// Wait each time for a part of the file, so that all interruptions occur during the transfer.
		next := came() + noise.Bytes/int64(2*cuts) + r.Int64N(noise.Bytes/int64(2*cuts))
		cluster.Eventually(t, 2*time.Minute, func() error {
			if have := came(); have < next {
				return fmt.Errorf("%d bytes have arrived at %s, %d are missing", have-begun, n.Name, next-have)
			}
			return nil
		})
		switch i % 4 {
		case 0, 2:
			l.Fault("kill %s", n.Name)
			n.Kill()
			pause(r, 0, 500*time.Millisecond)
			n.Launch()
		case 1:
			l.Fault("%s is isolated for a moment", n.Name)
			s.Around(target, Line{Cut: true})
			pause(r, time.Second, 4*time.Second)
			s.Around(target, line)
		case 3:
			l.Fault("%s is isolated until connections break", n.Name)
			s.Around(target, Line{Cut: true})
			pause(r, 16*time.Second, 20*time.Second)
			s.Around(target, line)
		}
	}
	t.Logf("%d cuts in %s", cuts, time.Since(start).Round(time.Millisecond))
	if p := await(t, c.Routers[0], op); p.State != "done" {
		t.Errorf("the move ended as %s: %s", p.State, p.Reason)
	}
	sent, stored := came()-begun, segments(t, n)
	t.Logf("%.1f MB of segments arrived in %s, %.1f MB were sent", float64(stored)/1e6,
		time.Since(start).Round(time.Millisecond), float64(sent)/1e6)
	if stored < noise.Bytes {
		t.Errorf("%d bytes of segments are on the node, for rows of %d bytes", stored, noise.Bytes)
	}
	if most := stored*5/4 + int64(cuts)*lostByCut; sent > most {
		t.Errorf("%d bytes were sent for %d, want at most %d", sent, stored, most)
	}
	s.All(Line{})
	end(t, c, l, 1)
	if err := noise.Check(c.Routers[0]); err != nil {
		t.Error(err)
	}
	l.Report(t, 0, 0)
}

// segments returns the number of bytes of segments in the folder of a node.
func segments(t testing.TB, n *cluster.Node) (sum int64) {
	t.Helper()
	if err := filepath.WalkDir(n.Dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the file was removed in the meantime
			return nil
		}
		if err != nil || !strings.HasSuffix(path, ".parquet") {
			return err
		}
		if info, err := d.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return sum
}
