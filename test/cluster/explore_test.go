package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// explored is the parts of answers of /v1/explore that tests look at.
type explored struct {
	Code  int
	Error string
	Range struct{ From, To *string }
	Rows  []exploredRow
	Next  *string
}

type exploredRow struct {
	ID, Time, Table string
	V               map[string]any
	Cut             map[string]int
}

func (r *exploredRow) key() string { return r.Table + " " + r.ID }

// explore asks an endpoint of /v1/explore, and decodes what it answers with the wanted status.
func explore(t *testing.T, n *Node, what string, req map[string]any, status int, to any) {
	t.Helper()
	body, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Do("POST", "/v1/explore/"+what, bytes.NewReader(body), "Content-Type", "application/json")
	if err != nil || a.Status != status {
		t.Fatalf("%s %s: %v, %v, want %d", what, body, a, err, status)
	}
	if err := json.Unmarshal(a.Body, to); err != nil {
		t.Fatalf("%s %s: %v: %s", what, body, err, a.Body)
	}
}

// with returns a request with more members.
func with(req map[string]any, more ...any) map[string]any {
	out := map[string]any{}
	for name, value := range req {
		out[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// insertRows stores rows of which many share a time, and some are equal in all.
func insertRows(t *testing.T, n *Node, table string, r *rand.Rand, rows int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " (ts, level, n) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		second := r.IntN(60)
		if r.IntN(3) == 0 {
			second = 7 // a third of the rows
		}
		fmt.Fprintf(&b, "('2026-01-05 10:00:%02d', '%s', %d)", second, []string{"info", "error"}[r.IntN(2)], r.IntN(50))
	}
	run(t, n, b.String())
}

// pages reads all rows page by page. between is called between pages.
func pages(t *testing.T, n *Node, req map[string]any, between func()) []exploredRow {
	t.Helper()
	var all []exploredRow
	for page := 0; ; page++ {
		var a explored
		explore(t, n, "rows", req, 200, &a)
		all = append(all, a.Rows...)
		if a.Next == nil {
			return all
		}
		if page > 1000 || len(a.Rows) == 0 {
			t.Fatalf("page %d has %d rows, and there are more", page, len(a.Rows))
		}
		req = with(req, "cursor", *a.Next)
		delete(req, "at")
		between()
	}
}

// TestExploreRows reads tables page by page, in both orders, while rows are added: every row that existed comes once,
// those of many with the same time too, in one order.
func TestExploreRows(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a test's choices
	for _, table := range []string{"app_a", "app_b"} {
		run(t, n, "CREATE TABLE "+table+" (ts TIMESTAMP(0) TIME INDEX, level STRING, n BIGINT)")
		insertRows(t, n, table, r, 600)
	}
	scope := map[string]any{"tables": []string{"app_*"}, "from": "2026-01-05T00:00:00Z", "to": "2026-01-06T00:00:00Z"}
	before := pages(t, n, with(scope, "limit", 1000), func() {})
	if len(before) != 1200 {
		t.Fatalf("%d rows, want 1200", len(before))
	}
	for _, limit := range []int{1, 7, 100, 1000} {
		for _, order := range []string{"newest", "oldest"} {
			for _, tables := range [][]string{{"app_a"}, {"app_a", "app_b"}} {
				if limit == 1 && (order == "oldest" || len(tables) == 2) {
					continue // many requests, and nothing new
				}
				checkPages(t, n, r, with(scope, "tables", tables, "limit", limit, "order", order))
			}
		}
	}
	checkAt(t, n, scope)
	checkTail(t, n, before)
	checkCursors(t, n, scope)
}

func checkPages(t *testing.T, n *Node, r *rand.Rand, req map[string]any) {
	t.Helper()
	name := fmt.Sprint(req["tables"], req["order"], req["limit"])
	existed := map[string]bool{}
	for _, row := range pages(t, n, with(req, "limit", 1000), func() {}) {
		existed[row.key()] = true
	}
	seen := map[string]bool{}
	added := 0
	rows := pages(t, n, req, func() {
		if added++; added < 4 {
			insertRows(t, n, "app_a", r, 3)
		}
	})
	for i, row := range rows {
		if seen[row.key()] {
			t.Fatalf("%s: row %s comes twice", name, row.key())
		}
		seen[row.key()] = true
		if i > 0 && (req["order"] == "newest" && row.Time > rows[i-1].Time ||
			req["order"] == "oldest" && row.Time < rows[i-1].Time) {
			t.Fatalf("%s: row %d is of %s, the one before of %s", name, i, row.Time, rows[i-1].Time)
		}
	}
	for key := range existed {
		if !seen[key] {
			t.Fatalf("%s: row %s is missing among %d", name, key, len(rows))
		}
	}
}

// checkAt begins pages at a row, in either direction, and finds each row by its id, also those that others equal.
func checkAt(t *testing.T, n *Node, scope map[string]any) {
	t.Helper()
	scope = with(scope, "tables", []string{"app_a"})
	all := pages(t, n, with(scope, "limit", 1000), func() {})
	equal := slices.IndexFunc(all, func(r exploredRow) bool { return strings.Count(r.ID, "-") == 2 })
	if equal < 0 {
		t.Fatal("no two rows are equal")
	}
	for _, i := range []int{0, equal, len(all) / 2, len(all) - 1} {
		want := all[i]
		var newer, older explored
		explore(t, n, "rows", with(scope, "at", want.ID, "limit", 1000), 200, &older)
		explore(t, n, "rows", with(scope, "at", want.ID, "limit", 1000, "order", "oldest"), 200, &newer)
		if len(older.Rows) == 0 || older.Rows[0].ID != want.ID || len(newer.Rows) == 0 || newer.Rows[0].ID != want.ID {
			t.Fatalf("pages at %s do not begin there", want.ID)
		}
		seen := map[string]bool{}
		for _, r := range slices.Concat(older.Rows, newer.Rows) {
			seen[r.ID] = true
		}
		if missing := len(all) - len(seen); missing > strings.Count(want.ID, "-") {
			t.Errorf("at %s both pages have %d of %d rows", want.ID, len(seen), len(all))
		}
		var one exploredRow
		explore(t, n, "row", map[string]any{"table": "app_a", "id": want.ID}, 200, &one)
		if one.ID != want.ID || fmt.Sprint(one.V) != fmt.Sprint(want.V) {
			t.Errorf("row %s is %v, want %v", want.ID, one, want)
		}
	}
	var gone explored
	explore(t, n, "row", map[string]any{"table": "app_a", "id": "1767607200000000000-0123456789abcdef"}, 404, &gone)
}

// checkTail has a tail send rows in the form of pages, with the same ids.
func checkTail(t *testing.T, n *Node, rows []exploredRow) {
	t.Helper()
	a, err := n.Do("GET", "/v1/tail?table=app_a&shape=row&max_value_bytes=2&since=100000h", nil, "x-svc-timeout", "2s")
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	sent := map[string]bool{}
	for line := range bytes.Lines(a.Body) {
		var r exploredRow
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sent[r.key()] = true
		if level, ok := r.V["level"].(string); !ok || len(level) != 2 || r.Cut["level"] < 4 {
			t.Fatalf("%s: the level is not cut to 2 bytes", line)
		}
	}
	for _, r := range rows {
		if r.Table == "app_a" && !sent[r.key()] {
			t.Fatalf("row %s was not sent, among %d", r.key(), len(sent))
		}
	}
}

func checkCursors(t *testing.T, n *Node, scope map[string]any) {
	t.Helper()
	var a, refused explored
	explore(t, n, "rows", with(scope, "limit", 5), 200, &a)
	for _, more := range [][]any{
		{"query", "level:error"},
		{"order", "oldest"},
		{"tables", []string{"app_a"}},
		{"where", "n > 1"},
		{"at", a.Rows[0].ID},
		{"cursor", *a.Next + "A"},
		{"cursor", "x"},
	} {
		explore(t, n, "rows", with(with(scope, "cursor", *a.Next, "limit", 5), more...), 400, &refused)
	}
	// The range of the first page stays that of all, whatever is sent with a cursor.
	var next explored
	explore(t, n, "rows", with(scope, "cursor", *a.Next, "from", "-1h", "to", nil), 200, &next)
	if len(next.Rows) != 200 || *next.Range.From != "2026-01-05T00:00:00Z" {
		t.Errorf("the second page has %d rows from %s on", len(next.Rows), *next.Range.From)
	}
}

// TestExploreContext asks for the rows around a row: of the same source, from old to new, and further ones.
func TestExploreContext(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(9) TIME INDEX, host STRING, n BIGINT, at TIMESTAMP(3), "+
		"x DOUBLE, ok BOOLEAN)")
	var b strings.Builder
	b.WriteString("INSERT INTO app VALUES ")
	for i := range 100 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "('%s', 'h%d', %d, '2026-01-05 10:00:00.5', 0.1, true)",
			time.Date(2026, 1, 5, 10, 0, 0, i, time.UTC).Format("2006-01-02 15:04:05.999999999"), i%2, i)
	}
	run(t, n, b.String())
	var a explored
	explore(t, n, "rows", map[string]any{"tables": []string{"app"}, "query": "n:50"}, 200, &a)
	type around struct {
		Before, After []exploredRow
		Row           exploredRow
		Same          []string
		Cursors       map[string]string
	}
	numbers := func(rows []exploredRow) (out []int) {
		for _, r := range rows {
			out = append(out, int(r.V["n"].(float64)))
		}
		return out
	}
	place := map[string]any{"table": "app", "id": a.Rows[0].ID, "before": 3, "after": 2}
	for _, c := range []struct {
		same []string
		want string
	}{
		{nil, "[44 46 48] 50 [52 54] [host]"},
		{[]string{}, "[47 48 49] 50 [51 52] []"},
		{[]string{"at", "x", "ok"}, "[47 48 49] 50 [51 52] [at x ok]"},
		{[]string{"n"}, "[] 50 [] [n]"},
	} {
		var got around
		explore(t, n, "context", with(place, "same", c.same), 200, &got)
		text := fmt.Sprint(numbers(got.Before), numbers([]exploredRow{got.Row})[0], numbers(got.After), got.Same)
		if text != c.want {
			t.Errorf("same %v: %s, want %s", c.same, text, c.want)
		}
		if c.same == nil {
			var more around
			explore(t, n, "context", with(place, "same", []string{"host"}, "cursors",
				map[string]string{"before": got.Cursors["before"]}), 200, &more)
			if text := fmt.Sprint(numbers(more.Before), numbers(more.After)); text != "[38 40 42] []" {
				t.Errorf("further rows are %s", text)
			}
		}
	}
	var refused explored
	explore(t, n, "context", with(place, "same", []string{"gone"}), 400, &refused)
	explore(t, n, "context", with(place, "before", 201), 400, &refused)
}

