package cluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestExploreCounts compares hits, facets and values with SQL.
func TestExploreCounts(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // choices of a test
	run(t, n, searchTable)
	run(t, n, searchRows(r, 1000))
	day := map[string]any{"tables": []string{"app"}, "from": "2026-01-05T00:00:00Z", "to": "2026-01-06T00:00:00Z"}
	type counts struct {
		Total, Rows int64
		Times       []string
		Exact       bool
		Cut         struct{ First, Last bool }
		Series      []struct {
			Value  any
			Other  bool
			Counts []int64
		}
		Fields []struct {
			Name                    string
			Filled, Distinct, Other int64
			Values                  []struct {
				Value any
				Count int64
			}
			Stats *struct {
				Min, Max any
				Bins     []int64
			}
		}
		Values []struct {
			Value any
			Count int64
		}
	}
	for _, by := range []any{nil, "level", "host", "status", "ok", "took", "at", "extra.user"} {
		var got counts
		explore(t, n, "hits", with(day, "by", by, "query", "-host:b", "step", "1m", "top", 2, "from", "2026-01-05T10:00:30Z",
			"to", "2026-01-05T12:00:00Z"), 200, &got)
		sum := int64(0)
		for _, s := range got.Series {
			if len(s.Counts) != len(got.Times) {
				t.Fatalf("by %v: %d counts in %d buckets", by, len(s.Counts), len(got.Times))
			}
			for _, c := range s.Counts {
				sum += c
			}
		}
		want := n.Rows(t, "SELECT count(*) FROM app WHERE host IS DISTINCT FROM 'b' AND ts >= '2026-01-05 10:00:30'")[0][0]
		if fmt.Sprint(want) != fmt.Sprint(got.Total) || sum != got.Total || !got.Exact || !got.Cut.First || got.Cut.Last {
			t.Errorf("by %v: %d rows, the series have %d, want %v, cut %v", by, got.Total, sum, want, got.Cut)
		}
		first := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM app WHERE host IS DISTINCT FROM 'b' AND "+
			"ts >= '2026-01-05 10:01:00' AND ts < '2026-01-05 10:02:00'")[0][0])
		second := int64(0)
		for _, s := range got.Series {
			second += s.Counts[1]
		}
		if fmt.Sprint(second) != first {
			t.Errorf("by %v: the second bucket has %d rows, want %s", by, second, first)
		}
	}
	for _, query := range []string{"", "status:404", "host:a -level:error"} {
		var got counts
		names := []string{"host", "status", "level", "took", "ok", "at", "extra.user", "n"}
		explore(t, n, "facets", with(day, "fields", names, "query", query, "own", "exclude", "top", 3), 200, &got)
		for _, f := range got.Fields {
			sum := f.Other
			for _, v := range f.Values {
				sum += v.Count
			}
			condition := "TRUE"
			switch {
			case query == "status:404" && f.Name != "status":
				condition = "status = 404"
			case strings.HasPrefix(query, "host") && f.Name == "host":
				condition = "coalesce(lower(level), '') NOT IN ('error', 'err')"
			case strings.HasPrefix(query, "host") && f.Name == "level":
				condition = "host = 'a'"
			case strings.HasPrefix(query, "host"):
				condition = "host = 'a' AND coalesce(lower(level), '') NOT IN ('error', 'err')"
			}
			expr := `"` + f.Name + `"`
			if f.Name == "extra.user" {
				expr = "(extra->>'user')"
			}
			want := n.Rows(t, "SELECT count("+expr+"), count(DISTINCT "+expr+") FROM app WHERE "+condition)[0]
			if fmt.Sprint(want) != fmt.Sprint([]any{f.Filled, f.Distinct}) || sum != f.Filled {
				t.Errorf("%q: %s has %d values, %d different, %d in all, want %v", query, f.Name, f.Filled, f.Distinct, sum, want)
			}
			if (f.Name == "took" || f.Name == "status" || f.Name == "n") != (f.Stats != nil) {
				t.Errorf("%s has statistics: %v", f.Name, f.Stats)
			} else if f.Stats != nil {
				all := int64(0)
				for _, b := range f.Stats.Bins {
					all += b
				}
				if all != f.Filled {
					t.Errorf("%q: the parts of %s have %d rows of %d", query, f.Name, all, f.Filled)
				}
			}
		}
	}
	var got counts
	explore(t, n, "values", with(day, "field", "host", "prefix", "web"), 200, &got)
	if len(got.Values) != 2 {
		t.Errorf("values: %v", got.Values)
	}
}

