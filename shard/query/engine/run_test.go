package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// TestPushdown checks that filters on the time index reach the statistics of Parquet files, for
// every unit of time.
func TestPushdown(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for _, unit := range []string{"Second", "Millisecond", "Microsecond", "Nanosecond"} {
		columns := cols("ts:Timestamp"+unit, "n:Int64", "s:String")
		var rows [][]any
		for i := range 100 {
			rows = append(rows, []any{i, i, fmt.Sprint(i)})
		}
		tab := table("t", columns, fileOf(t, dir, 10, columns, rows...), batch(t, columns, []any{1000, 1, "x"}))
		for _, where := range []string{"ts >= '1970-01-01'", "ts < now() - INTERVAL 1 HOUR", "n = 5", "s = 'x'"} {
			got := mustQuery(t, e, "EXPLAIN SELECT max(n) FROM t WHERE "+where, tab)
			// A condition in a FILTER operator above the scan was not pushed down.
			plan := got[len(got)-1]
			scan := plan[:strings.Index(plan, "CORDWOOD_SCAN")]
			parquet := strings.Index(plan, "READ_PARQUET")
			if parquet < 0 || !strings.Contains(plan[parquet:], "Filters:") {
				t.Errorf("%s, %s: no filter in the scan of the segment:\n%s\n%s", unit, where, got[0], scan)
			}
		}
		if got := mustQuery(t, e, "SELECT count(*) FROM t WHERE ts >= '1970-01-01' AND n >= 95", tab); got[0] != "5" {
			t.Errorf("%s: got %v", unit, got)
		}
	}
}

func TestExplain(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tab := logs(t, dir, "logs")
	segments := "public.logs: 1 of 1 segments; 3 of 3 rows in memory; "
	for sql, want := range map[string]string{
		"EXPLAIN SELECT sum(code) FROM logs":                        "UNION",
		"EXPLAIN ANALYZE SELECT sum(code) FROM public.logs":         "Total Time",
		"/* a */ explain -- b\n analyze select code from logs":      "Total Time",
		"EXPLAIN (FORMAT json) SELECT count(*) FROM logs":           `"name"`,
		"EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM logs;": `"latency"`,
		"EXPLAIN (SELECT code FROM logs)":                           "UNION",
		"EXPLAIN WITH a AS (FROM logs) FROM a":                      "UNION",
	} {
		a, err := e.Analyze(t.Context(), sql, "public")
		if err != nil || !a.Explain || len(a.Tables) != 1 {
			t.Errorf("%s: %+v %v", sql, a, err)
		}
		got := mustQuery(t, e, sql, tab)
		if len(got) == 0 || !strings.Contains(got[len(got)-1], want) {
			t.Errorf("%s: no %q in\n%s", sql, want, got)
		}
		if text := !strings.Contains(sql, "json"); len(got) != 1+map[bool]int{true: 1}[text] ||
			text && !strings.HasPrefix(got[0], "segments|"+segments) {
			t.Errorf("%s: %d rows, the first %s", sql, len(got), got[0])
		}
	}
}

func TestAnalyze(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for sql, want := range map[string]string{
		"SELECT 1": "[]",

		"SELECT * FROM b, a, B, b, other.a, main.b": "[d.b d.a d.B other.a main.b]",
		"WITH b AS (FROM c) SELECT * FROM b, a":     "[d.c d.a]",
		`SELECT * FROM "d"."a", a`:                  "[d.a]",
		"SELECT * FROM cordwood.x.a":                "[x.a]",

		"SELECT (SELECT 1 FROM a WHERE EXISTS (FROM b)) ORDER BY (SELECT max(x) FROM c)": "[d.a d.b d.c]",
	} {
		for range 2 { // the second run uses the cache
			a, err := e.Analyze(t.Context(), sql, "d")
			if err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
			if got := fmt.Sprint(a.Tables); got != want {
				t.Errorf("%s: got %s, want %s", sql, got, want)
			}
		}
	}
}

