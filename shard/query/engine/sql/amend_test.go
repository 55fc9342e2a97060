package sql

import (
	"regexp"
	"strings"
	"testing"
)

func TestAmend(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT 1 - 2": "SELECT 1 - 2",
		"SELECT data->>'a'='x' AND data->'b'->>'c'='y'":      "SELECT (data->>'a')='x' AND (data->'b'->>'c')='y'",
		"WHERE NOT data ->> 'a' = 'x'":                       "WHERE NOT (data ->> 'a') = 'x'",
		"data->>'a' IN ('b', d->>'c')":                       "(data->>'a') IN ('b', (d->>'c'))",
		"a BETWEEN b->'c' AND d->'e'":                        "a BETWEEN (b->'c') AND (d->'e')",
		"data->'a' IS NULL OR x LIKE y->>'z' || '%'":         "(data->'a') IS NULL OR x LIKE (y->>'z') || '%'",
		"'x' || data->>'a' || 'y'":                           "'x' || (data->>'a') || 'y'",
		"t.data::JSON->'a'::VARCHAR = 1":                     "(t.data::JSON->'a'::VARCHAR) = 1",
		"x::DOUBLE PRECISION, y::DECIMAL(3, 1)[]->1 b":       "x::DOUBLE PRECISION, (y::DECIMAL(3, 1)[]->1) b",
		"x::TIMESTAMP WITH TIME ZONE->'a'=1":                 "(x::TIMESTAMP WITH TIME ZONE->'a')=1",
		"SELECT JSON '{\"a\":1}'->'a' AS x":                  "SELECT (JSON '{\"a\":1}'->'a') AS x",
		"SELECT DISTINCT data->'a' at FROM t":                "SELECT DISTINCT (data->'a') at FROM t",
		"a->-1->>-2":                                         "(a-> -1->> -2)",
		"a -> - 1 + 2":                                       "(a -> - 1) + 2",
		"(a)->(b)":                                           "((a)->(b))",
		"f(x)[1].y->'z' > 1":                                 "(f(x)[1].y->'z') > 1",
		"[a->'b' for a in c]":                                "[(a->'b') for a in c]",
		"{'k': a->'b', 'l': MAP {'m':1}->'m'}":               "{'k': (a->'b'), 'l': (MAP {'m':1}->'m')}",
		"CASE WHEN a->'b'='c' THEN d->'e' ELSE f END->'g'=1": "(CASE WHEN (a->'b')='c' THEN (d->'e') ELSE f END->'g')=1",
		"count(*) FILTER (WHERE a->>'b'='c') > 1":            "count(*) FILTER (WHERE (a->>'b')='c') > 1",
		"sum(x) OVER (PARTITION BY a->>'b')->'c'":            "(sum(x) OVER (PARTITION BY (a->>'b'))->'c')",
		"ORDER BY data->>'a' DESC":                           "ORDER BY (data->>'a') DESC",
		"ON a.d->>'x'=b.d->>'x'":                             "ON (a.d->>'x')=(b.d->>'x')",
		"a <-> b, a->b, a<->b->c":                            "a <-> b, (a->b), a<->(b->c)",
		"'a->b' \"a->b\" $$a->b$$":                           "'a->b' \"a->b\" $$a->b$$",
		"filter->>'a'='b' AND at->>'a'='b'":                  "(filter->>'a')='b' AND (at->>'a')='b'",
		"values->>'a'='b'":                                   "(values->>'a')='b'",
		"extra->>'ts' AT TIME ZONE 'UTC'":                    "(extra->>'ts') AT TIME ZONE 'UTC'",
		"a-> = b->'c'":                                       "a-> = (b->'c')",
		"list_transform(l, x -> x + 1)":                      "list_transform(l, x -> x + 1)",
		"list_transform(l->'a', x -> x->'b' = 1)":            "list_transform((l->'a'), x -> (x->'b') = 1)",
		"list_transform(l, (x, i) -> x->i = 1)":              "list_transform(l, (x, i) -> (x->i) = 1)",
		"list_filter(l, (x -> x->'b' = 1))":                  "list_filter(l, (x -> (x->'b') = 1))",
		"list_reduce(l, (a, b) -> a + b, c->'d' + 1)":        "list_reduce(l, (a, b) -> a + b, (c->'d') + 1)",
		"l.list_filter(x -> x > 1)":                          "l.list_filter(x -> x > 1)",
		"list_filter(l, lambda x: x->>'a' = 'b')":            "list_filter(l, lambda x: (x->>'a') = 'b')",
		"SELECT COLUMNS(c -> c->'b' = 'ts')":                 "SELECT COLUMNS(c -> (c->'b') = 'ts')",
		"lower(x -> y = z)":                                  "lower((x -> y) = z)",
		"SELECT `a`, `b\"c`, `d``e`, '`', \"`\" FROM `t`":    "SELECT \"a\", \"b\"\"c\", \"d`e\", '`', \"`\" FROM \"t\"",
		"`a`->>'b'='c'":                                      "(\"a\"->>'b')='c'",
		"`a":                                                 "`a",
	} {
		got, edits := amend(sql)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
		// Each name must be at its old position.
		for _, name := range regexp.MustCompile(`[a-z]{3,}`).FindAllString(got, -1) {
			if at := PositionBefore(edits, strings.Index(got, name)); at != strings.Index(sql, name) &&
				!strings.Contains(sql, "`") {
				t.Errorf("%s: %s comes from position %d", got, name, at)
			}
		}
	}
}

// FuzzAmend searches for texts that lose something when they are amended, or that take long.
func FuzzAmend(f *testing.F) {
	for _, seed := range []string{
		"a->'b'='c'", "CASE WHEN a->b END->c", "list_transform(l, (x, y) -> x->y)", "`a``b\"`->>`c", "a::b(c)[d]->-1", ")->(",
		"END->'a'", "x->>", "$1->$$a$$",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		sql = normalize(sql)
		got, edits := amend(sql)
		for i, e := range edits {
			if e.From > e.To || e.To > len(sql) || i > 0 && e.From < edits[i-1].To {
				t.Fatalf("%q: edits %v", sql, edits)
			}
		}
		if !strings.Contains(sql, "`") {
			strip := strings.NewReplacer("(", "", ")", "", " ", "")
			if strip.Replace(got) != strip.Replace(sql) {
				t.Fatalf("%q became %q", sql, got)
			}
			if strings.Count(got, "(")-strings.Count(sql, "(") != strings.Count(got, ")")-strings.Count(sql, ")") {
				t.Fatalf("%q became %q", sql, got)
			}
		}
		for at := range got {
			if before := PositionBefore(edits, at); before < 0 || before > len(sql) {
				t.Fatalf("%q: position %d of %q comes from %d", sql, at, got, before)
			}
		}
	})
}
