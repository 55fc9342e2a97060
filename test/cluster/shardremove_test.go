package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// clusterCalls requests operations from one node of a cluster.
type clusterCalls struct {
	t    *testing.T
	node *Node
}

// shownOperation is an operation in the API's answers.
type shownOperation struct {
	ID                  uint64
	State, Step, Reason string
}

// start begins an operation. It repeats the request while no node leads the metadata.
func (c clusterCalls) start(request string) (id uint64) {
	c.t.Helper()
	Eventually(c.t, 30*time.Second, func() error {
		a, err := c.node.Do("POST", "/v1/cluster/operations", strings.NewReader(request), "Content-Type", "application/json")
		if err != nil {
			return err
		}
		var answer struct{ Operation shownOperation }
		if a.Status != http.StatusOK {
			return fmt.Errorf("%s: %d %s", request, a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, &answer); err != nil {
			return err
		}
		id = answer.Operation.ID
		return nil
	})
	return id
}

func (c clusterCalls) show(id uint64) (op shownOperation, err error) {
	a, err := c.node.Do("GET", fmt.Sprint("/v1/cluster/operations/", id), nil)
	if err != nil {
		return op, err
	}
	if a.Status != http.StatusOK {
		return op, fmt.Errorf("operation %d: %d %s", id, a.Status, a.Body)
	}
	answer := struct{ Operation *shownOperation }{&op}
	return op, json.Unmarshal(a.Body, &answer)
}

// await waits until reached returns true for an operation.
func (c clusterCalls) await(id uint64, what string, reached func(shownOperation) bool) {
	c.t.Helper()
	Eventually(c.t, 40*time.Second, func() error {
		op, err := c.show(id)
		if err != nil {
			return err
		}
		if !reached(op) {
			if op.State != "running" {
				c.t.Fatalf("operation %d ended before it was %s: %+v", id, what, op)
			}
			return fmt.Errorf("operation %d is not %s: %+v", id, what, op)
		}
		return nil
	})
}

func (c clusterCalls) done(id uint64) {
	c.t.Helper()
	c.await(id, "done", func(op shownOperation) bool { return op.State == "done" })
}

// shards returns the states of the shards by id, and the name of the node that leads the metadata.
func (c clusterCalls) shards() (states map[int]string, leader string) {
	c.t.Helper()
	states = map[int]string{}
	Eventually(c.t, 30*time.Second, func() error {
		var status struct {
			MetaLeader string `json:"meta_leader"`
			Shards     []struct {
				ID    int
				State string
			}
		}
		a, err := c.node.Do("GET", "/v1/cluster", nil)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(a.Body, &status); err != nil {
			return err
		}
		clear(states)
		for _, s := range status.Shards {
			states[s.ID] = s.State
		}
		if leader = status.MetaLeader; leader == "" {
			return fmt.Errorf("no node leads the metadata: %s", a.Body)
		}
		return nil
	})
	return states, leader
}

// rowWriter writes rows 0, 1, … to a table until it is stopped, and reads them.
type rowWriter struct {
	node  *Node
	table string
	acked atomic.Int64 // rows 0 to acked-1 are stored
}

// write sends row i until it is acknowledged. Its key makes repetitions safe.
func (w *rowWriter) write(i int64, stop <-chan struct{}) error {
	for {
		a, err := w.node.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+w.table,
			strings.NewReader(fmt.Sprintf(`{"n":%d}`, i)),
			"Content-Type", "application/json", "Idempotency-Key", fmt.Sprint(w.table, i))
		switch {
		case err == nil && a.Status == http.StatusOK:
			return nil
		case err == nil && a.Status != http.StatusServiceUnavailable && a.Status != http.StatusTooManyRequests:
			return fmt.Errorf("row %d of %s: %d %s", i, w.table, a.Status, a.Body)
		}
		select {
		case <-stop:
			return io.EOF
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (w *rowWriter) run(t *testing.T, stop <-chan struct{}) {
	for i := w.acked.Load(); ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		if err := w.write(i, stop); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			return
		}
		w.acked.Store(i + 1)
	}
}

// check reads the rows. No row that was acknowledged before may be missing, and none may be stored twice. A query may
// be refused while leaders are elected.
func (w *rowWriter) check() (asked bool, err error) {
	acked := w.acked.Load()
	rows, err := w.node.Query("SELECT count(*), count(DISTINCT n), count(*) FILTER (n < " + fmt.Sprint(acked) +
		") FROM " + w.table)
	if err != nil {
		return false, nil //nolint:nilerr // refused, not wrong
	}
	if fmt.Sprint(rows[0][0]) != fmt.Sprint(rows[0][1]) || fmt.Sprint(rows[0][2]) != fmt.Sprint(acked) {
		return true, fmt.Errorf("%s: %v rows, %v of them different, %v of %d acknowledged", w.table, rows[0][0], rows[0][1],
			rows[0][2], acked)
	}
	return true, nil
}

// TestShardsRetired retires two shards while tables are written with keys and read, and kills the coordinating node.
// The shard that has recorded no keys must be retired. The removal of the other one is cancelled while it waits until
// its keys are forgotten, so that shard must stay.
func TestShardsRetired(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Replication: 3, Shards: 3})
	c.Start()
	calls := clusterCalls{t, c.Nodes[0]}
	_, leader := calls.shards()
	for _, n := range c.Nodes { // requests go to a node that is not killed
		if n.Name != leader {
			calls.node = n
		}
	}
	user := calls.node
	calls.done(calls.start(`{"kind":"shard-add","count":2}`))
	const goes, stays = 4, 5
	// These tables have rows on the retiring shard, and take no keys until they have left it.
	moved := map[string]string{"plain": "[4]", "spread": "[4,1]", "merged": "[4]", "former": "[4]"}
	if _, err := user.Query("CREATE TABLE merged (n BIGINT, ts TIMESTAMP TIME INDEX, PRIMARY KEY (n)) WITH " +
		"(append_mode='false')"); err != nil {
		t.Fatal(err)
	}
	const before = 500
	var lines, values strings.Builder
	for i := range before {
		fmt.Fprintf(&lines, "{\"n\":%d}\n", i)
		fmt.Fprintf(&values, ", (%d, %d)", i, i)
	}
	var moves []uint64
	for table, shards := range moved {
		if table != "merged" { // the first row creates a table
			if err := user.Ingest(table, []byte(`{"n":0}`)); err != nil {
				t.Fatal(err)
			}
		}
		moves = append(moves, calls.start(fmt.Sprintf(`{"kind":"table-move","table":"public.%s","to_shards":%s}`,
			table, shards)))
	}
	for _, id := range moves {
		calls.done(id)
	}
	for table := range moved {
		if table != "merged" {
			if err := user.Ingest(table, []byte(lines.String())); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for range 2 { // the second round replaces the rows of the first
			if _, err := user.Query("INSERT INTO merged VALUES " + values.String()[2:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	calls.done(calls.start(`{"kind":"table-move","table":"public.former","to_shards":[2]}`)) // its rows stay on shard 4
	keyed := []*rowWriter{{node: user, table: "busy"}, {node: user, table: "calm"}}
	for i, w := range keyed {
		if err := w.write(0, nil); err != nil {
			t.Fatal(err)
		}
		w.acked.Store(1)
		calls.done(calls.start(fmt.Sprintf(`{"kind":"table-move","table":"public.%s","to_shards":[%d],"with_rows":true}`,
			w.table, []int{stays, 2}[i])))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var queries atomic.Int64
	for _, w := range keyed {
		wg.Go(func() { w.run(t, stop) })
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if asked, err := w.check(); err != nil {
					t.Error(err)
				} else if asked {
					queries.Add(1)
				}
			}
		})
	}
	wg.Go(func() { // also for tables that are moved, whose rows must not change
		want := map[string]int{"plain": before + 1, "spread": before + 1, "former": before + 1, "merged": before}
		for {
			for table, rows := range want {
				select {
				case <-stop:
					return
				default:
				}
				got, err := user.Query("SELECT count(*), count(DISTINCT n) FROM " + table)
				if err == nil && fmt.Sprint(got) != fmt.Sprintf("[[%d %d]]", rows, before) {
					t.Errorf("%s has rows %v, want %d of %d", table, got, rows, before)
				}
			}
		}
	})

	leaving := calls.start(`{"kind":"shard-remove","shard":4}`)
	waiting := calls.start(`{"kind":"shard-remove","shard":5}`)
	calls.await(leaving, "moving tables", func(op shownOperation) bool { return op.Step == "parts" || op.Step == "quiet" })
	for _, n := range c.Nodes {
		if n.Name == leader {
			n.Kill()
			n.Start()
		}
	}
	if states, _ := calls.shards(); states[goes] == "ok" {
		t.Errorf("a shard that is being removed has the state ok: %v", states)
	}
	calls.await(waiting, "waiting for keys", func(op shownOperation) bool {
		return strings.Contains(op.Reason, "remembers the Idempotency-Keys")
	})
	calls.done(leaving)

	// The shard must be gone on every node, and its number must not be used again.
	for _, n := range c.Nodes {
		if _, err := os.Stat(filepath.Join(n.Dir, "shards", "4")); err == nil {
			t.Errorf("node %s still has the folder of the shard", n.Name)
		}
		a, err := n.Do("GET", "/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(a.Body); strings.Contains(text, `shard="4"`) || strings.Contains(text, `group="shard-4"`) ||
			!strings.Contains(text, `shard="5"`) {
			t.Errorf("node %s still has metrics of the shard, or lost those of another one", n.Name)
		}
		if rows := n.Rows(t, "SELECT shard_id FROM svc_private.shards WHERE shard_id = 4"); len(rows) > 0 {
			t.Errorf("node %s still lists the shard", n.Name)
		}
	}
	if a, err := user.Do("POST", "/v1/cluster/operations", strings.NewReader(`{"kind":"shard-remove","shard":4}`)); err !=
		nil || a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "it was removed") {
		t.Errorf("remove it again: %v %v", a, err)
	}
	calls.done(calls.start(`{"kind":"shard-add","count":1,"replicas":1}`))
	if states, _ := calls.shards(); states[6] == "" || states[goes] != "" || states[stays] != "retiring" {
		t.Errorf("after a shard was added: %v", states)
	}

	// Repetitions of earlier requests must not be stored again.
	busy := keyed[0]
	for i := range min(busy.acked.Load(), 20) {
		if err := busy.write(i, nil); err != nil {
			t.Error(err)
		}
	}
	// A cancelled removal keeps the other shard, which then takes tables again.
	if a, err := user.Do("DELETE", fmt.Sprint("/v1/cluster/operations/", waiting), nil); err != nil ||
		a.Status != http.StatusOK {
		t.Fatalf("cancel: %v %v", a, err)
	}
	calls.await(waiting, "cancelled", func(op shownOperation) bool { return op.State == "cancelled" })
	if states, _ := calls.shards(); states[stays] != "ok" {
		t.Errorf("after the cancel: %v", states)
	}
	calls.done(calls.start(`{"kind":"table-move","table":"public.busy","to_shards":[5],"with_rows":true}`))
	close(stop)
	wg.Wait()
	for _, w := range keyed {
		if asked, err := w.check(); err != nil || !asked {
			t.Errorf("in the end: %v, answered: %t", err, asked)
		}
	}
	for table := range moved {
		if rows := user.Rows(t, "SELECT count(DISTINCT n), min(n), max(n) FROM "+
			table); fmt.Sprint(rows) != fmt.Sprintf("[[%d 0 %d]]", before, before-1) {
			t.Errorf("%s has %v", table, rows)
		}
	}
	t.Logf("%d and %d rows written, %d answers checked", keyed[0].acked.Load(), keyed[1].acked.Load(), queries.Load())
}

// TestLastShardStays checks that the only shard cannot be retired.
func TestLastShardStays(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "1")
	n.Start()
	a, err := n.Do("POST", "/v1/cluster/operations", strings.NewReader(`{"kind":"shard-remove","shard":1}`))
	if err != nil || a.Status != http.StatusBadRequest ||
		!strings.Contains(string(a.Body), "there is no other shard that stays") {
		t.Errorf("%v %v", a, err)
	}
	if err := n.Ingest("t", []byte(`{"n":1}`)); err != nil {
		t.Error(err)
	}
}