// TestExploreCounts compares hits, facets and values with SQL.
func TestExploreCounts(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	r := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // a test's choices
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

// TestExplorePatterns finds each row by the search text of one pattern, and the row of each example by its id.
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

// TestExploreCompare compares errors with the rest: the field that they have in common comes first, with all rows.
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
	// A set is like itself.
	explore(t, n, "compare", map[string]any{"a": all, "b": all}, 200, &got)
	if len(got.Fields) != 0 || got.A != got.B || got.A.Rows != 400 || len(got.Same) == 0 {
		t.Errorf("a set differs from itself: %+v", got)
	}
	var refused explored
	explore(t, n, "compare", map[string]any{"a": all, "b": all, "fields": []string{"gone"}}, 400, &refused)
}

// TestExploreAliases compares a table whose columns have short names, as statements may give to what they select, with
// one of other names: all counts are the same.
func TestExploreAliases(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	names := []string{"a", "b", "g", "m", "n", "v", "u", "f0", "f1", "na", "nb", "one"}
	for table, prefix := range map[string]string{"short": "", "other": "long_"} {
		columns := ""
		for _, name := range names {
			columns += ", " + prefix + name + " STRING"
		}
		run(t, n, "CREATE TABLE "+table+" (ts TIMESTAMP(3) TIME INDEX, level STRING, "+prefix+"num BIGINT"+columns+")")
		for i := range 40 {
			values := ""
			for k := range names {
				values += fmt.Sprintf(", 'w%c %d'", 'a'+(i*(k+3)/5)%4, i)
			}
			level := []string{"info", "error"}[i%2]
			run(t, n, fmt.Sprintf("INSERT INTO %s VALUES ('2026-01-05 10:00:%02d', '%s', %d%s)", table, i, level, i, values))
		}
	}
	for _, c := range aliasRequests(names) {
		var answers []string
		for _, table := range []string{"short", "other"} {
			prefix := map[string]string{"short": "", "other": "long_"}[table]
			scope := map[string]any{"tables": []string{table}, "from": "2026-01-05T10:00:00Z", "to": "2026-01-05T10:01:00Z"}
			var got map[string]any
			explore(t, n, c.what, c.request(scope, prefix), 200, &got)
			for _, name := range []string{"took_ms", "tables", "where", "read", "field"} {
				delete(got, name)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			known := exampleID.ReplaceAllString(string(text), "ID")
			answers = append(answers, strings.ReplaceAll(strings.ReplaceAll(known, `"table":"`+table+`"`, ""), "long_", ""))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, answers[0], answers[1])
		}
	}
}

