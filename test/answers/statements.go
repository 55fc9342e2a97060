package answers

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/schema"
)

// order is how the order of a statement's rows is defined.
type order int

const (
	unordered order = iota
	ordered
	// byTime means that rows are ordered by time, the first column. Rows with the same time may be in any order, and
	// a limit may keep any rows with the last time.
	byTime
)

// statement returns a statement with marks.
func (g *grammar) statement() (marked string, o order) {
	s := scope{table: one(g, g.tables...)}
	if first := g.tables[0]; first.large && g.IntN(3) == 0 {
		s.table = first // the search for the newest rows ignores small tables
	}
	if g.IntN(4) == 0 {
		s.alias = one(g, "x", "log", "T")
	}
	switch g.IntN(21) {
	case 20:
		return g.timesOnly()
	case 0, 1, 2:
		return "SELECT count(*) FROM " + g.where(s), unordered
	case 3:
		return "SELECT count(*), min(" + g.column(s, "id") + "), max(" + g.column(s, "id") + "), sum(" +
			g.column(s, "id") + ") FROM " + g.where(s), unordered
	case 4:
		return "SELECT count(*) FILTER (WHERE " + wrap(g.condition(s, 1)) + ") AS some, count(*) FROM " + g.where(s),
			unordered
	case 5, 6:
		return g.rowsOf(s)
	case 7, 8:
		return g.newestOf(s)
	case 9:
		return g.direct(s)
	case 10, 11, 12:
		return g.byTime(s), ordered
	case 13, 14:
		return g.byValue(s), unordered
	case 15:
		return g.distinct(s), unordered
	case 16:
		return g.join()
	case 17:
		return g.columnsOf(s)
	case 18:
		return g.aliases(s)
	}
	return g.other(s)
}

// timesOnly reads a table of times, mostly without using the column.
func (g *grammar) timesOnly() (string, order) {
	s := scope{table: g.narrow}
	tail := from(s)
	if g.IntN(3) > 0 {
		tail += " WHERE " + wrap(g.timeCondition(s))
	}
	switch g.IntN(4) {
	case 0:
		return "SELECT " + one(g, "count(*)", "max(COLUMNS('t.'))", "min(COLUMNS(*)), count(*)", "count(ts), max(ts)",
			"count(DISTINCT ts)") + " FROM " + tail, unordered
	case 1:
		return "SELECT " + one(g, "*", "ts", "COLUMNS('^t')", "DISTINCT *", "#1") + " FROM " + tail, unordered
	case 2:
		return "SELECT * FROM " + tail + " ORDER BY " + one(g, "ts DESC", "1", "ts") + g.limit(), ordered
	}
	return g.byTime(s), ordered
}

// where returns the part of a statement from its table on.
func (g *grammar) where(s scope) string {
	if g.IntN(10) == 0 {
		return from(s)
	}
	return from(s) + " WHERE " + wrap(g.condition(s, g.IntN(3)))
}

// some returns a list of columns.
func (g *grammar) some(s scope) string {
	if g.IntN(5) == 0 {
		if s.alias != "" && g.IntN(2) == 0 {
			return s.alias + ".*"
		}
		return "*"
	}
	names := g.named(s, func(*field) bool { return true })
	return strings.Join(names[:1+g.IntN(min(4, len(names)))], ", ")
}

func (g *grammar) limit() string {
	out := fmt.Sprintf(" LIMIT %d", one(g, 1, 2, 5, 10, 30, 100, 1000))
	if g.IntN(5) == 0 {
		out += fmt.Sprintf(" OFFSET %d", 1+g.IntN(20))
	}
	return out
}

func (g *grammar) rowsOf(s scope) (string, order) {
	return "SELECT " + g.some(s) + " FROM " + g.where(s), unordered
}

// newestOf orders by the time and the number of the row.
func (g *grammar) newestOf(s scope) (string, order) {
	list := g.some(s)
	if g.IntN(6) == 0 {
		list = one(g, "id, upper(msg) AS up", "id, unnest([1, 2]) AS u", "id + 1 AS n, ts AS moment",
			"id, (SELECT 1) AS one", "*, id AS again", "id, row_number() OVER () > 0 AS w")
		if strings.Contains(list, "unnest") {
			return "SELECT " + list + " FROM " + g.where(s) + " ORDER BY ts DESC, id DESC, u" + g.limit(), ordered
		}
	}
	return "SELECT " + list + " FROM " + g.where(s) + " ORDER BY " + one(g, "ts DESC", "ts DESC", "ts DESC", "ts",
		"ts DESC NULLS LAST", "TS DESC") + ", id DESC" + g.limit(), ordered
}

