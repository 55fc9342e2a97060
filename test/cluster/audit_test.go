package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// audited returns how many records the table has for each object of an action that succeeded.
func audited(n *Node, action string) (map[string]int, error) {
	rows, err := n.Query("SELECT coalesce(object, database), count(*) FROM svc_private.audit WHERE outcome = 'ok' AND " +
		"action = '" + action + "' GROUP BY 1")
	out := map[string]int{}
	for _, r := range rows {
		if out[fmt.Sprint(r[0])], err = strconv.Atoi(fmt.Sprint(r[1])); err != nil {
			return nil, err
		}
	}
	return out, err
}

// TestAuditAfterKill creates tables and kills the server with SIGKILL meanwhile, several times. Each table that exists
// has one record, and each record of a created table has its table.
func TestAuditAfterKill(t *testing.T) {
	t.Parallel()
	n := New(t)
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	var next atomic.Int64
	for range rounds {
		n.Start()
		stop, done := make(chan struct{}), make(chan struct{})
		begun := next.Load()
		go func() {
			defer close(done)
			for {
				select {
				case <-stop:
					return
				default:
				}
				// The server may be killed before or after it makes the change.
				_, _ = n.Query(fmt.Sprintf("CREATE TABLE made%d (ts TIMESTAMP TIME INDEX)", next.Add(1)))
			}
		}()
		Eventually(t, Generous(20*time.Second), func() error {
			if made := next.Load() - begun; made < 5+rand.Int64N(20) {
				return fmt.Errorf("%d tables were made", made)
			}
			return nil
		})
		n.Kill()
		close(stop)
		<-done
	}
	n.Start()
	defer n.Stop()
	Eventually(t, Generous(30*time.Second), func() error {
		rows, err := n.Query("SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'made%'")
		if err != nil {
			return err
		}
		got, err := audited(n, "create table")
		if err != nil {
			return err
		}
		for _, r := range rows {
			if name := fmt.Sprint(r[0]); got[name] != 1 {
				return fmt.Errorf("table %s exists, and has %d records", name, got[name])
			}
		}
		if len(got) != len(rows) {
			return fmt.Errorf("%d tables exist, and %d have records", len(rows), len(got))
		}
		return nil
	})
	if rows := n.Rows(t, "SELECT 1 FROM information_schema.tables WHERE table_name LIKE 'made%'"); len(rows) < 5*rounds {
		t.Errorf("only %d tables were made", len(rows))
	}
}

// TestAuditIsNeverInTheWay stops the shard with the table of the audit records. Rows of other tables are stored, about
// as fast as before; changes are made; and their records are in the table when its shard works again.
func TestAuditIsNeverInTheWay(t *testing.T) {
	c := NewCluster(t, Spec{All: 1, Shard: 1, Replication: 1, Shards: 2, Expect: 1})
	c.Start()
	defer c.Stop()
	n, other := c.Nodes[0], c.Nodes[1]
	ingest := func(table string, requests int) (time.Duration, error) {
		begin := time.Now()
		for range requests {
			a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table, strings.NewReader(`[{"n":1}]`),
				"Content-Type", "application/json")
			if err == nil && a.Status != http.StatusOK {
				err = fmt.Errorf("%d %s", a.Status, a.Body)
			}
			if err != nil {
				return 0, err
			}
		}
		return time.Since(begin), nil
	}
	// A new table goes to the shard with fewer tables, so the table of the audit is on the other shard than the first one.
	// The tables are made until the audit is on the node that can be stopped.
	if _, err := ingest("first", 1); err != nil {
		t.Fatal(err)
	}
	n.Rows(t, "CREATE TABLE second (ts TIMESTAMP TIME INDEX)")
	Eventually(t, Generous(20*time.Second), func() error {
		got, err := audited(n, "create table")
		if err == nil && got["second"] != 1 {
			err = fmt.Errorf("records: %v", got)
		}
		return err
	})
	app := ""
	for i := range 4 {
		name := fmt.Sprintf("app%d", i)
		if _, err := ingest(name, 1); err != nil {
			t.Fatal(err)
		}
	}
	other.Kill()
	if _, err := n.Query("SELECT count(*) FROM svc_private.audit"); err == nil {
		t.Skip("the table of the audit is on the node that serves users")
	}
	for i := range 4 {
		name := fmt.Sprintf("app%d", i)
		if _, err := n.Query("SELECT count(*) FROM " + name); err == nil {
			app = name
			break
		}
	}
	if app == "" {
		t.Fatal("no table is on the node that runs")
	}
	stopped, err := ingest(app, 200)
	if err != nil {
		t.Fatalf("while the table of the audit has no shard: %v", err)
	}
	for i := range 3 {
		n.Rows(t, fmt.Sprintf("CREATE DATABASE while_stopped%d", i))
	}
	if _, err := n.Query("DROP TABLE nothing"); err == nil {
		t.Fatal("a table that does not exist was dropped")
	}
	other.Start()
	Eventually(t, Generous(60*time.Second), func() error {
		got, err := audited(n, "create database")
		if err == nil && len(got) != 3 {
			err = fmt.Errorf("records: %v", got)
		}
		return err
	})
	Eventually(t, Generous(60*time.Second), func() error {
		rows, err := n.Query("SELECT count(*) FROM svc_private.audit WHERE object = 'nothing' AND outcome = 'failed'")
		if err == nil && fmt.Sprint(rows[0][0]) != "1" {
			err = fmt.Errorf("%v records of the change that failed", rows[0][0])
		}
		return err
	})
	before, err := ingest(app, 200)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("200 requests took %s without the shard of the audit, and %s with it", stopped, before)
	if stopped > 3*before+time.Second {
		t.Errorf("200 requests took %s without the shard of the audit, and %s with it", stopped, before)
	}
}