var exampleID = regexp.MustCompile(`[0-9]{19}-[0-9a-f]{16}`)

type aliasRequest struct {
	name, what string
	request    func(scope map[string]any, prefix string) map[string]any
}

// aliasRequests are requests about columns, of which each has a name with a prefix.
func aliasRequests(names []string) []aliasRequest {
	out := []aliasRequest{
		{"hits by level", "hits", func(s map[string]any, _ string) map[string]any { return with(s, "by", "level") }},
		{"facets of all", "facets", func(s map[string]any, prefix string) map[string]any {
			list := []string{prefix + "num"}
			for _, name := range names {
				list = append(list, prefix+name)
			}
			return with(s, "fields", list, "query", "level:error", "own", "exclude")
		}},
		{"compare", "compare", func(s map[string]any, prefix string) map[string]any {
			list := []string{prefix + "num"}
			for _, name := range names {
				list = append(list, prefix+name)
			}
			return map[string]any{"a": with(s, "query", "level:error"), "b": s, "rest": true, "fields": list}
		}},
	}
	for _, name := range names {
		out = append(out,
			aliasRequest{"hits by " + name, "hits", func(s map[string]any, prefix string) map[string]any {
				return with(s, "by", prefix+name)
			}},
			aliasRequest{"facets of " + name, "facets", func(s map[string]any, prefix string) map[string]any {
				return with(s, "fields", []string{prefix + name, prefix + "num"})
			}},
			aliasRequest{"values of " + name, "values", func(s map[string]any, prefix string) map[string]any {
				return with(s, "field", prefix+name, "prefix", "wa")
			}},
			aliasRequest{"patterns of " + name, "patterns", func(s map[string]any, prefix string) map[string]any {
				return with(s, "field", prefix+name)
			}})
	}
	return out
}