// direct returns a statement that may be answered without the engine.
func (g *grammar) direct(s scope) (string, order) {
	names := g.named(s, func(f *field) bool { return true })
	list := strings.Join(append([]string{g.column(s, "ts")}, names[:1+g.IntN(min(4, len(names)))]...), ", ")
	var parts []string
	for range 1 + g.IntN(2) {
		parts = append(parts, g.plain(s))
	}
	sql := "SELECT " + list + " FROM " + from(s) + " WHERE " + wrap(strings.Join(parts, one(g, " AND ", " AND ", " OR ")))
	if g.IntN(3) == 0 {
		return sql, unordered
	}
	return sql + " ORDER BY ts" + one(g, " DESC", " DESC", "") +
		one(g, g.limit(), fmt.Sprintf(" LIMIT %d", 1+g.IntN(50))), byTime
}

// plain returns a condition of the kinds that are evaluated without the engine.
func (g *grammar) plain(s scope) string {
	f := s.fields[g.IntN(len(s.fields))]
	col := g.column(s, f.name)
	switch {
	case g.IntN(4) == 0:
		return g.column(s, "ts") + one(g, " >= ", " < ", " > ", " <= ", " = ") + g.momentLiteral(g.moment(s, nil), s.unit)
	case f.typ == schema.Boolean:
		return one(g, col, "NOT "+col)
	case f.typ == schema.String && g.IntN(3) == 0:
		return col + one(g, " LIKE ", " NOT LIKE ") + quote(one(g, "%conn%", "r-00%", "%1", "h1%", "%", "a", "%o%e%"))
	case f.typ.IsTimestamp() || f.typ == schema.JSON || f.typ == schema.Binary:
		return col + one(g, " IS NULL", " IS NOT NULL")
	}
	return g.comparison(col, func() string { return g.literal(f) })
}

// byTime counts rows by time.
func (g *grammar) byTime(s scope) string {
	expr, _ := g.timeExpression(s)
	cond := ""
	switch g.IntN(4) {
	case 0:
		if len(s.fields) > 0 {
			cond = " WHERE " + wrap(g.condition(s, 1))
		}
	case 1, 2:
		cond = " WHERE " + wrap(g.timeCondition(s))
	}
	having := ""
	if g.IntN(5) == 0 {
		having = " HAVING count(*) " + one(g, "> 1", "= 1", "< 50", "BETWEEN 2 AND 20")
	}
	counts := one(g, "count(*)", "count(*) AS n", "count(*), count(*) * 2", "count(*), typeof(any_value("+expr+"))",
		"count(ts)", "count(*) FILTER (WHERE "+g.timeCondition(s)+")")
	if len(s.fields) > 0 && g.IntN(4) == 0 {
		counts = one(g, "count(*), sum(i32)", "count(host)")
	}
	sql := "SELECT " + expr + " AS m, " + counts + " FROM " + from(s) + cond + " GROUP BY " +
		one(g, "m", "1", "ALL", expr) + having + " ORDER BY m"
	if g.IntN(5) == 0 {
		sql += one(g, " DESC", "") + g.limit()
	}
	return sql
}

