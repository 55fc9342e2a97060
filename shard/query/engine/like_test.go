package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// TestLikeAsTheEngine compares all forms of LIKE, ILIKE and GLOB with DuckDB's own functions, over
// random texts and patterns.
func TestLikeAsTheEngine(t *testing.T) {
	e := openEngine(t, t.TempDir())
	s := openSession(t, e)
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(most int, of ...string) string {
		if rnd.IntN(40) == 0 {
			return "NULL"
		}
		var b strings.Builder
		for range rnd.IntN(most + 1) {
			b.WriteString(of[rnd.IntN(len(of))])
		}
		return sql.QuoteText(b.String())
	}
	letters := []string{"a", "b", "A", "é", "É", "日", "İ", "K", "!", "%", "_", "*", "]", "-", "😀"}
	// DuckDB reports a pattern that ends in its escape character only for some texts, so no pattern
	// here ends in it.
	escaped := append([]string{"%", "%", "_", "_", "!%", "!_", "!!", "!a"}, "a", "b", "A", "é", "É", "日", "İ", "*")
	wild := append([]string{"%", "%", "_", "_"}, letters...)
	globs := append([]string{"*", "*", "?", "[ab]", "[!a]", "[a-c]", "[]a]", `\*`, `\`, "[", "[!", "a-"}, letters...)
	forms := []struct {
		ours, engines string
		patterns      []string
	}{
		{"a LIKE §", `system.main."~~"(a, §)`, wild},
		{"a NOT LIKE §", `system.main."!~~"(a, §)`, wild},
		{"a ~~ §", `system.main."~~"(a, §)`, wild},
		{"a !~~ §", `system.main."!~~"(a, §)`, wild},
		{"a ILIKE §", `system.main."~~*"(a, §)`, wild},
		{"a NOT ILIKE §", `system.main."!~~*"(a, §)`, wild},
		{"a GLOB §", `system.main."~~~"(a, §)`, globs},
		{"NOT a GLOB §", `NOT system.main."~~~"(a, §)`, globs},
		{"a LIKE § ESCAPE '!'", `system.main.like_escape(a, §, '!')`, escaped},
		{"a NOT LIKE § ESCAPE '!'", `system.main.not_like_escape(a, §, '!')`, escaped},
		{"a ILIKE § ESCAPE '!'", `system.main.ilike_escape(a, §, '!')`, escaped},
		{"a NOT ILIKE § ESCAPE '!'", `system.main.not_ilike_escape(a, §, '!')`, escaped},
		{"a LIKE § ESCAPE ''", `system.main.like_escape(a, §, '')`, wild},
		{"like_escape(a, §, c)", `system.main.like_escape(a, §, c)`, escaped},
		{"not_ilike_escape(a, §, c)", `system.main.not_ilike_escape(a, §, c)`, escaped},
		{"a LIKE § ESCAPE NULL", `system.main.like_escape(a, §, NULL)`, wild},
	}
	compare := func(form, ours, engines, rows string) {
		sql := fmt.Sprintf(`SELECT coalesce(string_agg(format('{} {}', a, b), chr(10)), '') FROM
			(VALUES %s) v(a, b, c) WHERE (%s) IS DISTINCT FROM (%s) AND ?::VARCHAR = ''`, rows, ours, engines)
		wrong, err := s.QueryText(sql, "")
		if err != nil || wrong != "" {
			t.Errorf("%s: %v; the answer differs from DuckDB's over\n%s", form, err, wrong)
		}
	}
	for _, f := range forms {
		var rows []string
		for range 4000 {
			rows = append(rows, fmt.Sprintf("(%s, %s, '!')", pick(7, letters...), pick(6, f.patterns...)))
		}
		replace := func(p string) (string, string) {
			return strings.ReplaceAll(f.ours, "§", p), strings.ReplaceAll(f.engines, "§", p)
		}
		ours, engines := replace("b")
		compare(f.ours, ours, engines, strings.Join(rows, ","))
		for range 25 {
			pattern := pick(5, f.patterns...)
			// Patterns that are literals use DuckDB's fast functions.
			ours, engines = replace(pattern)
			compare(ours, ours, engines, strings.Join(rows[:200], ","))
		}
	}
}

// TestLikeHostile matches patterns that DuckDB's own functions would retry at each of a million
// positions, for each wildcard.
func TestLikeHostile(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "m:String", "p:String", "q:String")
	tab := table("t", columns,
		batch(t, columns, []any{0, strings.Repeat("a", 1<<20), "%a%b%c", "%" + strings.Repeat("a", 1<<19) + "b%"}))
	for _, where := range []string{
		"m LIKE '%a%b%c'", "m NOT LIKE '%a%b%c'", "m ILIKE '%a%b'", "m NOT ILIKE '%A%b%c'", "m LIKE '%a_a%b%_c'", "m LIKE p",
		"m ILIKE p", "m NOT LIKE p",
		"m LIKE q", "m ILIKE q", "m LIKE '%a%b%c' ESCAPE '!'", "m LIKE '%a%!b%c' ESCAPE '!'", "m ILIKE '%a%b%c' ESCAPE '!'",
		"m NOT LIKE p ESCAPE ''",
		"like_escape(m, p, '')", "not_like_escape(m, p, '!')", "ilike_escape(m, p, '')", "not_ilike_escape(m, p, '')",
		"m GLOB '*a*b*c'", "NOT m GLOB '*a*b*[!a]'", "m ~~ p", "m ~~* p", "m !~~* p", "m ~~~ replace(p, '%', '*')",
		"main.\"~~\"(m, p)",
		"m LIKE ('%a%b' || '%c')", "(m LIKE p) IS NULL", "m LIKE '%" + strings.Repeat("a_", 400) + "%b'",
		"m LIKE '" + strings.Repeat("%a", 400) + "%b'",
		"m LIKE '%" + strings.Repeat("a", 100_000) + "b%'",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		sql := "SELECT count(*) FROM t WHERE " + where
		if _, err := request(ctx, e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}}); err != nil {
			t.Errorf("%.100s: %v", sql, err)
		}
		cancel()
	}
}

// TestLikeErrors checks which patterns LIKE refuses, and the errors.
func TestLikeErrors(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "m:String", "n:Int64")
	tab := table("t", columns, batch(t, columns, []any{0, "abc", 1}))
	long := strings.Repeat("a_", 600)
	nested := "m"
	for range sql.MaxLikeDepth + 1 {
		nested = "(CASE WHEN m LIKE " + nested + " THEN m END)"
	}
	for where, want := range map[string]struct {
		code errs.Code
		says string
	}{
		"m LIKE '%" + long + "'":          {errs.InvalidArguments, "may have 1000"},
		"m GLOB '" + long + "'":           {errs.InvalidArguments, "may have 1000"},
		"m LIKE 'a!' ESCAPE '!'":          {errs.InvalidArguments, "ends in its escape"},
		"m LIKE 'a' ESCAPE '!!'":          {errs.InvalidArguments, "one ASCII character"},
		"n LIKE '1'":                      {errs.PlanQuery, "take texts, not values of type BIGINT"},
		"n ILIKE '1%2'":                   {errs.PlanQuery, "No function matches"},
		"n GLOB '1'":                      {errs.PlanQuery, "take texts, not values of type BIGINT"},
		"n LIKE '1' ESCAPE '!'":           {errs.PlanQuery, "take texts, not values of type BIGINT"},
		"system.main.\"~~\"(m, m)":        {errs.Unsupported, "by its name alone"},
		"system.main.like_escape(m,m,'')": {errs.Unsupported, "by its name alone"},
		"cordwood_like(m, m)":             {errs.PlanQuery, "does not exist"},
		nested + " = 'a'":                 {errs.Unsupported, "LIKE"},
	} {
		_, err := ask(e, "SELECT count(*) FROM t WHERE "+where, tab)
		if errs.CodeOf(err) != want.code || !strings.Contains(err.Error(), want.says) ||
			strings.Contains(err.Error(), "cordwood_") && !strings.Contains(where, "cordwood_") {
			t.Errorf("%.60s: %d %v, want %d with %q", where, errs.CodeOf(err), err, want.code, want.says)
		}
	}
	if got := mustQuery(t, e, "SELECT count(*) FROM t WHERE m LIKE '"+long+"'", tab); got[0] != "0" {
		t.Errorf("a long pattern without %%: %v", got)
	}
}

// TestLikePlans checks that literal patterns still become DuckDB's fast functions.
func TestLikePlans(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "m:String")
	tab := table("t", columns, batch(t, columns, []any{0, "abc"}))
	for where, want := range map[string]string{
		"m LIKE '%x%'": "contains(", "m LIKE 'x%'": "prefix(", "m LIKE '%x'": "suffix(", "m LIKE 'x'": "(m = 'x')",
		"m NOT LIKE '%x%'": "contains(",
		"m ILIKE '%X%'":    "contains(lower(m), 'x')",
	} {
		rows := mustQuery(t, e, "EXPLAIN SELECT count(*) FROM t WHERE "+where, tab)
		if plan := strings.Join(rows, "\n"); !strings.Contains(plan, want) || strings.Contains(plan, "cordwood_like") {
			t.Errorf("%s: the plan has no %s:\n%s", where, want, plan)
		}
	}
}
