package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// largestSegment returns the largest segment of a node's replica of shard 1.
func largestSegment(n *Node) (path string, size int64, err error) {
	names, err := filepath.Glob(filepath.Join(n.Dir, "shards", "1", "segments", "*.parquet"))
	if err != nil {
		return "", 0, err
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.Size() > size {
			path, size = name, info.Size()
		}
	}
	if path == "" {
		return "", 0, fmt.Errorf("node %s has no segment of shard 1: %v", n.Name, names)
	}
	return path, size, nil
}

// flip inverts a byte of a file.
func flip(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 0xff
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	return f.Close()
}

// TestDamagedReplica damages files of one of three replicas: of followers while they are stopped, and of the leader
// while it runs. No query may return a wrong answer, on any node. Each time the replica must be rebuilt from the
// others with all rows.
func TestDamagedReplica(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Shards: 1, Args: []string{"--shard-flush-age", "1s"}})
	c.Start()
	rows, rebuilds := 0, 0
	get := func(path string, into any) error {
		a, err := c.Nodes[0].Do("GET", path, nil)
		if err == nil && a.Status != 200 {
			err = fmt.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(a.Body, into)
	}
	leader := func() (found *Node) {
		t.Helper()
		Eventually(t, 30*time.Second, func() error {
			var status struct{ Shards []struct{ Leader string } }
			if err := get("/v1/cluster", &status); err != nil {
				return err
			}
			for _, n := range c.Nodes {
				if len(status.Shards) == 1 && status.Shards[0].Leader == n.Name {
					found = n
				}
			}
			if found == nil {
				return fmt.Errorf("no leader: %+v", status)
			}
			return nil
		})
		return found
	}
	follower := func() *Node {
		l := leader()
		for _, n := range c.Nodes[1:] {
			if n != l {
				return n
			}
		}
		return nil
	}
	write := func() {
		t.Helper()
		var b strings.Builder
		for range 500 {
			fmt.Fprintf(&b, "{\"i\":%d,\"text\":\"row %d of the table\"}\n", rows, rows*7919%10007)
			rows++
		}
		Eventually(t, 30*time.Second, func() error { return c.Nodes[0].Ingest("t", []byte(b.String())) })
	}
	// check queries every node. An answer must have all rows, or be a temporary error.
	check := func() error {
		for _, n := range c.Nodes {
			got, err := n.Query("SELECT count(*), count(DISTINCT i), min(i), max(i), count(text) FROM t")
			if err != nil {
				return err
			}
			if want := fmt.Sprintf("[[%d %d 0 %d %d]]", rows, rows, rows-1, rows); fmt.Sprint(got) != want {
				t.Fatalf("node %s: %v, want %s", n.Name, got, want)
			}
		}
		return nil
	}
	repaired := func(what string, n *Node) {
		t.Helper()
		rebuilds++
		start := time.Now()
		Eventually(t, time.Minute, func() error {
			if err := check(); err != nil {
				return err
			}
			var all struct {
				Operations []struct{ Kind, State, Reason string }
			}
			if err := get("/v1/cluster/operations", &all); err != nil {
				return err
			}
			done := 0
			for _, op := range all.Operations {
				if op.Kind == "replica-rebuild" && op.State == "done" {
					done++
				}
			}
			var status struct {
				Problems []struct{ Severity, Text, Advice string }
				Shards   []struct{ State string }
			}
			if err := get("/v1/cluster", &status); err != nil {
				return err
			}
			ill := 0
			for _, p := range status.Problems {
				// The disk of this machine may be filling up.
				if p.Severity != "info" && !strings.HasPrefix(p.Text, "disks are filling up") {
					ill++
				}
			}
			if done != rebuilds || ill > 0 || status.Shards[0].State != "ok" {
				return fmt.Errorf("%s: %d replicas of %d were rebuilt: %+v, %+v", what, done, rebuilds, all, status)
			}
			return nil
		})
		marks, _ := filepath.Glob(filepath.Join(n.Dir, "shards", "1", "segments", "*.damaged"))
		if len(marks) > 0 {
			t.Errorf("%s: damaged files remain on node %s: %v", what, n.Name, marks)
		}
		t.Logf("%s: undamaged again after %s", what, time.Since(start).Round(100*time.Millisecond))
		write()
		if err := check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	write()
	write()

	for _, d := range []struct {
		name string
		do   func(n *Node) error
	}{
		{"the footer of a segment", func(n *Node) error {
			path, size, err := largestSegment(n)
			if err != nil {
				return err
			}
			return flip(path, size-20)
		}},
		{"a segment cut short", func(n *Node) error {
			path, size, err := largestSegment(n)
			if err != nil {
				return err
			}
			return os.Truncate(path, size/2)
		}},
		{"the manifest", func(n *Node) error { return flip(filepath.Join(n.Dir, "shards", "1", "MANIFEST"), 20) }},
		{"the folder", func(n *Node) error { return os.RemoveAll(filepath.Join(n.Dir, "shards", "1")) }},
	} {
		n := follower()
		Eventually(t, 30*time.Second, func() error { _, _, err := largestSegment(n); return err })
		n.Stop()
		if err := d.do(n); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		n.Launch()
		if err := n.AwaitReady(time.Minute); err != nil {
			t.Fatalf("%s: %v", d.name, err)
		}
		repaired(d.name+" of a follower", n)
	}

	// The leader finds the damage when it reads the rows.
	n := leader()
	Eventually(t, 30*time.Second, func() error {
		path, size, err := largestSegment(n)
		if err != nil {
			return err
		}
		return flip(path, size/3)
	})
	repaired("a segment of the leader", n)

	// Each replica leads once with its present files.
	for range c.Nodes {
		l := leader()
		l.Stop()
		Eventually(t, 30*time.Second, func() error {
			for _, n := range c.Nodes {
				if n == l {
					continue
				}
				if err := wantRows(n, "t", rows); err != nil {
					return err
				}
			}
			return nil
		})
		l.Start()
	}
}
