package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// copyFolder copies the data folder of a stopped node.
func copyFolder(t *testing.T, n *Node) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(n.Dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// putBack replaces the data folder of a stopped node with a copy, and returns the new path of the
// folder.
func putBack(t *testing.T, n *Node, folder string) (aside string) {
	t.Helper()
	aside = filepath.Join(t.TempDir(), "aside")
	for _, move := range [][2]string{{n.Dir, aside}, {folder, n.Dir}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	return aside
}

// refused starts a node and waits until it has ended with a log that contains words.
func refused(t *testing.T, n *Node, words ...string) {
	t.Helper()
	n.Launch()
	if code := n.Ended(Generous(30 * time.Second)); code == 0 {
		t.Fatalf("node %s ended with status 0", n.Name)
	}
	for _, w := range words {
		if !strings.Contains(n.Log(), w) {
			t.Fatalf("node %s does not log %q:\n%s", n.Name, w, n.Log())
		}
	}
}

// TestOlderFolder replaces a node's data folder with an older copy. The node must be refused with a clear text,
// however often it is started, also while the metadata group has no leader. The other nodes must lose nothing. Both
// remedies in the text must work.
func TestOlderFolder(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	a, b, last := c.Nodes[0], c.Nodes[1], c.Nodes[2]
	id, err := last.Identity()
	if err != nil {
		t.Fatal(err)
	}
	if err := ingest(a, "t", 0, 5); err != nil {
		t.Fatal(err)
	}
	last.Stop()
	old := copyFolder(t, last)
	last.Start()
	// Two of three nodes acknowledge the row, and one of these loses it.
	b.Stop()
	for i := 5; i < 10; i++ {
		if err := ingestKeyed(a, "t", i); err != nil {
			t.Fatal(err)
		}
	}
	last.Stop()
	newest := putBack(t, last, old)
	for range 3 {
		refused(t, last, "is older than its last state in the cluster", "Nothing was deleted",
			"start the node with an empty one")
	}
	b.Start()
	refused(t, last, "is older than its last state in the cluster")
	if status, err := command(t, "cluster", "status", "--server", a.HTTP); err != nil ||
		!strings.Contains(status, "was refused when it started: the data folder") {
		t.Errorf("the status does not report that the node was refused: %v\n%s", err, status)
	}
	if err := wantRows(a, "t", 10); err != nil {
		t.Error(err)
	}

	// The newest copy continues.
	old = putBack(t, last, newest)
	last.Start()
	if err := wantRows(last, "t", 10); err != nil {
		t.Error(err)
	}
	// With an empty folder the node is a new one, and replaces the former one.
	last.Stop()
	putBack(t, last, old)
	refused(t, last, "is older than its last state in the cluster")
	if err := os.RemoveAll(last.Dir); err != nil {
		t.Fatal(err)
	}
	last.Start()
	mustCommand(t, "node", "decommission", "--yes", id.NodeID, "--server", a.HTTP)
	Eventually(t, 3*time.Minute, func() error {
		status, err := command(t, "cluster", "status", "--server", a.HTTP)
		if err == nil && strings.Contains(status, id.NodeID) {
			err = fmt.Errorf("the former node is still listed:\n%s", status)
		}
		return err
	})
	for i := 10; i < 15; i++ {
		if err := ingestKeyed(last, "t", i); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.Nodes {
		if err := wantRows(n, "t", 15); err != nil {
			t.Error(err)
		}
	}
}

// TestClonedFolder starts a copy of a node's data folder while the node runs. The copy must be refused while the node
// answers, and the node must end if the copy has continued.
func TestClonedFolder(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	a, last := c.Nodes[0], c.Nodes[2]
	last.Stop()
	copied := copyFolder(t, last)
	last.Start()
	clone := c.add("router,meta,shard")
	c.Nodes = c.Nodes[:3]
	clone.set("--seeds", c.seeds())
	clone.Keep(copied)
	// The seed list contains the node itself, so the copy connects to it.
	refused(t, clone, "one of the data folders is a copy of the other")

	// The node is suspended, like a paused machine. An earlier copy must still be refused, and a current copy must
	// replace the node.
	last.Pause()
	refused(t, clone, "is older than its last state in the cluster")
	clone.Keep(copyFolder(t, last))
	clone.Start()
	last.Continue()
	if code := last.Ended(Generous(30 * time.Second)); code <= 0 ||
		!strings.Contains(last.Log(), "another copy of this data folder is in use") {
		t.Fatalf("the node that was cloned ended with %d:\n%s", code, last.Log())
	}
	refused(t, last, "is older than its last state in the cluster")
	for i := range 5 {
		if err := ingestKeyed(a, "t", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := wantRows(clone, "t", 5); err != nil {
		t.Error(err)
	}
}

// TestOldFolderLetIn readmits an older copy of a data folder. Shards without other replicas must continue, and shards
// with other replicas must be rebuilt from those.
func TestOldFolderLetIn(t *testing.T) {
	t.Parallel()
	for _, replication := range []int{1, 3} {
		c := NewCluster(t, Spec{All: 3, Replication: replication, Shards: 3})
		c.Start()
		a, last := c.Nodes[0], c.Nodes[2]
		tables := []string{"t", "u", "v"} // one of them is on the node
		for _, table := range tables {
			for i := range 5 {
				if err := ingestKeyed(a, table, i); err != nil {
					t.Fatal(err)
				}
			}
		}
		last.Stop()
		old := copyFolder(t, last)
		last.Start()
		last.Stop()
		putBack(t, last, old)
		refused(t, last, "is older than its last state in the cluster", "cordwood recover --group node")
		args := []string{"recover", "--group", "node", "--data-dir", last.Dir}
		if _, err := command(t, args...); err == nil || !strings.Contains(err.Error(), "--accept-data-loss") {
			t.Errorf("the folder was readmitted without --accept-data-loss: %v", err)
		}
		mustCommand(t, append(args, "--accept-data-loss")...)
		last.Start()
		if replication > 1 {
			Eventually(t, 2*time.Minute, func() error {
				kept, err := filepath.Glob(filepath.Join(last.Dir, "shards", "*.diverged-*"))
				if err == nil && len(kept) == 0 {
					err = fmt.Errorf("no replica was rebuilt")
				}
				return err
			})
		}
		for _, table := range tables {
			for i := 5; i < 10; i++ {
				if err := ingestKeyed(last, table, i); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range c.Nodes {
				if err := wantRows(n, table, 10); err != nil {
					t.Errorf("%d replicas: %v", replication, err)
				}
			}
		}
		last.Stop()
		last.Start() // it is readmitted once, and then has the newest mark
		c.Kill()
	}
}
