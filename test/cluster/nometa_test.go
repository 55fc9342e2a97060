package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRestartWithoutMajority restarts a router and a shard node while most voters of the metadata group are down.
// Rows of existing tables must be written and read, each once. Requests that need the metadata must be refused at
// once, with the reason.
func TestRestartWithoutMajority(t *testing.T) {
	c := NewCluster(t, Spec{Meta: 3, Shard: 1, Router: 1})
	c.Start()
	router := c.Routers[0]
	if err := ingest(router, "t", 0, 10); err != nil {
		t.Fatal(err)
	}
	// A majority created the table. The remaining member need not be part of it.
	const applied = `cordwood_raft_applied_index{group="meta"}`
	made := c.Metas[1].metric(t, applied)
	made = max(made, c.Metas[2].metric(t, applied))
	Eventually(t, 30*time.Second, func() error {
		if has := c.Metas[0].metric(t, applied); has < made {
			return fmt.Errorf("a member has applied %.0f of %.0f entries of the metadata", has, made)
		}
		return nil
	})
	c.Metas[1].Kill()
	c.Metas[2].Kill()
	router.Kill()
	c.Shards[0].Kill()
	c.Shards[0].Launch()
	router.Launch()
	for _, n := range []*Node{c.Shards[0], router} {
		if err := n.AwaitReady(Generous(30 * time.Second)); err != nil {
			t.Fatalf("without a majority of the metadata: %v", err)
		}
	}
	if err := ingest(router, "t", 10, 20); err != nil {
		t.Fatalf("rows of a table that exists: %v", err)
	}
	if err := wantRows(router, "t", 20); err != nil {
		t.Error(err)
	}
	// The copy of the metadata does not contain the leader, so requests must have failed for a
	// while.
	var err error
	for deadline := time.Now().Add(Generous(30 * time.Second)); time.Now().Before(deadline); {
		if err = router.Ingest("new", []byte(`{"i":1}`)); err == nil ||
			strings.Contains(err.Error(), "has had no leader for") {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "more than half of its voters must be up") {
		t.Errorf("rows of a new table: %v, want the reason", err)
	}
	c.Metas[1].Start()
	for deadline := time.Now().Add(Generous(30 * time.Second)); ; {
		if err = ingest(router, "new", 0, 1); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Errorf("when the majority is back: %v", err)
	}
	if err := wantRows(router, "t", 20); err != nil {
		t.Error(err)
	}
	c.Stop()
	for _, n := range c.Nodes {
		checkFolder(t, n)
	}
}
