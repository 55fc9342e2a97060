package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// ingest writes the rows from to to-1 into a table, one a request.
func ingest(n *Node, table string, from, to int) error {
	for i := from; i < to; i++ {
		if err := n.Ingest(table, []byte(fmt.Sprintf(`{"i":%d}`, i))); err != nil {
			return err
		}
	}
	return nil
}

// ingestKeyed writes row i into a table. It repeats the request while the answer is 503, because on a loaded machine
// an election may take longer than a router retries.
func ingestKeyed(n *Node, table string, i int) error {
	for deadline := time.Now().Add(Generous(30 * time.Second)); ; {
		a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table,
			strings.NewReader(fmt.Sprintf(`{"i":%d}`, i)),
			"Content-Type", "application/x-ndjson", "Idempotency-Key", fmt.Sprint(table, i))
		switch {
		case err != nil:
			return err
		case a.Status == 200:
			return nil
		case a.Status != 503 || time.Now().After(deadline):
			return fmt.Errorf("row %d of %s: %d %s", i, table, a.Status, a.Body)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// wantRows checks that a table has the rows 0 to count-1, each once, read through n.
func wantRows(n *Node, table string, count int) error {
	rows, err := n.Query("SELECT count(*), count(DISTINCT i), min(i), max(i) FROM " + table)
	if err != nil {
		return err
	}
	if got, want := fmt.Sprint(rows), fmt.Sprintf("[[%d %d 0 %d]]", count, count, count-1); got != want {
		return fmt.Errorf("node %s: table %s has %s, want %s", n.Name, table, got, want)
	}
	return nil
}

// TestThreeNodes restarts all nodes of a cluster, changes all their addresses at once, and sends it
// requests of nodes from other clusters.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	id := c.ClusterID()
	rows := 0
	check := func(what string) {
		t.Helper()
		if c.ClusterID() != id {
			t.Fatalf("%s: the cluster has another id", what)
		}
		for _, n := range c.Nodes {
			if err := ingest(n, "t", rows, rows+5); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			rows += 5
		}
		for _, n := range c.Nodes {
			if err := wantRows(n, "t", rows); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
	check("new")

	c.Stop()
	c.Start()
	check("after a restart")

	c.Kill()
	c.Start()
	check("after kill -9 of all")

	c.Stop()
	for _, n := range c.Nodes {
		n.Move()
	}
	c.Seed()
	c.Start()
	check("with other addresses")

	// One node gets another address, and the others are not notified.
	c.Nodes[0].Stop()
	c.Nodes[0].Move()
	c.Nodes[0].Start()
	check("with another address of one")

	t.Run("another cluster's node", func(t *testing.T) {
		foreign := New(t, "--rpc-insecure") // without a secret, like this cluster
		foreign.Start()
		foreign.Stop()
		foreign.set("--seeds", c.Nodes[0].RPC)
		if err := foreign.TryStart(30 * time.Second); err == nil || !strings.Contains(err.Error(), id) ||
			!strings.Contains(err.Error(), "correct --seeds") {
			t.Errorf("a node of another cluster: %v, want an error with this cluster and advice", err)
		}
	})
	t.Run("a copy of a node", func(t *testing.T) {
		twin := c.Nodes[1]
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(twin.Dir)); err != nil {
			t.Skipf("the folder changed while it was copied: %v", err)
		}
		n := NewAt(t, dir, "--seeds", c.seeds())
		if err := n.TryStart(30 * time.Second); err == nil || !strings.Contains(err.Error(), "a copy") {
			t.Errorf("a copy of a node: %v, want an error about the copy", err)
		}
	})
	t.Run("without its metadata", func(t *testing.T) {
		n := c.Nodes[2]
		n.Stop()
		if err := os.RemoveAll(n.Dir + "/meta"); err != nil {
			t.Fatal(err)
		}
		if err := n.TryStart(30 * time.Second); err == nil || !strings.Contains(err.Error(), "member of the metadata group") {
			t.Errorf("a member whose metadata was deleted: %v", err)
		}
	})
	for _, n := range c.Nodes[:2] {
		if err := wantRows(n, "t", rows); err != nil {
			t.Error(err)
		}
	}
}

// TestNodeKilled kills one of three nodes while rows are written through the others. All rows must be accepted, and
// no row may be lost or stored twice, also after the node's return.
func TestNodeKilled(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3})
	c.Start()
	const writers = 2
	var wg sync.WaitGroup
	stop := make(chan struct{})
	counts, gaps, faults := make([]int, writers), make([]time.Duration, writers), make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			last := time.Now()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if faults[w] = ingestKeyed(c.Nodes[w], fmt.Sprintf("w%d", w), counts[w]); faults[w] != nil {
					return
				}
				counts[w]++
				gaps[w] = max(gaps[w], time.Since(last))
				last = time.Now()
			}
		})
	}
	Eventually(t, 20*time.Second, func() error { return c.Nodes[0].reached("w0", 20) })
	c.Nodes[2].Kill()
	<-time.After(4 * time.Second) // longer than the longest election
	close(stop)
	wg.Wait()
	for w := range writers {
		if faults[w] != nil {
			t.Fatalf("writer %d after %d rows: %v", w, counts[w], faults[w])
		}
		t.Logf("writer %d: %d rows, longest gap %s", w, counts[w], gaps[w])
		if gaps[w] > Generous(10*time.Second) {
			t.Errorf("writer %d waited %s for one row", w, gaps[w])
		}
	}
	c.Nodes[2].Start()
	for w := range writers {
		for _, n := range c.Nodes {
			if err := wantRows(n, fmt.Sprintf("w%d", w), counts[w]); err != nil {
				t.Error(err)
			}
		}
	}
	c.Stop()
	for _, n := range c.Nodes {
		checkFolder(t, n)
	}
}

