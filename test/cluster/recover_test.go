package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRecoverAll loses two of three nodes with their folders. One command must make the third node serve all groups
// again, and empty nodes must replace the lost ones.
func TestRecoverAll(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Shards: 3})
	c.Start()
	a, b, last := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	tables := []string{"t", "u", "v"}
	write := func(n *Node, from, to int) {
		t.Helper()
		for _, table := range tables {
			for i := from; i < to; i++ {
				if err := ingestKeyed(n, table, i); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write(a, 0, 5)
	a.Stop()
	args := []string{"recover", "--group", "all", "--data-dir", a.Dir}
	if _, err := command(t, append(args, "--accept-data-loss")...); err == nil ||
		!strings.Contains(err.Error(), "a majority: start this node") {
		t.Fatalf("it is not refused while the others run: %v", err)
	}

	b.Kill()
	last.Kill()
	for _, n := range []*Node{b, last} {
		if err := os.RemoveAll(n.Dir); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := command(t, args...)
	if err == nil || !strings.Contains(err.Error(), "--accept-data-loss") {
		t.Fatalf("the recovery ran without --accept-data-loss: %v", err)
	}
	for _, group := range []string{"shard/1", "shard/2", "shard/3", "meta"} {
		if !strings.Contains(plan, fmt.Sprintf("  %-9s recover  up to entry ", group)) {
			t.Errorf("the plan does not have %s:\n%s", group, plan)
		}
	}
	mustCommand(t, append(args, "--accept-data-loss")...)
	if again := mustCommand(t, args...); !strings.Contains(again, "There is nothing to do here") {
		t.Errorf("the second run prints:\n%s", again)
	}
	a.Start()
	for _, table := range tables {
		if err := wantRows(a, table, 5); err != nil {
			t.Fatal(err)
		}
	}
	write(a, 5, 10)
	b.Launch()
	last.Start()
	if err := b.AwaitReady(Generous(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		for _, table := range tables {
			if err := wantRows(n, table, 10); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestRecoverAllOfTwo keeps two of three folders. The better one is recovered, and the other one must not continue as
// a separate group.
func TestRecoverAllOfTwo(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	if err := ingest(c.Nodes[0], "t", 0, 5); err != nil {
		t.Fatal(err)
	}
	for _, n := range c.Nodes {
		n.Stop()
	}
	if err := os.RemoveAll(c.Nodes[2].Dir); err != nil {
		t.Fatal(err)
	}
	best, other := c.Nodes[0], c.Nodes[1]
	recoverAll := func(n, compare *Node) (string, error) {
		return command(t, "recover", "--group", "all", "--data-dir", n.Dir, "--compare", compare.Dir, "--accept-data-loss")
	}
	_, err := recoverAll(best, other)
	if err != nil && strings.Contains(err.Error(), "Run this command on that folder first") {
		best, other = other, best
		_, err = recoverAll(best, other)
	}
	if err != nil {
		t.Fatal(err)
	}
	output, err := recoverAll(other, best)
	if err != nil || !strings.Contains(output, "meta      retire   it was recovered in "+best.Dir) {
		t.Fatalf("the other folder's member of the metadata was not retired: %v\n%s", err, output)
	}
	// Either node may have the better copy of a shard, so they wait for each other.
	for _, n := range []*Node{best, other} {
		n.Launch()
	}
	for _, n := range []*Node{best, other} {
		if err := n.AwaitReady(Generous(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 5; i < 10; i++ {
		if err := ingestKeyed(other, "t", i); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []*Node{best, other} {
		if err := wantRows(n, "t", 10); err != nil {
			t.Error(err)
		}
	}
}
