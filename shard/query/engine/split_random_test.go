package engine

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/errs"
)

var (
	splitSeed  = flag.Uint64("split.seed", 1, "the first seed of TestSplitRandom")
	splitSeeds = flag.Int("split.seeds", 20, "how many seeds TestSplitRandom runs, 25 statements each")
)

// statements generates random statements over the table of placed.
type statements struct{ *rand.Rand }

func (g statements) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g statements) group() string {
	return g.pick("host", "status", "ok", "path", "n", "status // 100", "date_trunc('minute', ts)",
		"date_trunc('hour', ts)", "upper(host)",
		"extra->>'user'", "length(path)", "time_bucket(INTERVAL 10 MINUTE, ts)",
		"CASE WHEN status >= 400 THEN 'bad' ELSE 'good' END",
		"coalesce(host, '-')", "n % 3", "ts::DATE", "took > 50", "host IS NULL", "left(path, 4)", "bytes // 100000",
		"lower(host) || '!'", "round(took)")
}

func (g statements) argument() string {
	return g.pick("took", "bytes", "status", "n", "n + 1", "took * 2", "bytes - n")
}

func (g statements) aggregate() string {
	a := g.argument()
	s := ""
	switch g.IntN(18) {
	case 0:
		s = "count(*)"
	case 1:
		s = "count(" + g.pick(a, "host", "extra") + ")"
	case 2:
		s = "sum(" + a + ")"
	case 3:
		s = "avg(" + a + ")"
	case 4:
		s = "min(" + g.pick(a, "host", "ts", "ok") + ")"
	case 5:
		s = "max(" + g.pick(a, "path", "ts", "status") + ")"
	case 6:
		s = "count(DISTINCT " + g.pick(a, "path", "host") + ")"
	case 7:
		s = "quantile_cont(" + a + ", " + g.pick("0.5", "0.9", "0.99", "0.0", "1.0", "0.333") + ")"
	case 8:
		s = "median(" + a + ")"
	case 9:
		s = "count_if(" + g.pick("ok", "status >= 500", "took > 10") + ")"
	case 10:
		return "bool_" + g.pick("and", "or") + "(" + g.pick("ok", "n > 0") + ")"
	case 11:
		s = g.pick("bit_and", "bit_or", "bit_xor") + "(" + g.pick("status", "n") + ")"
	case 12: // a key that only equal rows share
		return g.pick("arg_max", "min_by") + "(took, hash(ts, bytes, n, took, path, host, status, ok))"
	case 13:
		s = "sum(DISTINCT " + g.pick("status", "n") + ")"
	case 14:
		s = g.pick("stddev("+a+")", "quantile_disc("+a+", 0.9)", "approx_count_distinct(path)",
			"approx_count_distinct("+a+")", "var_pop(n)",
			"stddev_pop(n)", "variance("+a+")", "quantile_disc(path, 0.25)", "quantile_cont(n, -0.25)")
	case 17:
		s = g.pick("string_agg(path, ',' ORDER BY ts DESC, path)", "list(n ORDER BY n)", "regr_count(n, "+a+")",
			"max("+a+" ORDER BY ts)", "sum(DISTINCT bytes)", "histogram(status)")
	case 15:
		return "count(*) * 100.0 / greatest(count(" + a + "), 1)"
	case 16:
		// only integers: a sum of doubles may be rounded either way
		return "round(avg(" + g.pick("bytes", "status", "n") + "), 2) + 1"
	}
	if g.IntN(6) == 0 && !strings.Contains(s, "(DISTINCT") {
		s += " FILTER (WHERE " + g.condition() + ")"
	}
	return s
}

func (g statements) condition() string {
	c := g.pick("status >= 400", "host = 'host-1'", "host IN ('host-0', 'host-3')", "took BETWEEN 10 AND 60.5",
		"path LIKE '/p/1%'", "path ~ '[0-4]$'",
		"NOT ok", "ok", "n < 0", "extra->>'user' = 'u1'", "host IS NOT NULL", "status <> 200", "ts > '2023-11-14 22:30:00'",
		"bytes > 1e5", "false",
		"path NOT ILIKE '%2'", "status IS DISTINCT FROM 404", "contains(path, '9')", "coalesce(n, 0) % 2 = 0",
		"ts < 1700005000000", "host !~ '2$'")
	switch g.IntN(6) {
	case 0:
		return c + " AND " + g.condition()
	case 1:
		return "(" + c + " OR " + g.condition() + ")"
	}
	return c
}

