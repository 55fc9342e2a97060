package shard

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/query/engine"
)

// heldEngine is an engine whose queries a test can hold.
type heldEngine struct {
	*engine.Engine
	mu sync.Mutex // guards hold
	// hold, if not nil, is called before Query. If it returns errContinue, the query continues; otherwise its
	// result is the result of Query.
	hold func(ctx context.Context, sql string) error
}

// errContinue lets a query continue.
var errContinue = errors.New("go on")

func (e *heldEngine) holdQueries(hold func(ctx context.Context, sql string) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hold = hold
}

func (e *heldEngine) Query(ctx context.Context, req *query.Request, emit func([]byte) error) error {
	e.mu.Lock()
	hold := e.hold
	e.mu.Unlock()
	if hold != nil {
		if err := hold(ctx, req.SQL); !errors.Is(err, errContinue) {
			return err
		}
	}
	return e.Engine.Query(ctx, req, emit)
}

// untilItEnds holds the queries of all nodes until their contexts end. A node sends its name to
// began when a query begins, and to ended when it has ended. A plain count(*) is not held: nodes
// count without the engine.
func (c *spreadNodes) untilItEnds() (began, ended chan string) {
	began, ended = make(chan string), make(chan string)
	for name, n := range c.nodes {
		n.engine.holdQueries(func(ctx context.Context, _ string) error {
			began <- name
			<-ctx.Done()
			ended <- name
			return context.Cause(ctx)
		})
	}
	return began, ended
}

// collect returns n names that nodes sent.
func collect(from <-chan string, n int) map[string]bool {
	names := map[string]bool{}
	for len(names) < n {
		names[<-from] = true
	}
	return names
}

// TestCancelEndsAllParts checks that a query ends on every node when its client disconnects.
func TestCancelEndsAllParts(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"SELECT sum(n) FROM logs", "SELECT host, median(n) FROM logs GROUP BY host"} {
		c := newSpreadNodes(t, 80)
		began, ended := c.untilItEnds()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			body, err := c.client.Query(ctx, &shardpb.QueryRequest{Sql: sql, Database: "public", Tables: c.spread})
			if err == nil {
				_ = body.Close()
			}
			failed <- err
		}()
		if names := collect(began, 3); len(names) != 3 {
			t.Errorf("%s: work began on %v", sql, names)
		}
		cancel()
		if names := collect(ended, 3); len(names) != 3 {
			t.Errorf("%s: queries ended on %v", sql, names)
		}
		if err := <-failed; err == nil {
			t.Errorf("%s: a query that was cancelled has an answer", sql)
		}
	}
}

// TestFailedPartEndsTheOthers checks that a fault on one node ends the query on the others, and
// that the query returns this fault.
func TestFailedPartEndsTheOthers(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 80)
	began, ended := c.untilItEnds()
	fail := make(chan struct{})
	c.nodes["b"].engine.holdQueries(func(context.Context, string) error {
		<-fail
		return errs.New(errs.RuntimeResourcesExhausted, "no memory on this node")
	})
	failed := make(chan error)
	go func() {
		_, _, err := c.ask(&shardpb.QueryRequest{Sql: "SELECT sum(n) FROM logs", Database: "public", Tables: c.spread})
		failed <- err
	}()
	collect(began, 2)
	close(fail)
	if names := collect(ended, 2); !names["a"] || !names["c"] {
		t.Errorf("queries ended on %v, want a and c", names)
	}
	if err := <-failed; errs.CodeOf(err) != errs.RuntimeResourcesExhausted {
		t.Errorf("the query ends with %v", err)
	}
}

// TestFirstRowsEndTheSearchOnAllNodes runs a query while one node still searches its newest rows
// and the others have found enough. The node must then be asked only for rows that come before
// theirs.
func TestFirstRowsEndTheSearchOnAllNodes(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 800)
	for _, test := range []struct{ sql, bound string }{
		{"SELECT ts FROM logs ORDER BY ts DESC LIMIT 5 OFFSET 3", ` WHERE "ts" >= '`},
		{"SELECT ts, n FROM logs WHERE n > 0 OR ok ORDER BY ts LIMIT 5", ` AND "ts" <= '`},
	} {
		for _, n := range c.nodes {
			n.engine.holdQueries(nil)
		}
		want, _, err := c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.whole})
		if err != nil {
			t.Fatal(err)
		}
		searches, stopped := make(chan struct{}), make(chan error, 1)
		// The others wait for node c, because they may otherwise end its search before it begins.
		for _, name := range []string{"a", "b"} {
			c.nodes[name].engine.holdQueries(func(ctx context.Context, _ string) error {
				select {
				case <-searches:
					return errContinue
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}
		c.nodes["c"].engine.holdQueries(func(ctx context.Context, sql string) error {
			if strings.Contains(sql, test.bound) {
				return errContinue
			}
			close(searches)
			<-ctx.Done()
			stopped <- context.Cause(ctx)
			return ctx.Err()
		})
		got, _, err := c.ask(&shardpb.QueryRequest{Sql: test.sql, Database: "public", Tables: c.spread})
		if err != nil {
			t.Fatalf("%s: %v", test.sql, err)
		}
		if diff := cmp.Diff(times(want), times(got)); diff != "" {
			t.Errorf("%s (-one shard +several):\n%s", test.sql, diff)
		}
		if err := <-stopped; err == nil {
			t.Errorf("%s: the first search of node c was not stopped", test.sql)
		}
	}
}

// times returns the first column of each row.
func times(rows []string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i], _, _ = strings.Cut(row, "|")
	}
	return out
}