// TestExploreTwice names a field twice: by one name that is refused, by two names both have the counts.
func TestExploreTwice(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(3) TIME INDEX, host STRING, x STRING)")
	run(t, n, "INSERT INTO app VALUES ('2026-01-05 10:00:00', 'a', 'y'), ('2026-01-05 10:00:01', 'b', 'y')")
	app := map[string]any{"tables": []string{"app"}, "query": "x:y"}
	var refused explored
	explore(t, n, "facets", with(app, "fields", []string{"host", "host"}), 400, &refused)
	if !strings.Contains(refused.Error, "host") || !strings.Contains(refused.Error, "twice") {
		t.Errorf("the error is %q", refused.Error)
	}
	explore(t, n, "compare", map[string]any{"a": app, "b": app, "fields": []string{"host", "host"}}, 400, &refused)
	var got struct {
		Fields []struct {
			Name   string
			Filled int64
		}
	}
	explore(t, n, "facets", with(app, "fields", []string{"host", "HOST", "ts"}), 200, &got)
	for _, f := range got.Fields {
		if f.Filled != 2 {
			t.Errorf("%s has %d values, want 2", f.Name, f.Filled)
		}
	}
}

// TestExploreTableField searches tables of which one has a column _table, and whose time indexes differ: the field
// _table is the name of the table, and the SQL of the search runs, the newest rows of all tables first.
func TestExploreTableField(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, `CREATE TABLE app_a (ts TIMESTAMP(3) TIME INDEX, "_table" STRING, x BIGINT)`)
	run(t, n, `CREATE TABLE app_b (at TIMESTAMP(9) TIME INDEX, "_time" STRING)`)
	run(t, n, "INSERT INTO app_a VALUES ('2026-01-05 10:00:00', 'column', 1), ('2026-01-05 10:00:02', 'column', 2)")
	run(t, n, "INSERT INTO app_b VALUES ('2026-01-05 10:00:01', 'x'), ('2026-01-05 10:00:03', 'y')")
	scope := map[string]any{"tables": []string{"app_*"}, "from": "2026-01-05T00:00:00Z", "to": "2026-01-06T00:00:00Z"}
	var compiled struct{ SQL string }
	explore(t, n, "compile", scope, 200, &compiled)
	var order []string
	for _, row := range n.Rows(t, compiled.SQL) {
		order = append(order, fmt.Sprint(row[0]))
	}
	if got := strings.Join(order, " "); got != "app_b app_a app_b app_a" {
		t.Errorf("%s finds rows of %s", compiled.SQL, got)
	}
	var facets struct {
		Fields []struct {
			Values []struct {
				Value string
				Count int
			}
		}
	}
	explore(t, n, "facets", with(scope, "fields", []string{"_table"}), 200, &facets)
	if got := fmt.Sprint(facets.Fields); got != "[{[{app_a 2} {app_b 2}]}]" {
		t.Errorf("the values of _table are %s", got)
	}
	var found explored
	explore(t, n, "rows", with(scope, "query", "_table:app_a"), 200, &found)
	if len(found.Rows) != 2 {
		t.Errorf("_table:app_a finds %d rows, want 2", len(found.Rows))
	}
}

// TestExploreLongStatement asks about so many tables with so many words that the statement is too long.
func TestExploreLongStatement(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	for i := range 24 {
		run(t, n, fmt.Sprintf("CREATE TABLE app_%d (ts TIMESTAMP(3) TIME INDEX, host STRING, message STRING)", i))
	}
	var words []string
	for i := range 200 {
		words = append(words, fmt.Sprintf("message:%s%d", strings.Repeat("x", 60), i))
	}
	req := map[string]any{"tables": []string{"app_*"}, "query": "-" + strings.Join(words, " -")}
	for _, c := range []struct {
		what string
		more []any
	}{{"facets", []any{"fields", []string{"host"}}}, {"values", []any{"field", "host"}}} {
		var refused explored
		explore(t, n, c.what, with(req, c.more...), 400, &refused)
		if !strings.Contains(refused.Error, "fewer tables") {
			t.Errorf("%s: %s", c.what, refused.Error)
		}
	}
}