// statement returns a statement, and whether the order of its rows matters.
func (g statements) statement() (sql string, sorted bool) {
	where := ""
	if g.IntN(2) == 0 {
		where = " WHERE " + g.condition()
	}
	if g.IntN(5) == 0 {
		return g.rows(where)
	}
	var groups, items []string
	for range g.IntN(3) {
		if x := g.group(); !slices.Contains(groups, x) {
			groups = append(groups, x)
		}
	}
	for i, x := range groups {
		items = append(items, fmt.Sprintf("%s AS g%d", x, i))
	}
	aggregates := 1 + g.IntN(3)
	for i := range aggregates {
		items = append(items, fmt.Sprintf("%s%s", g.aggregate(), g.pick("", fmt.Sprintf(" AS a%d", i))))
	}
	sql = "SELECT " + strings.Join(items, ", ") + " FROM logs" + where
	if len(groups) > 0 {
		sql += " GROUP BY " + g.groupBy(groups)
	}
	if g.IntN(6) == 0 {
		sql += " HAVING " + g.pick("count(*) > 2", "max(bytes) > 500000", "avg(took) < 60", "sum(n) IS NOT NULL")
	}
	if len(groups) > 0 && g.IntN(2) == 0 {
		order := make([]string, len(groups))
		for i := range order {
			order[i] = g.pick(fmt.Sprint(i+1), fmt.Sprintf("g%d", i)) + g.pick("", " DESC", " NULLS FIRST", " DESC NULLS LAST")
		}
		sql += " ORDER BY " + strings.Join(order, ", ")
		// Without grouping sets, all groups differ in their keys.
		if !strings.Contains(sql, "ROLLUP") && !strings.Contains(sql, "CUBE") && !strings.Contains(sql, "SETS") {
			sorted = true
			if g.IntN(2) == 0 {
				sql += fmt.Sprintf(" LIMIT %d", g.IntN(12))
			}
			if g.IntN(4) == 0 {
				sql += fmt.Sprintf(" OFFSET %d", g.IntN(5))
			}
		}
	}
	return sql, sorted
}

// nested returns a statement whose FROM may be a query.
func (g statements) nested() (sql string, sorted bool) {
	switch g.IntN(16) {
	case 0, 1:
		return g.overGroups(), false
	case 2:
		return g.union()
	case 3, 4:
		return g.overUnion()
	}
	sql, sorted = g.statement()
	if g.IntN(4) > 0 {
		return sql, sorted
	}
	inner := g.pick(
		"SELECT * REPLACE (upper(path) AS path, n + 1 AS N) FROM logs",
		"SELECT w.* EXCLUDE (n, HOST) RENAME (ok AS fine), n, host, ok FROM logs AS w",
		"SELECT * FROM logs", "SELECT * FROM logs WHERE "+g.condition(),
		"SELECT extra, ts, took, ok, host, path, n, bytes, status FROM logs",
		// Columns and expressions under the names of other columns.
		"SELECT bytes AS n, coalesce(n, 0) AS bytes, status + 1 AS status, upper(path) AS host, host AS path, ts, took, "+
			"ok, extra FROM logs WHERE "+g.condition(),
		"SELECT * FROM (SELECT * FROM logs WHERE "+g.condition()+") AS w WHERE w.n % 3 <> 1",
		"SELECT DISTINCT * FROM logs")
	if g.IntN(2) == 0 {
		return strings.Replace(sql, "FROM logs", "FROM ("+inner+") AS v", 1), sorted
	}
	return "WITH v AS (" + inner + ") " + strings.Replace(sql, "FROM logs", "FROM v", 1), sorted
}