// TestLarge checks that statements at the limits of size and depth do not exhaust the stack.
func TestLarge(t *testing.T) {
	e := openEngine(t, t.TempDir())
	tab := table("t", cols("ts:TimestampSecond", "a:Int64", "b:Boolean"),
		batch(t, cols("ts:TimestampSecond", "a:Int64", "b:Boolean"), []any{0, 1, true}))
	n := sql.MaxExpressionDepth - 30
	for name, sql := range map[string]string{
		"sum":       "SELECT a" + strings.Repeat(" + a", n) + " FROM t",
		"calls":     "SELECT " + strings.Repeat("abs(", n) + "a" + strings.Repeat(")", n) + " FROM t",
		"not":       "SELECT " + strings.Repeat("NOT ", n) + "b FROM t",
		"case":      "SELECT " + strings.Repeat("CASE WHEN b THEN ", n/2) + "1" + strings.Repeat(" END", n/2) + " FROM t",
		"lists":     "SELECT " + strings.Repeat("[", 100) + "a" + strings.Repeat("]", 100) + " FROM t",
		"casts":     "SELECT a" + strings.Repeat("::VARCHAR::INT", n/2) + " FROM t",
		"and":       "SELECT count(*) FROM t WHERE b" + strings.Repeat(" AND b", 5000),
		"in":        "SELECT count(*) FROM t WHERE a IN (1" + strings.Repeat(", 2", 20000) + ")",
		"union all": "SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 1000),
		"subqueries": strings.Repeat("SELECT * FROM (", sql.MaxQueryDepth-5) + "SELECT a FROM t" +
			strings.Repeat(")", sql.MaxQueryDepth-5),
		"scalar": strings.Repeat("SELECT (", sql.MaxSubqueryDepth) + "SELECT a FROM t" +
			strings.Repeat(")", sql.MaxSubqueryDepth),
		"exists": "SELECT 1 WHERE " + strings.Repeat("EXISTS (SELECT 1 FROM t WHERE ", sql.MaxSubqueryDepth) + "true" +
			strings.Repeat(")", sql.MaxSubqueryDepth),
		"lambdas": "SELECT " + strings.Repeat("list_transform([1], x -> ", sql.MaxLambdaDepth) + "1" +
			strings.Repeat(")", sql.MaxLambdaDepth),
		"cube": "SELECT count(*) FROM t GROUP BY CUBE (ts, a, b, a + 1, a + 2, a + 3)",
		"cte tree": "WITH a AS (FROM t), b AS (FROM a x, a y), c AS (FROM b x, b y), d AS (FROM c x, c y), e AS (FROM d x, " +
			"d y) SELECT count(*) FROM e x, e y",
		"ctes": "WITH c0 AS (FROM t)" + func() string {
			s := ""
			for i := range 40 {
				s += fmt.Sprintf(", c%d AS (FROM c%d)", i+1, i)
			}
			return s
		}() + " SELECT a FROM c40",
		"joins": "SELECT count(*) FROM t" + func() string {
			s := ""
			for i := range sql.MaxTables - 1 {
				s += fmt.Sprintf(" JOIN t t%d ON t%d.a = t.a", i, i)
			}
			return s
		}(),
		"columns": "SELECT a" + strings.Repeat(", a", 5000) + " FROM t",
		"text":    "SELECT '" + strings.Repeat("x", 200_000) + "'",
		"comment": "SELECT 1 " + strings.Repeat("/*", 50_000) + strings.Repeat("*/", 50_000),
	} {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := request(ctx, e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
		cancel()
		if code := errs.CodeOf(err); err != nil && code != errs.Unsupported && code != errs.InvalidSyntax {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %v, %v", name, time.Since(start).Round(time.Millisecond), err)
	}
}

// endless is a statement that runs until it is stopped.
const endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE (a.range * 7 + b.range * 13) % " +
	"1000003 = 5"

func TestCancel(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "n:Int64")
	var rows [][]any
	for i := range 20_000 {
		rows = append(rows, []any{i, i})
	}
	tab := table("t", columns, batch(t, columns, rows...))
	for name, sql := range map[string]string{
		"aggregate": endless,
		"join":      "SELECT count(*) FROM t a, t b, t c WHERE a.n + b.n + c.n = 7",
		"rows":      "SELECT a.n FROM t a, t b, t c",
		"sort":      "SELECT a.n FROM t a, t b ORDER BY hash(a.n, b.n)",
		"text":      "SELECT uuid() FROM range(1000000000000)",
		"recursion": "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
		"explain":   "EXPLAIN ANALYZE " + endless,
		"exact":     endless + " LIMIT 5",
	} {
		for _, c := range []struct {
			cause string
			code  errs.Code
		}{{"deadline", errs.QueryTimeout}, {"cancel", errs.Cancelled}} {
			ctx, cancel := context.WithCancel(t.Context())
			after := 50 * time.Millisecond
			if c.cause == "deadline" {
				ctx, cancel = context.WithTimeout(t.Context(), after)
			} else {
				time.AfterFunc(after, cancel)
			}
			start := time.Now()
			err := e.Query(ctx, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}},
				func([]byte) error { return nil })
			took := time.Since(start)
			cancel()
			if errs.CodeOf(err) != c.code {
				t.Errorf("%s, %s: %v", name, c.cause, err)
			}
			if took > 2*time.Second { // a generous limit, because the machine is shared; it usually takes 60 ms
				t.Errorf("%s, %s: ended after %v", name, c.cause, took)
			}
			t.Logf("%s, %s: ended after %v", name, c.cause, took.Round(time.Millisecond))
		}
	}
	if got := mustQuery(t, e, "SELECT count(*) FROM t", tab); got[0] != "20000" {
		t.Errorf("after all: %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := request(ctx, e, &query.Request{SQL: "SELECT 1"}); errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("cancelled before: %v", err)
	}
}

