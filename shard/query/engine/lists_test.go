package engine

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cordwood/shard/query"
)

// TestLongStatementsAreKept checks that statements with thousands of literals are parsed once, and that the memory for
// them is bounded.
func TestLongStatementsAreKept(t *testing.T) {
	dir := t.TempDir()
	tab, _ := webServerLogs(t, dir, 100)
	e := openEngine(t, dir)
	for name, n := range map[string]int{
		"texts in IN": 3600, "numbers in IN": 3600, "list": 3600, "OR": 900, "AND": 900, "CASE": 900,
	} {
		req := &query.Request{SQL: longLists[name](n), Database: "public", Tables: []query.Table{tab}}
		parts, err := e.Split(t.Context(), req)
		if err != nil || parts.Reason != "" {
			t.Fatalf("%s: %v, %s", name, err, parts.Reason)
		}
		asked, worker := e.cache.get(cacheKey(req.SQL, "public")), e.cache.get(cacheKey(parts.Worker, "public"))
		if asked == nil || worker == nil {
			t.Fatalf("%s: the statement is kept: %t; that for nodes: %t", name, asked != nil, worker != nil)
		}
		part := *req
		part.SQL = parts.Worker
		for range 2 {
			if err := e.Query(t.Context(), &part, func([]byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		again, err := e.Split(t.Context(), req)
		if err != nil || again.Worker != parts.Worker {
			t.Fatalf("%s: %v", name, err)
		}
		// Nothing was parsed again, because that would have replaced the kept statement.
		if e.cache.get(cacheKey(req.SQL, "public")) != asked || e.cache.get(cacheKey(parts.Worker, "public")) != worker {
			t.Errorf("%s: the statement was parsed again", name)
		}
	}
	for i := range 40 {
		sql := fmt.Sprintf("%s AND status > %d", longLists["texts in IN"](900), i)
		if _, err := e.Analyze(t.Context(), sql, "public"); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.cache.kept.Weight(); got > cachedUnits || got < cachedUnits/2 {
		t.Errorf("the cache of %d units has %d", cachedUnits, got)
	}
	long := longLists["texts in IN"](10_000)
	if _, err := e.Analyze(t.Context(), long, "public"); err != nil || e.cache.get(cacheKey(long, "public")) != nil {
		t.Errorf("%v; a statement of %d bytes is kept", err, len(long))
	}
}

// TestManyExpressions checks that the time to split a statement grows with the number of its expressions: with the
// square of it, as before, 8,000 took more than a minute.
func TestManyExpressions(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "n:Int64")
	tab := table("t", columns, fileOf(t, dir, 10, columns, []any{1, 2}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	parts, err := e.Split(ctx, &query.Request{
		SQL: "SELECT " + repeated(8000, "n + %[1]d AS c%[1]d", ", ") + " FROM t WHERE n > 0", Database: "public",
		Tables: []query.Table{tab},
	})
	if err != nil || parts.Reason != "" || ctx.Err() != nil {
		t.Fatal(parts, err, ctx.Err())
	}
}