// byValue groups by a column and adds up values with sums that do not depend on the order of rows.
func (g *grammar) byValue(s scope) string {
	f := s.fields[g.IntN(len(s.fields))]
	col := g.column(s, f.name)
	adds := one(g, "count(*)", "count("+col+")", "count(*), count(DISTINCT "+col+")", "min("+col+"), count(*)",
		"max("+col+")", "count(*) AS n")
	if small := f.typ.IsInteger() && f.typ != schema.Int64 && f.typ != schema.Uint64; (small || f.halves) &&
		g.IntN(2) == 0 {
		adds = one(g, "sum("+col+")", "avg("+col+"), count(*)", "sum("+col+" + 1)", "sum("+col+" * 2) - min("+col+")")
	}
	cond := ""
	switch g.IntN(4) {
	case 0:
		cond = " WHERE " + wrap(g.condition(s, 1))
	case 1, 2:
		cond = " WHERE " + wrap(g.plainOn(s, f))
	}
	having := ""
	if g.IntN(4) == 0 {
		having = " HAVING " + one(g, "count(*) > 3", "count("+col+") = 0", "min("+col+") IS NOT NULL")
	}
	switch g.IntN(4) {
	case 0:
		return "SELECT " + adds + " FROM " + from(s) + cond + having
	case 1:
		return "SELECT " + one(g, "count(*)", "count("+col+")") + " FILTER (WHERE " + wrap(g.plainOn(s, f)) +
			") AS some, " + adds + " FROM " + from(s) + cond
	}
	return "SELECT " + col + " AS v, " + adds + " FROM " + from(s) + cond + " GROUP BY " +
		one(g, "v", "1", "ALL", col) + having
}

// plainOn returns a condition on one column.
func (g *grammar) plainOn(s scope, f *field) string {
	if f.typ == schema.String && g.IntN(3) == 0 {
		return g.textCondition(f, g.column(s, f.name))
	}
	return g.comparison(g.column(s, f.name), func() string {
		if f.typ.IsTimestamp() {
			return g.momentLiteral(g.moment(s, f), f.typ)
		}
		return g.literal(f)
	})
}

func (g *grammar) distinct(s scope) string {
	return "SELECT DISTINCT " + g.some(s) + " FROM " + g.where(s)
}

// join reads two tables.
func (g *grammar) join() (string, order) {
	a, b := scope{one(g, g.tables...), "a"}, scope{one(g, g.tables...), "b"}
	for a.large || b.large {
		a, b = scope{g.tables[g.IntN(len(g.tables))], "a"}, scope{g.tables[g.IntN(len(g.tables))], "b"}
	}
	kind := one(g, "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "ASOF JOIN",
		"ASOF LEFT JOIN", "CROSS JOIN")
	on := " ON a.req = b.req"
	if g.IntN(2) == 0 {
		on += " AND " + wrap(g.condition(one(g, a, b), 0))
	}
	where := " WHERE " + wrap(g.condition(a, 1))
	list := "count(*), sum(a.id), sum(b.id)"
	switch kind {
	case "SEMI JOIN", "ANTI JOIN":
		list = "count(*), sum(a.id)"
	case "ASOF JOIN", "ASOF LEFT JOIN":
		// If several rows have the same time, any of them may be the nearest.
		list, on = "count(*), sum(a.id), count(b.ts)", " ON a.svc = b.svc AND a.ts >= b.ts"
	case "CROSS JOIN":
		on, where = "", " WHERE a.req = b.req AND "+wrap(g.condition(one(g, a, b), 1))
	default:
		if g.IntN(2) == 0 {
			where += " AND " + wrap(g.condition(b, 0))
		}
	}
	return "SELECT " + list + " FROM " + from(a) + " " + kind + " " + from(b) + on + where, unordered
}

// columnsOf returns a statement that selects columns by patterns.
func (g *grammar) columnsOf(s scope) (string, order) {
	list := one(g, "COLUMNS('^(id|i.*)$')", "COLUMNS('(id)') AS 'x_\\1'", "-epoch_ns(COLUMNS('(ts)')) AS '\\1', id",
		"COLUMNS(c -> c LIKE 'i%')", "* EXCLUDE (host)", "* REPLACE (-id AS id)", "* RENAME (id AS nr)",
		"COLUMNS(*)", "COLUMNS(['id', 'svc'])", "COLUMNS('^i(8|32)$')::VARCHAR, id", "*, id AS more",
		"coalesce(COLUMNS(['i8', 'i16']), 0), id", "COLUMNS('(i)8') AS ts, id", "struct_pack(*COLUMNS(['id', 'i8'])), id")
	tail := " ORDER BY ts DESC, id DESC"
	if strings.Contains(list, "RENAME") {
		tail = " ORDER BY ts DESC, nr DESC"
	}
	switch g.IntN(4) {
	case 0:
		return "SELECT min(COLUMNS('^(id|i8|svc)$')), count(COLUMNS(['ok', 'j'])) FROM " + g.where(s), unordered
	case 1:
		return "SELECT " + list + " FROM " + g.where(s), unordered
	}
	return "SELECT " + list + " FROM " + g.where(s) + tail + g.limit(), ordered
}

