package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// spread is a cluster of three nodes with a table in six shards, some on each node.
type spread struct {
	*Cluster
	rows int
}

// spreadTable creates the table spread.
const spreadTable = "CREATE TABLE spread (ts TIMESTAMP(3) TIME INDEX, id BIGINT, host STRING, v BIGINT, m STRING) " +
	"WITH (append_mode='true', partitions='6')"

// newSpread starts a cluster with a table spread of at least rows rows. Its columns are ts, id (from 0), host (seven
// values), v, and m, a text that is almost unique.
func newSpread(t testing.TB, replication, rows int, args ...string) *spread {
	t.Helper()
	return fillSpread(t, NewCluster(t, Spec{All: 3, Replication: replication, Shards: 6, Args: args}), rows)
}

// fillSpread is newSpread for a cluster that was not started yet.
func fillSpread(t testing.TB, c *Cluster, rows int) *spread {
	t.Helper()
	c.Start()
	s := &spread{c, 0}
	c.Nodes[0].Rows(t, spreadTable)
	// Shards are chosen at random.
	for s.add(t, rows); !s.everywhere(t); s.add(t, spreadBody) {
		if s.rows > rows+20*spreadBody {
			t.Fatalf("%d rows do not reach all nodes", s.rows)
		}
	}
	return s
}

// everywhere reports whether each node leads shards with rows.
func (s *spread) everywhere(t testing.TB) bool {
	t.Helper()
	return !slices.ContainsFunc(s.Nodes, func(n *Node) bool { return s.rowsOn(t, n) == 0 })
}

// rowsOn returns the number of rows in the shards that a node leads.
func (s *spread) rowsOn(t testing.TB, n *Node) int64 {
	t.Helper()
	id, err := n.Identity()
	if err != nil {
		t.Fatal(err)
	}
	rows := s.Nodes[0].Rows(t, "SELECT coalesce(sum(rows), 0) FROM svc_private.shards WHERE leader = '"+
		id.NodeID+"'")
	return numberIn(rows[0][0])
}

// spreadBody is the number of rows of one request. It is more than a router sends to one shard before it takes the
// next one.
const spreadBody = 40_000

// add adds rows to the table spread.
func (s *spread) add(t testing.TB, rows int) {
	t.Helper()
	for rows > 0 {
		n := min(rows, spreadBody)
		s.addThrough(t, s.Nodes[s.rows/spreadBody%len(s.Nodes)], n)
		rows -= n
	}
}

// addThrough adds rows by one request to a node.
func (s *spread) addThrough(t testing.TB, through *Node, rows int) {
	t.Helper()
	a, err := through.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table=spread&custom_time_index=ts;epoch;ms",
		bytes.NewReader(spreadRows(s.rows, rows)), "Content-Type", "application/x-ndjson")
	if err != nil || a.Status != 200 {
		t.Fatalf("ingest: %v, %v", a, err)
	}
	s.rows += rows
}

// spreadRows returns rows of the table spread.
func spreadRows(first, n int) []byte {
	r := rand.New(rand.NewPCG(uint64(first), 7)) //nolint:gosec // not negative
	var b strings.Builder
	for i := range n {
		id := first + i
		fmt.Fprintf(&b, `{"ts":%d,"id":%d,"host":"h%d","v":%d,"m":"%016x%016x%016x%016x"}`+"\n",
			spreadTime(id), id, id%7, id%1000, r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())
	}
	return []byte(b.String())
}

// spreadTime is the time of a row, in milliseconds.
func spreadTime(id int) int64 { return 1_700_000_000_000 + int64(id)*10 }

// listed is a query that a node lists as running.
type listed struct{ id, node, role, phase string }

// listed returns the queries that nodes list, through a node, except queries of svc_private.
func (s *spread) listed(t testing.TB, through *Node) (out []listed) {
	t.Helper()
	rows, err := through.Query("SELECT query_id, node_id, role, phase FROM svc_private.queries " +
		"WHERE NOT contains(query, 'svc_private')")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		out = append(out, listed{fmt.Sprint(r[0]), fmt.Sprint(r[1]), fmt.Sprint(r[2]), fmt.Sprint(r[3])})
	}
	return out
}

// awaitParts waits until the given number of nodes run a part of a query, and returns the id of the
// query.
func (s *spread) awaitParts(t testing.TB, through *Node, nodes int) (id string) {
	t.Helper()
	Eventually(t, 20*time.Second, func() error {
		all := s.listed(t, through)
		var on []string
		for _, q := range all {
			if q.role == "part" && q.phase == "running" && !slices.Contains(on, q.node) {
				on = append(on, q.node)
			}
			id = q.id
		}
		if len(on) < nodes {
			return fmt.Errorf("%d nodes run a part, want %d: %v", len(on), nodes, all)
		}
		return nil
	})
	return id
}

// ticks returns the CPU time of the query processes of all nodes, in ticks of 10 ms.
func (s *spread) ticks() (sum int) {
	for _, n := range s.Nodes {
		if n.Running() {
			for _, pid := range n.workers() {
				sum += cpu(pid)
			}
		}
	}
	return sum
}

// awaitWork waits until a query runs on the given number of nodes, and returns its id. 0 means that it runs on the
// node that received it, over rows that this node has fetched.
func (s *spread) awaitWork(t testing.TB, through *Node, nodes int) (id string) {
	t.Helper()
	if nodes == 0 {
		Eventually(t, 20*time.Second, func() error {
			for _, q := range s.listed(t, through) {
				if id = q.id; q.role == "main" && q.phase == "running" {
					return nil
				}
			}
			return errors.New("no query runs over fetched rows")
		})
	} else {
		id = s.awaitParts(t, through, nodes)
	}
	before := s.ticks()
	Eventually(t, 20*time.Second, func() error {
		if now := s.ticks(); now < before+5 {
			return fmt.Errorf("the query processes have used %d ticks", now-before)
		}
		return nil
	})
	return id
}

// awaitIdle waits until no node lists a query, and no query process uses CPU.
func (s *spread) awaitIdle(t *testing.T) {
	t.Helper()
	last, since := -1, time.Now()
	Eventually(t, 20*time.Second, func() error {
		for _, n := range s.Nodes {
			if !n.Running() {
				continue
			}
			if all := s.listed(t, n); len(all) > 0 {
				return fmt.Errorf("node %s lists %v", n.Name, all)
			}
			if v := n.metric(t, "cordwood_query_running"); v != 0 {
				return fmt.Errorf("node %s: %v queries run", n.Name, v)
			}
		}
		// A listing sometimes takes a tick.
		if now := s.ticks(); now > last+3 {
			last, since = now, time.Now()
		}
		if time.Since(since) < 200*time.Millisecond {
			return errors.New("the query processes used CPU a moment ago")
		}
		return nil
	})
}
