package rewrite

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// hostile are statements of 128 KiB that must not take quadratic time or much memory to rewrite.
func hostile() map[string]string {
	const most = 128 << 10
	again := func(s string) string { return strings.Repeat(s, most/len(s)) }
	nested := func(open, middle, end string) string {
		n := most / (len(open) + len(end))
		return "SELECT " + strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	return map[string]string{
		"semicolons":          again(";"),
		"blank pieces":        again("; /**/"),
		"casts":               "SELECT x" + again("::text"),
		"casts of numbers":    "SELECT 1" + again("::int::float8"),
		"casts to regclass":   "SELECT x" + again("::regclass"),
		"casts to regtype":    "SELECT x" + again("::regtype"),
		"casts in turn":       "SELECT x" + again("::regclass::text"),
		"nested functions":    nested("format_type(", "1", ",1)"),
		"open functions":      again("format_type("),
		"nested renamed":      nested("btrim(", "x", ")"),
		"nested definitions":  nested("pg_get_indexdef(", "x", ",1,true)"),
		"nested any":          nested("1=ANY(", "x", ")"),
		"open any":            "SELECT " + again("1=ANY("),
		"nested casts":        nested("CAST(", "x", " AS text)"),
		"casts without types": nested("CAST((", "x", "))"),
		"open casts":          "SELECT " + again("CAST("),
		"calls":               "SELECT 1" + again(",f()"),
		"rows of documents":   "SELECT e FROM json_each(x)" + again(",json_array_elements(x) e"),
		"nested documents":    nested("json_array_elements(", "x", ")"),
		"periods":             "SELECT (a,b)" + again(" OVERLAPS (c,d)"),
		"nested overlays":     nested("overlay(", "x", " placing x from 1)"),
		"nested sets":         nested("jsonb_set(", "x", ",'{a,b}','1')"),
		"intervals":           "SELECT 1" + again(",interval '1-2'"),
		"expressions":         "INSERT INTO t VALUES (1)" + again(",((1)::int+f(x))"),
		"casts of values":     "INSERT INTO t VALUES (1" + again("::int") + ")",
		"calls in from":       "SELECT * FROM f()" + again(",f()"),
		"catalog calls":       "SELECT 1" + again(",version()"),
		"catalog tables":      "SELECT * FROM pg_class" + again(",pg_class"),
		"tables in columns":   "SELECT 1" + again(",pg_class"),
		"joins":               "SELECT * FROM a" + again(" JOIN b ON a.x=b.x"),
		"trims":               "SELECT 1" + again(",trim(both from x)"),
		"parentheses":         nested("(", "1", ")"),
		"open parentheses":    "SELECT " + again("("),
		"lists":               nested("[", "1", "]"),
		"quantified":          "SELECT 1" + again("=ANY(x)"),
		"sums":                "SELECT x" + again("+x::text"),
		"chains of names":     "SELECT x" + again(".x") + "::text",
		"settings":            "SELECT 1" + again(",current_setting(x)"),
		"types":               "SELECT 1" + again(",format_type(x,y)"),
		"keywords":            "SELECT * FROM a" + again(",pg_get_keywords()"),
		"dollars":             "SELECT " + again("$a"),
		"quotes":              "SELECT " + again("'"),
		"comments":            "SELECT " + again("/*"),
		"subqueries":          nested("(SELECT ", "1", ")"),
		"cases":               nested("CASE WHEN ", "1", " THEN 1 END"),
		"regclass literals":   "SELECT 1" + again(",'pg_class'::regclass"),
		"row functions":       "SELECT * FROM " + again("unnest(x) a,"),
		"nested row function": "SELECT * FROM " + again("unnest("),
		"expanded":            nested("(information_schema._pg_expandarray(", "x", ")).n"),
		"casts to numeric":    "SELECT x" + again("::numeric"),
		"joined":              "SELECT x" + again("||x"),
		"joined documents":    "SELECT x::jsonb" + again("||'{}'::jsonb"),
		"without keys":        "SELECT x" + again(" - 'a'"),
		"existing keys":       "SELECT x" + again(" ?| ARRAY['a']"),
		"parts of documents":  "SELECT x" + again(" @> '{\"a\":1}'"),
		"equal documents":     "SELECT x::jsonb" + again(" = '1'::jsonb"),
		"compared bytes":      "SELECT x" + again(" = '\\x00'"),
		"descending":          "SELECT 1 ORDER BY 1" + again(",1 DESC"),
		"one of patterns":     "SELECT x" + again(" LIKE ANY (ARRAY['a'])"),
		"one of many":         "SELECT x LIKE ANY (ARRAY['a'" + again(",'a'") + "])",
		"nested formats":      nested("to_char(", "x", ",'Day')"),
		"nested numbers":      nested("to_char(", "x", ",'999.00')"),
		"nested digests":      nested("regexp_matches(", "x", ",'(a)')"),
		"cut texts":           "SELECT x" + again("::varchar(5)"),
		"nested aggregates":   nested("json_agg(", "x", ")"),
		"zones":               "SELECT x" + again(" AT TIME ZONE 'a'"),
		"nested zones":        nested("timezone('a',", "x", ")"),
		"sums in zones":       "SELECT (x" + again("+x") + ") AT TIME ZONE 'a'",
		"zones of sums":       "SELECT x" + again("+x AT TIME ZONE 'a'"),
		"zones of lists":      "SELECT least(x" + again(",x AT TIME ZONE 'a'") + ") AT TIME ZONE 'a'",
		"nested least":        nested("least(x,", "x", ") AT TIME ZONE 'a'"),
		"users":               "SELECT user FROM a" + again(" JOIN a") + ", a AS (SELECT 1)",
		"users of no table":   "SELECT 1" + again(",user"),
		"information":         "SELECT * FROM a" + again(",information_schema.columns"),
	}
}

// TestNesting checks that brackets and casts are refused beyond their limits, where they are too deep.
func TestNesting(t *testing.T) {
	deep := func(n int) string { return "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) }
	if _, err := Rewrite(deep(maxNesting), session()); err != nil {
		t.Error(err)
	}
	for _, text := range []string{
		deep(maxNesting + 1), deep(100_000), "SELECT x" + strings.Repeat("::numeric", maxCasts+2),
	} {
		_, err := Rewrite(text, session())
		var e *Error
		if !errors.As(err, &e) || e.State != "54001" {
			t.Errorf("%.20s… of %d bytes: %v", text, len(text), err)
		}
	}
	_, err := Rewrite(deep(maxNesting+1), session())
	if e := (*Error)(nil); errors.As(err, &e) && e.At != len("SELECT ")+maxNesting {
		t.Errorf("the place is %d", e.At)
	}
}

// TestHostile checks the time of rewriting and the size of the result.
func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		start := time.Now()
		res, _ := Rewrite(text, session())
		Items(text)
		pieces, _ := Split(text)
		for _, p := range pieces {
			_, _, _ = Places(p.Text)
		}
		if took := time.Since(start); took > 10*time.Second { // a tenth of a second on a quiet machine
			t.Errorf("%s: %v", name, took)
		}
		if len(res.Text) > 16<<20 {
			t.Errorf("%s: %d bytes", name, len(res.Text))
		}
	}
}
