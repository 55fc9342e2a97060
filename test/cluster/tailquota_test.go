package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestQuotaOfTails: quota.tails holds over two routers for /v1/tail and for Loki's websocket, counts a tail until it
// ends, and does not limit tails of another database.
func TestQuotaOfTails(t *testing.T) {
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
	for _, sql := range []string{
		"CREATE DATABASE a", "CREATE TABLE a.t (ts TIMESTAMP TIME INDEX, app STRING, PRIMARY KEY (app))",
		"CREATE TABLE t (ts TIMESTAMP TIME INDEX)", "ALTER DATABASE a SET 'quota.tails' = '2'",
	} {
		c.Nodes[0].Rows(t, sql)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	loki := func(n *Node) (*websocket.Conn, int) {
		at := "ws" + strings.TrimPrefix(n.HTTP, "http") + "/v1/loki/api/v1/tail?db=a&query=" +
			url.QueryEscape(`{table="t"}`)
		conn, resp, err := websocket.Dial(ctx, at, nil) //nolint:bodyclose // a websocket has no body
		if err != nil && resp == nil {
			t.Fatal(err)
		}
		return conn, resp.StatusCode
	}
	var over struct {
		Code  int
		Quota struct {
			Name         string
			Limit, Value int
		}
	}
	refused := func(n *Node) {
		t.Helper()
		answer, err := n.Do(http.MethodGet, "/v1/tail?table=t&db=a", nil, "x-svc-timeout", "20s")
		if err != nil || answer.Status != http.StatusTooManyRequests {
			t.Fatalf("the third tail: %v, %+v", err, answer)
		}
		if err := json.Unmarshal(answer.Body, &over); err != nil || over.Code != 6001 || over.Quota.Name != "quota.tails" ||
			over.Quota.Limit != 2 || over.Quota.Value != 2 {
			t.Errorf("%s", answer.Body)
		}
		if _, status := loki(n); status != http.StatusTooManyRequests {
			t.Errorf("the third tail, with Loki's API: %d", status)
		}
	}
	first, second := c.Nodes[0], c.Nodes[1]
	first.follow(t, "table=t&db=a")
	conn, status := loki(second)
	if status != http.StatusSwitchingProtocols {
		t.Fatalf("the tail of Loki: %d", status)
	}
	defer func() { _ = conn.CloseNow() }()
	refused(first)
	refused(second)
	first.follow(t, "table=t")
	value := first.Rows(t, "SELECT value FROM svc_private.quotas WHERE quota = 'quota.tails'")
	if fmt.Sprint(value) != "[[2]]" {
		t.Errorf("svc_private.quotas has %v", value)
	}
	_ = conn.CloseNow()
	Eventually(t, 20*time.Second, func() error {
		again, _ := loki(first)
		if again != nil {
			t.Cleanup(func() { _ = again.CloseNow() })
			return nil
		}
		return errors.New("the tail that ended still counts")
	})
	refused(second)
}
