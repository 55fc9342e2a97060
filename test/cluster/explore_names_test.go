package cluster

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestExploreAliases compares a table whose column names are also aliases in the statements with a table that has
// other names. All counts must be equal.
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

// aliasRequests returns requests about columns whose names have a prefix.
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

// TestExploreTwice requests a field twice. By the same name this is refused; by two names both get the counts.
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

// TestExploreTableField searches several tables with different time indexes, one of which has a column _table. The
// field _table must be the name of the table, and the SQL of the search must return the newest rows of all tables
// first.
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

// TestExploreLongStatement requests so many tables with so many words that the statement is too
// long.
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

// TestExploreHostileValues counts and compares values that no SQL literal can contain, or that are very long. One row
// with such a value must not make requests about the table fail.
func TestExploreHostileValues(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	long := strings.Repeat("x", 10_000)
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, `{"message":"m %d","host":"web\u0000%d","container":"it's \u0000"}`+"\n", i, i%2)
	}
	fmt.Fprintf(&lines, `{"message":"last","host":%q,"container":"other"}`+"\n", long)
	a, err := n.Do("POST", "/v1/ingest?table=app&pipeline_name=svc_identity", strings.NewReader(lines.String()),
		"Content-Type", "application/x-ndjson")
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	scope := map[string]any{"tables": []string{"app"}}

	var hits struct {
		Total  int
		Series []struct {
			Value  *string
			Counts []int
		}
	}
	explore(t, n, "hits", with(scope, "by", "host"), 200, &hits)
	counts := map[string]int{}
	for _, series := range hits.Series {
		name := "null"
		if series.Value != nil {
			name = *series.Value
		}
		for _, count := range series.Counts {
			counts[name] += count
		}
	}
	if hits.Total != 41 || counts["web\x000"] != 20 || counts["web\x001"] != 20 {
		t.Errorf("%d hits: %v", hits.Total, counts)
	}

	var values struct{ Values []struct{ Value string } }
	explore(t, n, "values", with(scope, "field", "host", "prefix", "web\x001"), 200, &values)
	if len(values.Values) != 1 || values.Values[0].Value != "web\x001" {
		t.Errorf("values %q", values.Values)
	}

	var page explored
	explore(t, n, "rows", scope, 200, &page)
	for _, row := range page.Rows[:2] { // the last row, and one of those with NUL
		var around struct {
			Before, After []exploredRow
			Same          []string
		}
		explore(t, n, "context", map[string]any{"table": "app", "id": row.ID, "before": 5}, 200, &around)
		want := []string{"host"}
		if row.Cut["host"] > 0 {
			want = []string{} // it is too long for a condition
		}
		if len(around.Before) != 5 || len(around.Same) != len(want) {
			t.Errorf("around %s: %d rows before with the same %q", row.V["message"], len(around.Before), around.Same)
		}
		for _, other := range around.Before {
			if len(want) > 0 && other.V["host"] != row.V["host"] {
				t.Errorf("around %s is %s of %q", row.V["message"], other.V["message"], other.V["host"])
			}
		}
	}
}