// TestExploreEstimates checks that the number of values is marked as an estimate if nearly every row has its own, and
// that other numbers are not. The distributions of numbers are exact.
func TestExploreEstimates(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, id STRING, host STRING, n BIGINT, took DOUBLE)")
	run(t, n, "INSERT INTO app SELECT TIMESTAMP '2026-01-05' + to_seconds(i), md5(i::VARCHAR), 'h' || i % 3, "+
		"i * 7919 % 12007, CASE WHEN i % 100 = 7 THEN 'NaN'::DOUBLE ELSE i / 8 + 0.5 END FROM range(12000) t(i)")
	var got struct {
		Fields []struct {
			Name      string
			Filled    int64
			Distinct  int64
			Estimated bool
			Stats     *struct {
				Min, P25, P50, P75, Max float64
				Bins                    []int64
			}
		}
	}
	explore(t, n, "facets", map[string]any{
		"tables": []string{"app"}, "from": "2026-01-05T00:00:00Z", "to": "2026-01-06T00:00:00Z",
		"fields": []string{"id", "host", "n", "took"}, "exact": true,
	}, 200, &got)
	if len(got.Fields) != 4 {
		t.Fatalf("%+v", got)
	}
	for _, f := range got.Fields[2:] {
		finite := " FROM app WHERE isfinite(" + f.Name + "::DOUBLE)"
		want := n.Rows(t, "SELECT min("+f.Name+"), quantile_disc("+f.Name+", 0.25), quantile_disc("+f.Name+", 0.5), "+
			"quantile_disc("+f.Name+", 0.75), max("+f.Name+"), count(*)"+finite)[0]
		rows := int64(0)
		for _, bin := range f.Stats.Bins {
			rows += bin
		}
		s := f.Stats
		got := []any{s.Min, s.P25, s.P50, s.P75, s.Max, rows}
		if fmt.Sprint(want) != fmt.Sprint(got) || !f.Estimated || f.Filled != 12000 {
			t.Errorf("%+v, %v, want %v", f, got, want)
		}
	}
	if id := got.Fields[0]; !id.Estimated || id.Distinct < 8000 || id.Distinct > 12000 {
		t.Errorf("%+v", id)
	}
	if host := got.Fields[1]; host.Estimated || host.Distinct != 3 {
		t.Errorf("%+v", host)
	}
}

// TestExplorePatterns finds each row by the search text of one pattern, and the row of each example
// by its id.
func TestExplorePatterns(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	for _, c := range []struct{ column, field string }{{"my text", "my text"}, {"message", ""}} {
		run(t, n, `CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, level STRING, "`+c.column+`" STRING, n BIGINT)`)
		checkPatterns(t, n, c.field)
		run(t, n, "DROP TABLE app")
	}
}

func checkPatterns(t *testing.T, n *Node, field string) {
	t.Helper()
	var b strings.Builder
	b.WriteString("INSERT INTO app VALUES ")
	for i := range 300 {
		text := []string{
			fmt.Sprintf("user %d said ''hi'' from 10.0.0.%d", i, i%250), fmt.Sprintf(`disk "sd%d" full (%d%%) \ x`, i, i%100),
			"job nightly of alpha done", "job nightly of beta done", "plain",
		}[i%5]
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "('2026-01-05 10:%02d:%02d', '%s', '%s', %d)", i/60, i%60, []string{"info", "error"}[i%2], text, i)
	}
	run(t, n, b.String())
	scope := map[string]any{"tables": []string{"app"}, "from": "2026-01-05T10:00:00Z", "to": "2026-01-05T10:05:00Z"}
	var a struct {
		Field    string
		Other    int64
		Patterns []struct {
			Pattern, Query string
			Count          int64
			Before         *int64
			Levels         map[string]int64
			Spark          []int64
			Example        struct{ ID, Table, Text string }
		}
	}
	explore(t, n, "patterns", with(scope, "field", field), 200, &a)
	if len(a.Patterns) != 4 || a.Other != 0 {
		t.Fatalf("%+v", a)
	}
	for _, p := range a.Patterns {
		var found, one explored
		explore(t, n, "rows", with(scope, "query", p.Query, "limit", 1000), 200, &found)
		levels, spark := int64(0), int64(0)
		for _, c := range p.Levels {
			levels += c
		}
		for _, c := range p.Spark {
			spark += c
		}
		if int64(len(found.Rows)) != p.Count || levels != p.Count || spark != p.Count || p.Before == nil || *p.Before != 0 {
			t.Errorf("%s (%s) finds %d rows of %d, levels %d, over time %d", p.Pattern, p.Query, len(found.Rows), p.Count,
				levels, spark)
		}
		explore(t, n, "row", map[string]any{"table": p.Example.Table, "id": p.Example.ID}, 200, &one)
	}
	explore(t, n, "patterns", with(scope, "field", field, "from", "2026-01-05T10:02:30Z", "limit", 1), 200, &a)
	if len(a.Patterns) != 1 || a.Patterns[0].Count+a.Other != 150 || *a.Patterns[0].Before != 60 {
		t.Errorf("the second half: %+v", a)
	}
	var refused explored
	if field != "" {
		explore(t, n, "patterns", scope, 400, &refused)
	}
	explore(t, n, "patterns", with(scope, "field", "n"), 400, &refused)
}

