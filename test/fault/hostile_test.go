package fault_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/test/cluster"
)

// This file sends rows of very different sizes to servers with little memory, which must write them
// to segments, and again after a kill.

// hostileMemory is the memory of a server. A row group sized by the average of its first rows would need a hundred
// times as much.
const hostileMemory = 1 << 30

// confine limits the memory of a running server.
func confine(t *testing.T, n *cluster.Node) {
	t.Helper()
	limit := unix.Rlimit{Cur: hostileMemory, Max: hostileMemory}
	if err := unix.Prlimit(n.Pid(), unix.RLIMIT_DATA, &limit, nil); err != nil {
		t.Fatal(err)
	}
}

// hostileBodies returns valid NDJSON bodies, and their number of rows.
func hostileBodies() (bodies [][]byte, rows int) {
	lines := func(n int, line func(i int) string) []byte {
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, "{\"m\":%q}\n", line(i))
		}
		rows += n
		return b.Bytes()
	}
	short := func(i int) string { return fmt.Sprintf("GET /index/%d 200", i) }
	bodies = append(bodies,
		lines(1, func(int) string { return strings.Repeat("x", 1_500_000) }),
		lines(60_000, short),
		lines(1, func(int) string { return strings.Repeat("y", 15_000_000) }),
		lines(1000, short),
		// These texts are small in memory only in a dictionary.
		lines(200, func(int) string { return strings.Repeat("a", 40_000) }),
		lines(200, func(i int) string { return strings.Repeat(fmt.Sprintf("%08d", i), 5000) }),
	)
	return bodies, rows
}

// awaitFlushed waits until all rows of a server are in segments.
func awaitFlushed(t *testing.T, n *cluster.Node) {
	t.Helper()
	wait(t, time.Minute, "the rows are in segments", func() bool {
		if !n.Running() {
			t.Fatal("the server has ended")
		}
		a, err := n.Do("GET", "/metrics", nil)
		if err != nil || a.Status != 200 {
			return false
		}
		some, all := false, true
		for line := range strings.Lines(string(a.Body)) {
			if strings.HasPrefix(line, "cordwood_shard_memtable_bytes{") {
				some, all = true, all && strings.HasSuffix(line, " 0\n")
			}
		}
		return some && all
	})
}

// checkCount compares the rows of a table, and their bytes, with the acknowledged ones.
func checkCount(t *testing.T, n *cluster.Node, table string, rows int) {
	t.Helper()
	out, err := n.Query("SELECT count(*), count(m) FROM " + table)
	if err != nil {
		t.Fatalf("a query of %s fails: %v", table, err)
	}
	if want := fmt.Sprint(rows); string(out[0][0].(json.Number)) != want || string(out[0][1].(json.Number)) != want {
		t.Errorf("%s has %v rows, want %d", table, out, rows)
	}
}

// TestHostileRows flushes, compacts and flushes such rows again on one server.
func TestHostileRows(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes hundreds of megabytes")
	}
	n := cluster.New(t, "--shards", "1", "--shard-flush-age", "1s")
	n.Start()
	confine(t, n)
	bodies, rows := hostileBodies()
	for _, body := range bodies {
		if err := n.Ingest("hostile", body); err != nil {
			t.Fatal(err)
		}
	}
	honest := []byte("{\"m\":\"hello\"}\n")
	if err := n.Ingest("honest", honest); err != nil {
		t.Fatal(err)
	}
	awaitFlushed(t, n)
	checkCount(t, n, "hostile", rows)
	checkCount(t, n, "honest", 1)

	// The next process applies and flushes the rows that are only in the log.
	for _, body := range bodies {
		if err := n.Ingest("hostile", body); err != nil {
			t.Fatal(err)
		}
	}
	n.Kill()
	n.Start()
	confine(t, n)
	awaitFlushed(t, n)
	checkCount(t, n, "hostile", 2*rows)
	checkCount(t, n, "honest", 1)
	n.Stop()
	n.Start()
	checkCount(t, n, "hostile", 2*rows)
	if a, err := n.Do("GET", "/ready", nil); err != nil || a.Status != 200 ||
		strings.Contains(string(a.Body), "warnings") {
		t.Errorf("ready: %v, %v", a, err)
	}
	n.Stop()
}

// TestHostileRowsReplicated flushes such rows on all replicas, one of which was killed before.
func TestHostileRowsReplicated(t *testing.T) {
	c := cluster.NewCluster(t, cluster.Spec{All: 3, Shards: 1, Args: []string{"--shard-flush-age", "1s"}})
	c.Start()
	bodies, _ := hostileBodies()
	for _, n := range c.Nodes {
		confine(t, n)
	}
	for _, body := range bodies[:2] {
		if err := c.Nodes[0].Ingest("hostile", body); err != nil {
			t.Fatal(err)
		}
	}
	rows := 60_001
	c.Nodes[2].Kill()
	if err := c.Nodes[2].TryStart(time.Minute); err != nil {
		t.Fatal(err)
	}
	confine(t, c.Nodes[2])
	for _, n := range c.Nodes {
		awaitFlushed(t, n)
	}
	for _, n := range c.Nodes {
		checkCount(t, n, "hostile", rows)
	}
	c.Stop()
}
