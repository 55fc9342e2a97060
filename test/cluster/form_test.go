package cluster

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

// awaitReason waits until the node reports that it waits for something, by a part of the text.
func awaitReason(t *testing.T, n *Node, what string) {
	t.Helper()
	Eventually(t, 20*time.Second, func() error {
		a, err := n.Do("GET", "/ready", nil)
		if err != nil {
			return err
		}
		if a.Status != 503 || !strings.Contains(string(a.Body), what) {
			return fmt.Errorf("node %s: /ready answers %d %s, want 503 and %q", n.Name, a.Status, a.Body, what)
		}
		return nil
	})
}

// TestFound starts three empty nodes in various orders. One cluster must be founded, and only when all nodes are
// running.
func TestFound(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}} {
		c := NewCluster(t, Spec{All: 3, Replication: 1})
		for i, at := range order {
			c.Nodes[at].Launch()
			if i < 2 {
				awaitReason(t, c.Nodes[at], "all seeds to answer")
			}
		}
		c.AwaitReady(30 * time.Second)
		c.ClusterID()
		c.Kill()
	}
}

// TestFoundKilled founds clusters while nodes are killed at random times. There must always be exactly one cluster
// id. CORDWOOD_CHAOS=1 repeats it a hundred times.
func TestFoundKilled(t *testing.T) {
	t.Parallel()
	rounds := 2
	if os.Getenv("CORDWOOD_CHAOS") != "" {
		rounds = 100
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // choices of a test
	for round := range rounds {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			c := NewCluster(t, Spec{All: 3, Replication: 1})
			for _, at := range random.Perm(3) {
				c.Nodes[at].Launch()
				<-time.After(time.Duration(random.IntN(100)) * time.Millisecond)
			}
			for range random.IntN(4) {
				n := c.Nodes[random.IntN(3)]
				<-time.After(time.Duration(random.IntN(300)) * time.Millisecond)
				n.Kill()
				<-time.After(time.Duration(random.IntN(100)) * time.Millisecond)
				n.Launch()
			}
			c.AwaitReady(30 * time.Second)
			t.Logf("cluster %s", c.ClusterID())
			c.Kill()
		})
	}
}
