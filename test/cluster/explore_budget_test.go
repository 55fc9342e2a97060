package cluster

import (
	"fmt"
	"testing"
	"time"
)

// TestExplorePatternsBudget asks for patterns with so short a budget that they are estimated: no estimate exceeds the
// rows of the range, even if most of the rows are in a short part of it. The counts of the range before are estimates
// too, and say so.
func TestExplorePatternsBudget(t *testing.T) {
	t.Parallel()
	n := New(t, "--shard-flush-age", "1s")
	n.Start()
	const rows = 40_000 // of each hour
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, message STRING) WITH (append_mode='true')")
	for hour := range 2 {
		run(t, n, fmt.Sprintf("INSERT INTO app SELECT to_timestamp(%d + CASE WHEN i < %d THEN i * 0.001 ELSE i * 0.09 END), "+
			"CASE WHEN i %% 4 = 0 THEN 'job ' || i || ' ended badly' ELSE 'request ' || i || ' was served' END "+
			"FROM range(%d) r(i)", 1767607200+hour*3600, rows*9/10, rows))
	}
	Eventually(t, Generous(time.Minute), func() error {
		got := fmt.Sprint(n.Rows(t, "SELECT sum(rows) FROM svc_private.segments WHERE table_name = 'app'"))
		if want := fmt.Sprintf("[[%d]]", 2*rows); got != want {
			return fmt.Errorf("files have %s rows, want %s", got, want)
		}
		return nil
	})
	type answer struct {
		Exact       bool
		Sample      *struct{ Rows, Of int64 }
		Rows, Other int64
		BeforeAbout bool `json:"before_about"`
		Patterns    []struct {
			Pattern string
			Count   int64
			Before  *int64
		}
	}
	var a, exactly answer
	scope := map[string]any{"tables": []string{"app"}, "from": "2026-01-05T11:00:00Z", "to": "2026-01-05T12:00:00Z"}
	explore(t, n, "patterns", with(scope, "budget_ms", 1), 200, &a)
	if a.Exact || a.Sample == nil || a.Sample.Rows >= a.Sample.Of || a.Rows > a.Sample.Of || !a.BeforeAbout {
		t.Fatalf("with a budget of 1 ms: %+v", a)
	}
	if a.Sample.Of > 2*rows || len(a.Patterns) != 2 {
		t.Errorf("%d patterns of %d rows", len(a.Patterns), a.Sample.Of)
	}
	for _, p := range a.Patterns {
		if p.Count > a.Rows || p.Before == nil || *p.Before > a.Sample.Of {
			t.Errorf("%s: %d rows of %d, before %v", p.Pattern, p.Count, a.Rows, p.Before)
		}
	}
	explore(t, n, "patterns", with(scope, "exact", true, "budget_ms", 1), 200, &exactly)
	if !exactly.Exact || exactly.BeforeAbout || exactly.Rows != rows || *exactly.Patterns[0].Before != rows*3/4 {
		t.Errorf("exactly: %+v", exactly)
	}
}