// overUnion returns a statement over a UNION ALL.
func (g statements) overUnion() (sql string, sorted bool) {
	sql, sorted = g.statement()
	const columns = "extra, ts, took, ok, host, path, n, bytes, status"
	lists := []string{
		columns, "extra, ts, took, ok, path, host, n, status, bytes",
		"NULL, ts, took, ok, 'x', upper(path), n, bytes, status",
		"extra, ts, n, took > 50, host, path, status, n, bytes", "* EXCLUDE (extra, ts), ts, extra",
	}
	how := " UNION ALL "
	if g.IntN(4) == 0 {
		how = " UNION ALL BY NAME "
		lists = []string{columns, "ts, host, n, path, status", "*", "ts AS ts, took, bytes, extra, ok"}
	}
	operands := []string{"SELECT " + columns + " FROM logs"}
	for range 1 + g.IntN(2) {
		operands = append(operands, "SELECT "+g.pick("", "", "", "DISTINCT ")+g.pick(lists...)+" FROM logs")
	}
	for i := range operands {
		if g.IntN(2) == 0 {
			operands[i] += " WHERE " + g.condition()
		}
		if g.IntN(8) == 0 {
			operands[i] = "(" + operands[i] + " ORDER BY ts, took, path, host, n, bytes, status, ok, extra LIMIT 9)"
		}
	}
	union := strings.Join(operands, how)
	if g.IntN(3) == 0 {
		union = "SELECT * FROM (" + union + ") AS w WHERE " + g.condition()
	}
	if g.IntN(2) == 0 {
		return strings.Replace(sql, "FROM logs", "FROM ("+union+") AS v", 1), sorted
	}
	return "WITH v AS (" + union + ") " + strings.Replace(sql, "FROM logs", "FROM v", 1), sorted
}

// overGroups returns a statement over the groups, or the first rows, of another one.
func (g statements) overGroups() string {
	inner := "SELECT " + g.group() + " AS g, " + g.aggregate() + " AS a, count(*) AS c FROM logs"
	if g.IntN(2) == 0 {
		inner += " WHERE " + g.condition()
	}
	inner += " GROUP BY 1" + g.pick("", " HAVING count(*) > 1", " ORDER BY 1 LIMIT 5")
	outer := g.pick("SELECT count(*), sum(c), max(c) FROM v", "SELECT g, c FROM v WHERE c % 2 = 1", "SELECT * FROM v",
		"SELECT c, count(*) AS n, min(g) FROM v GROUP BY c ORDER BY c",
		"SELECT DISTINCT c + 1 AS d FROM v WHERE a IS NOT NULL",
		"SELECT c % 3 AS k, sum(c) AS s FROM v GROUP BY ALL HAVING sum(c) > 2",
		"SELECT avg(c) FILTER (WHERE g IS NOT NULL) FROM v")
	if g.IntN(2) == 0 {
		return strings.Replace(outer, "FROM v", "FROM ("+inner+") AS v", 1)
	}
	return "WITH v AS (" + inner + ") " + outer
}

// union returns a UNION of rows, mostly with ORDER BY and LIMIT.
func (g statements) union() (sql string, sorted bool) {
	lists := [][]string{
		{"ts, host, n", "ts, path, bytes", "ts AS at, upper(host), status % 7"},
		{"ts AS a, host AS b, n AS c", "ts AS a, path, n", "TIMESTAMP '2023-11-14 23:00:00' AS a, host, NULL"},
		{"host, n, ok", "path AS host, n * 2 AS n, ok", "host, count(*), bool_or(ok)", "path, took, ok"},
		{"*", "* EXCLUDE (extra), extra AS extra", "ts, host, status, took, bytes, ok, path, extra, n"},
	}[g.IntN(4)]
	by, how := "", g.pick(" UNION ALL ", " UNION ALL ", " UNION ALL ", " UNION ")
	if lists[0] == "*" {
		by = "ORDER BY ts DESC, host, status, took, bytes, ok, path, n, extra::VARCHAR"
		if how == " UNION ALL " && g.IntN(2) == 0 {
			how = " UNION ALL BY NAME "
		}
		if g.IntN(2) == 0 {
			by = "ORDER BY ts DESC, host, status, took, bytes, ok, path, n, extra"
		}
	} else {
		by = g.pick("ORDER BY 1 DESC, 2 NULLS FIRST, 3", "ORDER BY 3, 2 DESC NULLS LAST, 1", "ORDER BY 2, 1, 3 DESC")
	}
	if lists[0] != "*" && g.IntN(3) == 0 {
		first := strings.Split(lists[0], ", ")
		name := first[0][strings.LastIndex(first[0], " ")+1:]
		by = "ORDER BY " + name + g.pick("", " DESC") + ", 2, 3"
	}
	for i := range 2 + g.IntN(2) {
		one := "SELECT " + g.pick("", "", "", "DISTINCT ") + g.pick(lists...) + " FROM logs"
		if g.IntN(2) == 0 {
			one += " WHERE " + g.condition()
		}
		if strings.Contains(one, "bool_or(ok)") {
			one = strings.Replace(one, "DISTINCT ", "", 1) + " GROUP BY host"
		}
		if g.IntN(4) == 0 {
			one = "(" + one + ")"
		}
		if i == 0 {
			one = strings.Replace(one, lists[min(1, len(lists)-1)], lists[0], 1)
		} else {
			sql += how
		}
		sql += one
	}
	switch g.IntN(8) {
	case 0:
		return sql, false
	case 1:
		return sql + " " + by, true
	}
	sql += fmt.Sprintf(" %s LIMIT %d", by, g.IntN(30))
	if g.IntN(3) == 0 {
		sql += fmt.Sprintf(" OFFSET %d", g.IntN(9))
	}
	return sql, true
}

