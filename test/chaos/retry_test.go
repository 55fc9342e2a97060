package chaos

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// lossyProxy starts a proxy in front of two routers. It drops answers, and passes some requests to both routers at
// the same time.
func lossyProxy(t *testing.T, seed uint64, first, second *cluster.Node) *cluster.Node {
	var count atomic.Uint64
	client := &http.Client{Timeout: 20 * time.Second}
	forward := func(n *cluster.Node, r *http.Request, body []byte) (*http.Response, error) {
		req, err := http.NewRequest(r.Method, n.HTTP+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = r.Header.Clone()
		return client.Do(req)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		choice := rand.New(rand.NewPCG(seed, count.Add(1))).IntN(10) //nolint:gosec // choices of a test
		if choice < 3 {
			go func() {
				if resp, err := forward(second, r, body); err == nil {
					resp.Body.Close()
				}
			}()
		}
		resp, err := forward(first, r, body)
		if err != nil || choice%3 == 0 {
			panic(http.ErrAbortHandler) // the client sees a connection that ends
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body) // the client may have disconnected
	}))
	t.Cleanup(s.Close)
	return &cluster.Node{Name: "a proxy before " + first.Name, HTTP: s.URL}
}

// TestKeyedRetries loses answers between routers and clients, delivers requests twice at the same
// time, and kills routers during requests. Every row with a key must be stored once.
func TestKeyedRetries(t *testing.T) {
	together(t)
	r := dice(t)
	c := cluster.NewCluster(t, cluster.Spec{Meta: 1, Shard: 1, Router: 3})
	c.Start()
	var fronts []*cluster.Node
	for i := range c.Routers {
		fronts = append(fronts, lossyProxy(t, r.Uint64(), c.Routers[i], c.Routers[(i+1)%3]))
	}
	l := Start(Options{Routers: fronts, Keyed: 6, Pause: time.Millisecond})
	l.Warm(t)
	for range rounds(4, 60) {
		n := c.Routers[r.IntN(3)]
		l.Fault("kill %s", n.Name)
		n.Kill()
		pause(r, 50*time.Millisecond, 300*time.Millisecond)
		n.Launch()
		c.AwaitReady(time.Minute)
		l.AwaitAcked(t, 500)
	}
	l.Stop()
	l.Check(t, c.Routers...)
	l.Report(t, 0, 0)
}

// TestShardDown stops one of three shards, each with one replica. Tables on other shards must stay available.
// Requests for several tables must be answered with the tables that were stored.
func TestShardDown(t *testing.T) {
	together(t)
	c := cluster.NewCluster(t, cluster.Spec{Meta: 1, Shard: 3, Router: 2, Replication: 1, Shards: 3})
	c.Start()
	const rows = 6 // one for each table
	l := Start(Options{Routers: c.Routers, Keyed: 2, Tables: rows, Rows: rows * 4, Spread: true})
	l.Warm(t)
	place := map[string]uint32{}
	for name, table := range byName(t, c) {
		place[name] = table.Placement[len(table.Placement)-1].ShardId
	}
	lost := place[TableName(0)]
	down := shardLeader(t, c, lost)
	good := 0
	for i := range rows {
		if place[TableName(i)] != lost {
			good++
		}
	}
	if good == 0 || good == rows {
		t.Fatalf("all tables are on one shard: %v", place)
	}
	l.Fault("kill %s", down.Name)
	down.Kill()
	var wg sync.WaitGroup
	for i := range rows {
		wg.Go(func() {
			err := c.Routers[i%2].Ingest(TableName(i)+"_more", []byte(`{"a":1}`)) // new tables, on any shard
			if err != nil && !strings.Contains(err.Error(), "503") {
				t.Errorf("a new table: %v, want 200 or 503", err)
			}
		})
		name := TableName(i)
		if place[name] == lost {
			continue
		}
		a, err := post(c.Routers[i%2], name, `{"hand":1}`, "")
		if err != nil || a.Status != http.StatusOK {
			t.Errorf("table %s, on a running shard: %v %v", name, a, err)
		}
	}
	var body strings.Builder
	for i := range rows {
		fmt.Fprintf(&body, `{"b":%d,"svc_table_suffix":"_%d"}`+"\n", i, i)
	}
	for _, key := range []string{"", "one"} {
		wg.Go(func() {
			a, err := post(c.Routers[0], "load", body.String(), key)
			want := fmt.Sprintf("%d/%d", good, rows)
			if err != nil || a.Status != http.StatusServiceUnavailable || a.Header.Get("X-Ingest-Partial") != want ||
				a.Header.Get("Retry-After") == "" {
				t.Errorf("a request for all tables, key %q: %v %v, want 503, X-Ingest-Partial: %s and Retry-After", key,
					a, err, want)
			}
		})
	}
	wg.Wait()
	a, err := c.Routers[0].Do(http.MethodGet, "/v1/sql?sql=SELECT+count(*)+FROM+"+TableName(0), nil)
	if err != nil || a.Status == http.StatusOK {
		t.Errorf("a query of a table on the stopped shard: %v %v, want an error", a, err)
	}
	down.Launch()
	c.AwaitReady(time.Minute)
	cluster.Eventually(t, 30*time.Second, func() error {
		a, err := post(c.Routers[1], "load", body.String(), "one")
		if err == nil && a.Status != http.StatusOK {
			err = fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return err
	})
	l.Stop()
	for i := range rows {
		// The row without a key, if its shard was running, and the row with a key, once.
		want := 1
		if place[TableName(i)] != lost {
			want = 2
		}
		if got := fmt.Sprint(c.Routers[0].Rows(t, "SELECT count(b) FROM "+TableName(i))[0][0]); got != fmt.Sprint(want) {
			t.Errorf("table %s, on shard %d, has %s rows of the requests for all tables, want %d", TableName(i),
				place[TableName(i)], got, want)
		}
	}
	l.Check(t, c.Routers...)
	l.Report(t, 0, 0)
}

// post sends rows to one or more tables.
func post(n *cluster.Node, table, body, key string) (*cluster.Answer, error) {
	header := []string{"Content-Type", "application/x-ndjson"}
	if key != "" {
		header = append(header, "Idempotency-Key", key)
	}
	return n.Do(http.MethodPost, "/v1/ingest?pipeline_name=svc_identity&table="+table, strings.NewReader(body), header...)
}