// aliases returns a statement whose aliases hide columns.
func (g *grammar) aliases(s scope) (string, order) {
	switch g.IntN(8) {
	case 0:
		return "SELECT id AS ts, host FROM " + g.where(s) + " ORDER BY ts DESC" + g.limit(), ordered
	case 1:
		return "SELECT -id AS \"TS\" FROM " + g.where(s) + " ORDER BY ts DESC" + g.limit(), ordered
	case 2:
		return "SELECT svc AS host, count(*) AS n FROM " + g.where(s) + " GROUP BY ALL", unordered
	case 3:
		return "SELECT date_trunc('hour', ts) AS ts, count(*) FROM " + g.where(s) + " GROUP BY " +
			one(g, "1", "ALL", "date_trunc('hour', ts)") + " ORDER BY 1", ordered
	case 4:
		return "SELECT id AS k, host AS svc FROM " + from(s) + " WHERE " +
			wrap("k > "+fmt.Sprint(g.IntN(500))+" AND "+g.condition(s, 0)), unordered
	case 5:
		return "SELECT max(id) AS ts, host FROM " + g.where(s) + " GROUP BY host ORDER BY ts DESC" + g.limit(), ordered
	case 6:
		return "SELECT x.a, x.b FROM (SELECT ts AS a, id AS b, host FROM " + from(s) + ") AS x WHERE " +
			wrap("x.b > 5 AND x.host <> 'b'") + " ORDER BY x.a DESC, x.b DESC" + g.limit(), ordered
	}
	return "SELECT \"" + s.fields[0].name + "\", count(*) AS \"count\" FROM " + g.where(s) +
		" GROUP BY 1 HAVING count(*) > 1", unordered
}

// other returns a statement of a rarer form.
func (g *grammar) other(s scope) (string, order) {
	switch g.IntN(10) {
	case 0:
		return "WITH c AS (SELECT * FROM " + g.where(s) + ") SELECT count(*), max(id) FROM c", unordered
	case 1:
		return "SELECT id FROM " + g.where(s) + " UNION ALL SELECT id FROM " + g.where(s), unordered
	case 2:
		return "SELECT id FROM " + g.where(s) + " EXCEPT SELECT id FROM " + g.where(s), unordered
	case 3:
		return "FROM " + g.where(s) + " SELECT id, host", unordered
	case 4:
		return "FROM " + g.where(s), unordered
	case 5:
		return "SELECT id, row_number() OVER (ORDER BY ts, id) AS r FROM " + g.where(s) + " ORDER BY ts DESC, id DESC" +
			g.limit(), ordered
	case 6:
		return "SELECT id FROM " + g.where(s) +
			" QUALIFY row_number() OVER (PARTITION BY host ORDER BY ts DESC, id DESC) <= 2 ORDER BY ts DESC, id DESC" +
			g.limit(), ordered
	case 7:
		return "SELECT (SELECT count(*) FROM " + g.where(scope{s.table, "q"}) + ") AS n, count(*) FROM " + g.where(s),
			unordered
	case 8:
		return "SELECT #1, #2 FROM (SELECT id, host FROM " + g.where(s) + ")", unordered
	}
	return "SELECT DISTINCT ON (svc) svc, id FROM " + g.where(s) + " ORDER BY svc, ts DESC, id DESC", ordered
}

// same reports whether two answers are equal as far as the statement defines them.
func same(a, b *answer, o order) bool {
	if a.columns != b.columns || len(a.rows) != len(b.rows) {
		return false
	}
	switch o {
	case unordered:
		return slices.Equal(lines(a.rows), lines(b.rows))
	case ordered:
		return slices.EqualFunc(a.rows, b.rows, slices.Equal)
	}
	if len(a.rows) == 0 {
		return true
	}
	last, first := a.rows[len(a.rows)-1][0], a.rows[0][0]
	var kept [2][][]string
	for i, rows := range [][][]string{a.rows, b.rows} {
		for k, r := range rows {
			if r[0] != a.rows[k][0] {
				return false
			}
			if r[0] != last && r[0] != first { // an OFFSET may cut the first time
				kept[i] = append(kept[i], r)
			}
		}
	}
	return slices.Equal(lines(kept[0]), lines(kept[1]))
}