// TestExplorePatternCounts checks that the search for a pattern finds as many rows as the pattern counts, for texts of
// which some fit several patterns, and some have blanks in their variable parts.
func TestExplorePatternCounts(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, message STRING FULLTEXT INDEX)")
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // choices of a test
	words := []string{"open", "close", "child", "scoreboard", "slot", "error", "state", "in", "of", "init"}
	word := func() string { return words[random.IntN(len(words))] }
	var texts []string
	for i := range 60 {
		texts = append(texts,
			fmt.Sprintf("found child %d in slot %s", i, word()),
			fmt.Sprintf("%s %s %s %s %s", word(), word(), word(), word(), word()),
			fmt.Sprintf("job a b %s %s %s %s", word(), word(), word(), word()),
			fmt.Sprintf("job a b %s %s %s %s done", word(), word(), word(), word()),
			fmt.Sprintf(`user "%s" of %s`, strings.Repeat("ann b ", i%3), word()),
			[]string{"version 1.2 of b", "version 1.2.3 of b", "version 2026-01-05 10:00:00 of b"}[i%3],
			fmt.Sprintf("long %s %d", strings.Repeat("text ", 90+i%30), i),
		)
	}
	var b strings.Builder
	for i, text := range texts {
		fmt.Fprintf(&b, ", ('2026-01-05 10:%02d:%02d', '%s')", i/60, i%60, text)
	}
	run(t, n, "INSERT INTO app VALUES "+b.String()[2:])
	scope := map[string]any{"tables": []string{"app"}, "from": "2026-01-05T10:00:00Z", "to": "2026-01-05T11:00:00Z"}
	var a struct {
		Rows, Other int64
		Patterns    []struct {
			Pattern, Query string
			Count          int64
			About          bool
		}
	}
	explore(t, n, "patterns", with(scope, "limit", 200, "budget_ms", 60_000), 200, &a)
	if a.Rows != int64(len(texts)) || a.Other != 0 || len(a.Patterns) < 7 {
		t.Errorf("%d rows, %d in none of %d patterns", a.Rows, a.Other, len(a.Patterns))
	}
	for _, p := range a.Patterns {
		var hits struct{ Total int64 }
		explore(t, n, "hits", with(scope, "query", p.Query), 200, &hits)
		if p.About || hits.Total != p.Count {
			t.Errorf("%s (%s) finds %d rows of %d (about: %v)", p.Pattern, p.Query, hits.Total, p.Count, p.About)
		}
	}
}

// TestExploreCompare compares errors with the other rows: the field that the errors have in common
// must come first, with all rows.
func TestExploreCompare(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, level STRING, host STRING, zone STRING, "+
		"took DOUBLE, message STRING)")
	var b strings.Builder
	b.WriteString("INSERT INTO app VALUES ")
	for i := range 400 {
		if i > 0 {
			b.WriteString(", ")
		}
		level, host, took := "info", fmt.Sprintf("'h%d'", i%4), float64(i%100)
		if i%8 == 0 {
			level, host, took = "error", "NULL", float64(1000+i)
		}
		fmt.Fprintf(&b, "('2026-01-05 10:%02d:%02d', '%s', %s, 'z%d', %g, 'm %d')", i/60, i%60, level, host, i%2*(i%8), took,
			i)
	}
	run(t, n, b.String())
	type answer struct {
		A, B   struct{ Rows int64 }
		Low    bool
		Fields []struct {
			Name, Kind string
			Score      float64
			Values     []struct {
				Value any
				A, B  int64
			}
		}
		Same, Unique []string
	}
	all := map[string]any{"tables": []string{"app"}}
	var got answer
	explore(t, n, "compare", map[string]any{
		"a": with(all, "query", "level:error"), "b": all, "rest": true, "fields": []string{"level", "host", "took"},
	}, 200, &got)
	if got.A.Rows != 50 || got.B.Rows != 350 || got.Low || len(got.Fields) != 3 {
		t.Fatalf("%+v", got)
	}
	for _, f := range got.Fields {
		a, b := int64(0), int64(0)
		for _, v := range f.Values {
			a, b = a+v.A, b+v.B
			if f.Name == "host" && v.Value == nil && (v.A != 50 || v.B != 0) {
				t.Errorf("without a host are %d and %d rows", v.A, v.B)
			}
		}
		if a != 50 || b != 350 || f.Score < 0.95 || (f.Kind == "numbers") != (f.Name == "took") {
			t.Errorf("%s (%s): score %v, %d and %d rows", f.Name, f.Kind, f.Score, a, b)
		}
	}
	// A set must not differ from itself.
	explore(t, n, "compare", map[string]any{"a": all, "b": all}, 200, &got)
	if len(got.Fields) != 0 || got.A != got.B || got.A.Rows != 400 || len(got.Same) == 0 {
		t.Errorf("a set differs from itself: %+v", got)
	}
	var refused explored
	explore(t, n, "compare", map[string]any{"a": all, "b": all, "fields": []string{"gone"}}, 400, &refused)
}
