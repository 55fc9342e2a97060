package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOperationsUnderLoad moves shards and tables, drains a node and removes a dead one, while requests with keys are
// sent. In the middle it kills the leader of the metadata. Each operation must end as done, and every acknowledged
// row must be stored once.
func TestOperationsUnderLoad(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Shard: 1, Replication: 3, Shards: 2})
	c.Start()
	user := c.Nodes[0]
	var mu sync.Mutex
	acked, stop := 0, make(chan struct{})
	var wg sync.WaitGroup
	write := func(i int) bool {
		for {
			a, err := user.Do("POST", "/v1/ingest?table=app&pipeline_name=svc_identity",
				strings.NewReader(fmt.Sprintf(`{"n":%d}`, i)),
				"Content-Type", "application/json", "Idempotency-Key", fmt.Sprint("row ", i))
			if err == nil && a.Status == 200 {
				return true
			}
			// A key makes a repetition safe. Only temporary refusals are repeated.
			if err == nil && a.Status != 503 && a.Status != 429 {
				t.Errorf("row %d: %v", i, a)
				return false
			}
			select {
			case <-stop:
				return false
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	for w := range 2 {
		wg.Go(func() {
			for i := w; ; i += 2 {
				select {
				case <-stop:
					return
				default:
				}
				if write(i) {
					mu.Lock()
					acked++
					mu.Unlock()
				}
			}
		})
	}

	name := func(n *Node) string {
		id, err := n.Identity()
		if err != nil {
			t.Fatal(err)
		}
		return id.NodeID
	}
	extra := c.Shards[len(c.Shards)-1]
	start := func(request string) uint64 {
		t.Helper()
		var id uint64
		Eventually(t, 30*time.Second, func() error {
			a, err := user.Do("POST", "/v1/cluster/operations", strings.NewReader(request), "Content-Type", "application/json")
			if err != nil {
				return err
			}
			var answer struct{ Operation struct{ ID uint64 } }
			if a.Status != 200 {
				return fmt.Errorf("%s: %v", request, a)
			}
			if err := json.Unmarshal(a.Body, &answer); err != nil {
				return err
			}
			id = answer.Operation.ID
			return nil
		})
		return id
	}
	end := func(id uint64) {
		t.Helper()
		Eventually(t, 90*time.Second, func() error {
			a, err := user.Do("GET", fmt.Sprint("/v1/cluster/operations/", id), &bytes.Buffer{})
			if err != nil {
				return err
			}
			var answer struct {
				Operation struct{ State, Step, Reason string }
			}
			if err := json.Unmarshal(a.Body, &answer); err != nil {
				return err
			}
			if answer.Operation.State == "running" || a.Status != 200 {
				return fmt.Errorf("operation %d: %s", id, a.Body)
			}
			if answer.Operation.State != "done" {
				t.Fatalf("operation %d is %s: %s", id, answer.Operation.State, answer.Operation.Reason)
			}
			return nil
		})
	}
	number := func(v any) uint32 {
		n, err := strconv.ParseUint(fmt.Sprint(v), 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(n)
	}
	home := func() (leader, spare uint32) {
		for _, row := range user.Rows(t, "SELECT shard_id FROM information_schema.tables WHERE table_name = 'app'") {
			leader = number(row[0])
		}
		for _, row := range user.Rows(t, "SELECT shard_id FROM svc_private.shards ORDER BY 1") {
			if id := number(row[0]); id != leader {
				spare = id
			}
		}
		return leader, spare
	}
	Eventually(t, 30*time.Second, func() error {
		if a, err := user.Do("GET", "/v1/sql?sql=SELECT%20count(*)%20FROM%20app", &bytes.Buffer{}); err != nil {
			return err
		} else if a.Status != 200 {
			return fmt.Errorf("%v", a)
		}
		return nil
	})
	shard, spare := home()
	has := false
	for _, row := range user.Rows(t, fmt.Sprintf("SELECT replicas FROM svc_private.shards WHERE shard_id = %d", shard)) {
		has = strings.Contains(row[0].(string), name(extra))
	}
	if !has {
		id := start(fmt.Sprintf(`{"kind":"shard-move","shard":%d,"from":%q,"to":%q}`, shard, name(c.Nodes[1]), name(extra)))
		// Kill and restart a node that may lead the metadata.
		c.Nodes[2].Kill()
		c.Nodes[2].Start()
		end(id)
	}
	end(start(fmt.Sprintf(`{"kind":"table-move","table":"public.app","to_shards":[%d]}`, spare)))
	// The table moves back with all its rows, while a node that may send or receive them is killed.
	id := start(fmt.Sprintf(`{"kind":"table-move","table":"public.app","to_shards":[%d],"with_rows":true}`, shard))
	c.Nodes[1].Kill()
	c.Nodes[1].Start()
	end(id)
	if where := user.Rows(t, "SELECT count(*), count(DISTINCT n) FROM app"); fmt.Sprint(where[0][0]) != fmt.Sprint(
		where[0][1]) {
		t.Errorf("after a move with the rows, %v of %v rows exist", where[0][0], where[0][1])
	}
	end(start(`{"kind":"shard-add","count":1,"replicas":1}`))
	close(stop)
	wg.Wait()
	rows := user.Rows(t, "SELECT count(*), count(DISTINCT n) FROM app")
	if total, distinct := int(number(rows[0][0])), int(number(rows[0][1])); total != distinct || distinct < acked {
		t.Errorf("%d rows, %d of them different, %d acknowledged", total, distinct, acked)
	}
	t.Logf("%d requests acknowledged", acked)
}