func (g statements) groupBy(groups []string) string {
	switch list := strings.Join(groups, ", "); g.IntN(8) {
	case 0:
		return "ALL"
	case 1:
		return "ROLLUP (" + list + ")"
	case 2:
		return "CUBE (" + list + ")"
	case 3:
		return "GROUPING SETS ((" + list + "), (), (" + groups[0] + "))"
	case 4:
		numbers := make([]string, len(groups))
		for i := range numbers {
			numbers[i] = fmt.Sprint(i + 1)
		}
		return strings.Join(numbers, ", ")
	case 5:
		names := make([]string, len(groups))
		for i := range names {
			names[i] = fmt.Sprintf("g%d", i)
		}
		return strings.Join(names, ", ")
	default:
		return list
	}
}

// rows returns a statement without aggregates. If it sorts, it sorts by all columns.
func (g statements) rows(where string) (string, bool) {
	const all = "ts, host, status, took, bytes, ok, path, n"
	switch g.IntN(5) {
	case 0:
		return "SELECT " + g.pick("* EXCLUDE (extra)", "* REPLACE (n * 2 AS n), 1 AS one",
			"* EXCLUDE (ts) RENAME (path AS p)") + " FROM logs" + where + g.pick("", " LIMIT 0"), false
	case 1:
		return "SELECT host, took + 1, upper(path) AS p FROM logs" + where, false
	case 2:
		return fmt.Sprintf("SELECT * FROM logs%s ORDER BY ts DESC, host, status, took, bytes, ok, path, n, extra LIMIT %d",
			where, g.IntN(40)), true
	case 3:
		return fmt.Sprintf("SELECT %s FROM logs%s ORDER BY %s LIMIT %d OFFSET %d", all, where,
			strings.ReplaceAll(all, "took", "took DESC NULLS LAST"),
			g.IntN(30), g.IntN(5)), true
	default:
		return "SELECT DISTINCT " + g.pick("host", "status, ok", "path AS p", "upper(host), n % 2") +
			" FROM logs" + where, false
	}
}

// TestSplitRandom compares the answers of one to eight nodes with the answer of one, for random
// statements and rows.
func TestSplitRandom(t *testing.T) {
	e := openEngine(t, t.TempDir())
	all, combined, notSplit := 0, 0, map[string]int{}
	for seed := *splitSeed; seed < *splitSeed+uint64(*splitSeeds); seed++ {
		rng := rand.New(rand.NewPCG(seed, 7))
		rows := []int{0, 1, 5, 60, 600}[rng.IntN(5)]
		p := place(t, rng, rows, 1+rng.IntN(8))
		for range 25 {
			sql, sorted := statements{rng}.nested()
			want, err := ask(e, sql, p.all)
			if err != nil && strings.Contains(sql, "UNION") && errs.CodeOf(err) != errs.Internal {
				continue // columns or types do not fit, or a name is ambiguous
			}
			if err != nil {
				t.Fatalf("seed %d: %s: one node: %v", seed, sql, err)
			}
			all++
			got, reason, err := p.splitAnswer(t, e, sql)
			switch {
			case err != nil:
				t.Errorf("seed %d: %s: %v", seed, sql, err)
			case reason != "":
				notSplit[reason]++
			default:
				if diff := same(got, want, sorted); diff != "" {
					t.Errorf("seed %d, %d rows on %d nodes: %s: %s", seed, rows, len(p.nodes), sql, diff)
				}
			}
		}
		combined += p.combined
	}
	if combined*25 < all {
		t.Errorf("the last step of %d of %d statements was done without the engine", combined, all)
	}
	n := 0
	for reason, count := range notSplit {
		t.Logf("%5d not split: %s", count, reason)
		n += count
	}
	if t.Logf("%d statements, %d not split, %d combined without the engine", all, n, combined); n*4 > all {
		t.Errorf("%d of %d statements are not split", n, all)
	}
}
