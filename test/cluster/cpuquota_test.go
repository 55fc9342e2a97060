package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestQuotaOfCPUTime: the CPU time that the queries of a database use by one router counts on the other one. Then both
// refuse its queries, and answer those of another database.
func TestQuotaOfCPUTime(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 1, Router: 1, Replication: 1, Shards: 1, Expect: 1})
	for _, n := range c.Nodes {
		n.Launch()
	}
	for _, n := range c.Nodes {
		if err := n.AwaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	first, second := c.Nodes[0], c.Nodes[1]
	for _, sql := range []string{
		"CREATE DATABASE a", "CREATE DATABASE b", "CREATE TABLE a.t (ts TIMESTAMP TIME INDEX)",
		"CREATE TABLE b.t (ts TIMESTAMP TIME INDEX)", "ALTER DATABASE a SET 'quota.query_cpu' = '1'",
	} {
		first.Rows(t, sql)
	}
	const work = "SELECT (SELECT count(*) FROM %s.t), sum(sqrt(i)) FROM generate_series(1, 20000000) AS g(i)"
	ask := func(n *Node, database string) (*Answer, error) {
		return n.ask("/v1/sql", "application/x-www-form-urlencoded", "sql="+url.QueryEscape(fmt.Sprintf(work, database)))
	}
	var over struct {
		Code  int
		Quota struct {
			Name         string
			Limit, Value int
		}
	}
	refused := func(n *Node) error {
		a, err := ask(n, "a")
		switch {
		case err != nil:
			return err
		case a.Status == http.StatusOK:
			return errors.New("the query is answered")
		case a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "":
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, &over); err != nil || over.Code != 6001 || over.Quota.Name != "quota.query_cpu" ||
			over.Quota.Limit != 1 || over.Quota.Value < 1 || !strings.Contains(string(a.Body), "queries of database a used") {
			t.Errorf("%s", a.Body)
		}
		return nil
	}
	Eventually(t, time.Minute, func() error { return refused(first) })
	// The second router has run no query. It hears of the time within a second.
	Eventually(t, 20*time.Second, func() error {
		const small = "SELECT count(*) FROM a.t"
		a, err := second.ask("/v1/sql", "application/x-www-form-urlencoded", "sql="+url.QueryEscape(small))
		if err == nil && a.Status != http.StatusTooManyRequests {
			err = fmt.Errorf("by the other router: %d %s", a.Status, a.Body)
		}
		return err
	})
	for i, n := range c.Nodes {
		if a, err := ask(n, "b"); err != nil || a.Status != http.StatusOK {
			t.Errorf("database b, router %d: %v, %+v", i, err, a)
		}
	}
}