// TestKillEndsAllParts checks that a running query is listed with the same id on every node, and
// that KILL ends it on all.
func TestKillEndsAllParts(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 80)
	began, ended := c.untilItEnds()
	const id, sql = "00ff", "SELECT host, median(n) FROM logs GROUP BY host"
	failed := make(chan error)
	go func() {
		body, err := c.client.Query(t.Context(), &shardpb.QueryRequest{
			Sql: sql, Database: "public", Tables: c.spread, QueryId: id, Share: "user ann",
		})
		if err == nil {
			_ = body.Close()
		}
		failed <- err
	}()
	collect(began, 3)
	list, err := c.client.Queries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]int{}
	for _, q := range list {
		if q.QueryId != id || q.Share != "user ann" || q.StartedUnixNano == 0 {
			t.Errorf("listed: %v", q)
		}
		if q.Part {
			on[q.NodeId]++
		} else if q.Sql != sql || q.Parts != 3 || q.PartsDone != 0 || q.Phase != "asking nodes" {
			t.Errorf("the query itself: %v", q)
		}
	}
	if len(list) != 4 || len(on) != 3 {
		t.Errorf("%d calls are listed, with parts on %v", len(list), on)
	}
	for _, req := range []*shardpb.KillQueryRequest{{QueryId: "00fe"}, {QueryId: id, Share: "user bob"}} {
		if n, err := c.client.KillQuery(t.Context(), req); n != 0 || err != nil {
			t.Errorf("%v ended %d calls, %v", req, n, err)
		}
	}
	killed := make(chan int)
	go func() {
		n, err := c.client.KillQuery(t.Context(), &shardpb.KillQueryRequest{QueryId: id, Share: "user ann", By: "user ann"})
		if err != nil {
			t.Error(err)
		}
		killed <- n
	}()
	if names := collect(ended, 3); len(names) != 3 {
		t.Errorf("queries ended on %v", names)
	}
	if err := <-failed; errs.CodeOf(err) != errs.Cancelled || !strings.Contains(err.Error(), "killed by user ann") {
		t.Errorf("the client got %v", err)
	}
	if n := <-killed; n < 1 || n > 4 {
		t.Errorf("%d calls were ended", n)
	}
	if list, err := c.client.Queries(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("afterwards: %v, %v", list, err)
	}
}

// TestDescribeRunsNothing checks that the columns of an answer are derived from the table
// definitions alone.
func TestDescribeRunsNothing(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 8)
	for _, n := range c.nodes {
		n.engine.holdQueries(func(context.Context, string) error { return errors.New("a query ran") })
	}
	ask := func(sql string) (string, error) {
		resp, err := c.client.Describe(t.Context(), &shardpb.DescribeRequest{
			Sql: sql, Database: "public", Tables: []*shardpb.QueryTable{
				{Name: c.spread[0].Name, Table: c.spread[0].Table}, {Name: c.spread[1].Name, Table: c.spread[1].Table},
			},
		})
		var b strings.Builder
		for _, col := range resp.GetColumns() {
			b.WriteString(col.Name + " " + col.Type + "\n")
		}
		return b.String(), err
	}
	got, err := ask(`SELECT ts, upper(l.host) AS h, sum(l.n), avg(s.n), [1, 2] AS list, count(*) FILTER (WHERE l.ok)
		FROM logs l JOIN state s USING (ts) GROUP BY ALL`)
	const want = `ts TIMESTAMP_NS
h VARCHAR
sum(l.n) HUGEINT
avg(s.n) DOUBLE
list INTEGER[]
count_star() FILTER (WHERE l.ok) BIGINT
`
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := ask("EXPLAIN SELECT 1"); err != nil || got != "explain_key VARCHAR\nexplain_value VARCHAR\n" {
		t.Errorf("EXPLAIN: %s, %v", got, err)
	}
	if _, err := ask("SELECT nothing FROM logs"); errs.CodeOf(err) != errs.ColumnNotFound {
		t.Errorf("a column that does not exist: %v", err)
	}
	if _, err := ask("SELECT * FROM elsewhere"); errs.CodeOf(err) != errs.TableNotFound {
		t.Errorf("a table that does not exist: %v", err)
	}
}