// reached returns nil when a table has at least the given number of rows.
func (n *Node) reached(table string, count int) error {
	rows, err := n.Query("SELECT count(*) >= " + fmt.Sprint(count) + " FROM " + table)
	if err == nil && fmt.Sprint(rows) != "[[true]]" {
		err = fmt.Errorf("table %s has fewer than %d rows", table, count)
	}
	return err
}

// TestRoles runs each role in separate processes, with TLS between them: only routers serve users,
// and they store nothing.
func TestRoles(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t, t.TempDir(), "nodes")
	c := NewCluster(t, Spec{
		Meta: 1, Shard: 1, Router: 2, Args: []string{"--rpc-tls-cert", cert, "--rpc-tls-key", key, "--rpc-tls-ca", cert},
	})
	c.Start()
	if err := ingest(c.Routers[0], "t", 0, 10); err != nil {
		t.Fatal(err)
	}
	if err := wantRows(c.Routers[1], "t", 10); err != nil {
		t.Error(err)
	}
	for _, n := range []*Node{c.Metas[0], c.Shards[0]} {
		if err := n.Ingest("t", []byte(`{"i":1}`)); err == nil || !strings.Contains(err.Error(), "does not have the "+
			"role router") {
			t.Errorf("a node without the role router: %v", err)
		}
		for _, path := range []string{"/health", "/ready", "/metrics"} {
			if a, err := n.Do("GET", path, nil); err != nil || a.Status != 200 {
				t.Errorf("%s of a node without the role router: %v %v", path, a, err)
			}
		}
	}
	for _, name := range []string{"meta", "shards"} {
		if _, err := os.Stat(c.Routers[0].Dir + "/" + name); err == nil {
			t.Errorf("a router has a folder %s", name)
		}
	}
	plain := c.Add("router")
	plain.set("--rpc-tls-cert", "")
	plain.set("--rpc-tls-key", "")
	plain.set("--rpc-tls-ca", "")
	plain.Launch()
	awaitReason(t, plain, "no answer from")
	plain.Kill()

	c.Routers[0].Kill()
	if err := os.RemoveAll(c.Routers[0].Dir); err != nil { // a router may lose all its files
		t.Fatal(err)
	}
	c.Routers[0].Start()
	if err := wantRows(c.Routers[0], "t", 10); err != nil {
		t.Error(err)
	}
	c.Stop()
	for _, n := range c.Nodes {
		checkFolder(t, n)
	}
}

// TestRouterAlone checks that a router which no other node answers reports that to load balancers,
// and is ready again when a node answers. The node with the rows must stay ready, whatever it
// reaches.
func TestRouterAlone(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 1, Router: 1})
	c.Start()
	home, router := c.Nodes[0], c.Nodes[1]
	const alone = "no other node answers this one"
	home.Pause()
	awaitReason(t, router, alone)
	home.Continue()
	if err := router.AwaitReady(Generous(10 * time.Second)); err != nil {
		t.Error(err)
	}
	router.Kill()
	Eventually(t, 30*time.Second, func() error {
		if !strings.Contains(home.Log(), alone) {
			return errors.New("the node does not say that nobody answers it")
		}
		return nil
	})
	if a, err := home.Do("GET", "/ready", nil); err != nil || a.Status != 200 {
		t.Errorf("the node with the rows: %v %v", a, err)
	}
}