func TestWaitForSlot(t *testing.T) {
	e, err := Open(Config{Threads: 1, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	in, err := e.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := request(ctx, e, &query.Request{SQL: "SELECT 1"}); errs.CodeOf(err) != errs.QueryTimeout {
		t.Errorf("no slot: %v", err)
	}
	e.release(in, false)
	if got := mustQuery(t, e, "SELECT 1"); got[0] != "1" {
		t.Errorf("a slot again: %v", got)
	}
}

func TestMemoryLimit(t *testing.T) {
	e, err := Open(Config{Threads: 2, MemoryLimit: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = ask(e, "SELECT count(*) FROM (SELECT hash(range), count(*) FROM range(100000000) GROUP BY 1)")
	if errs.CodeOf(err) != errs.RuntimeResourcesExhausted {
		t.Errorf("got %v", err)
	}
	if got := mustQuery(t, e, "SELECT 1"); got[0] != "1" {
		t.Errorf("afterwards: %v", got)
	}
}

// TestStream checks that large answers come in pieces, and that an error of the receiver stops the
// query.
func TestStream(t *testing.T) {
	e := openEngine(t, t.TempDir())
	var stream bytes.Buffer
	pieces := 0
	req := &query.Request{SQL: "SELECT range AS n, 'some text ' || range AS s FROM range(1000000)"}
	err := e.Query(t.Context(), req, func(b []byte) error {
		pieces++
		stream.Write(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	if r.Err() != nil || rows != 1_000_000 || pieces < 10 {
		t.Errorf("%d rows in %d pieces: %v", rows, pieces, r.Err())
	}
	stop := errors.New("the client is gone")
	pieces = 0
	err = e.Query(t.Context(), req, func([]byte) error { pieces++; return stop })
	if !errors.Is(err, stop) || pieces != 1 {
		t.Errorf("stopped after %d pieces: %v", pieces, err)
	}
	// A failure at the last row of a small answer occurs before the first piece is sent.
	called := false
	err = e.Query(t.Context(), &query.Request{
		SQL: "SELECT CASE WHEN range = 9999 THEN error('late') ELSE 1 END FROM range(10000)",
	},
		func([]byte) error { called = true; return nil })
	if errs.CodeOf(err) != errs.InvalidArguments || called {
		t.Errorf("late failure: %v, emitted: %t", err, called)
	}
}

func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			columns := cols("ts:TimestampNanosecond", "g:Int64", "s:String")
			tab := table("t", columns)
			for k := range 5 {
				var rows [][]any
				for i := range 1000 {
					rows = append(rows, []any{i, g, fmt.Sprintf("goroutine %d, row %d", g, i%(100*(k+1)))})
				}
				tab.Batches = append(tab.Batches, batch(t, columns, rows...))
			}
			for i := range 15 {
				switch i % 5 {
				case 3:
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Millisecond)
					if _, err := request(ctx, e, &query.Request{SQL: endless}); errs.CodeOf(err) != errs.QueryTimeout {
						t.Errorf("endless: %v", err)
					}
					cancel()
				case 4:
					if _, err := ask(e, "SELECT nope FROM t", tab); errs.CodeOf(err) != errs.ColumnNotFound {
						t.Errorf("nope: %v", err)
					}
				default:
					a, err := ask(e, "SELECT count(*), sum(g), count(DISTINCT s), min(s) FROM t", tab)
					if want := fmt.Sprintf("5000|%d|500|goroutine %d, row 0", 5000*g, g); err != nil || a.rows[0] != want {
						t.Errorf("got %v %v, want %s", a, err, want)
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestNothingLeft checks that nothing of a query stays in the database, however it ended.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	tab := logs(t, dir, "logs")
	for i := range 50 {
		sql := []string{
			"SELECT * FROM logs", "SELECT nope FROM logs", "SELECT host::INT FROM logs",
			"EXPLAIN ANALYZE SELECT * FROM logs",
		}[i%4]
		_, _ = ask(e, sql, tab)
	}
	s := openSession(t, e)
	text, err := s.QueryText(`SELECT (SELECT count(*) FROM duckdb_views() WHERE NOT internal) || ' views, ' ||
		(SELECT count(*) FROM duckdb_schemas() WHERE NOT internal) || ' schemas' || ?::VARCHAR`, "")
	if err != nil || text != "0 views, 0 schemas" {
		t.Errorf("left behind: %s %v", text, err)
	}
}

// TestReplaceBroken checks that a database that broke down is replaced, and that queries which run
// on it end there.
func TestReplaceBroken(t *testing.T) {
	e := openEngine(t, t.TempDir())
	first, err := e.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.release(second, true)
	if got := mustQuery(t, e, "SELECT 1"); got[0] != "1" {
		t.Errorf("on a new database: %v", got)
	}
	s, err := first.Connect()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Exec("SELECT 1"); err != nil {
		t.Errorf("on the old database: %v", err)
	}
	s.Close()
	e.release(first, false)
	if !first.closed {
		t.Error("the old database is still open")
	}
}

func TestClose(t *testing.T) {
	e, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan error)
	started := make(chan struct{})
	go func() {
		running <- e.Query(ctx, &query.Request{SQL: "SELECT uuid() FROM range(1000000000)"}, func([]byte) error {
			select {
			case started <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	<-started
	time.AfterFunc(10*time.Millisecond, cancel)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-running; errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("the query: %v", err)
	}
	if _, err := ask(e, "SELECT 1"); errs.CodeOf(err) != errs.IllegalState {
		t.Errorf("after Close: %v", err)
	}
	if _, err := Open(Config{Threads: -1, MemoryLimit: 5, TempLimit: -1}); err == nil ||
		strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("a bad configuration: %v", err)
	}
}
