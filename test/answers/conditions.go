package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// scope is a table as a statement refers to it. alias qualifies its columns; it is empty if the
// table is the only one.
type scope struct {
	*table
	alias string
}

// grammar generates statements.
type grammar struct {
	*rand.Rand
	tables []*table
	// narrow is a table whose only column is its time index.
	narrow *table
	// deep is the number of enclosing queries.
	deep int
}

func one[T any](g *grammar, list ...T) T { return list[g.IntN(len(list))] }

// column returns the reference to a column, in one of its spellings.
func (g *grammar) column(s scope, name string) string {
	switch {
	case s.alias == "" && g.IntN(12) == 0:
		name = s.name + "." + name
	case g.IntN(12) == 0:
		name = strings.ToUpper(name)
	case g.IntN(12) == 0:
		name = schema.QuoteIdent(name)
	case g.IntN(12) == 0:
		name = "`" + name + "`"
	}
	if s.alias != "" {
		return s.alias + "." + name
	}
	return name
}

// condition returns a condition on the rows of one table.
func (g *grammar) condition(s scope, depth int) string {
	if depth > 0 {
		switch g.IntN(7) {
		case 0:
			return "NOT (" + g.condition(s, depth-1) + ")"
		case 1, 2:
			return g.condition(s, depth-1) + " AND " + g.condition(s, depth-1)
		case 3:
			return "(" + g.condition(s, depth-1) + " OR " + g.condition(s, depth-1) + ")"
		case 4:
			return "(" + g.condition(s, depth-1) + ")" + one(g, " IS TRUE", " IS NOT TRUE", " = true", " IS NULL", "")
		}
	}
	if g.IntN(5) < 2 {
		return g.timeCondition(s)
	}
	f := s.fields[g.IntN(len(s.fields))]
	if g.IntN(40) == 0 && g.deep == 0 {
		return g.subquery(s)
	}
	col := g.column(s, f.name)
	if f.typ == schema.String && g.IntN(2) == 0 {
		return g.textCondition(f, col)
	}
	if f.typ == schema.JSON && g.IntN(2) == 0 {
		return one(g, col+"->>'$.a' = '1'", "'1' = "+col+"->>'$.a'", col+"->'b'->>0 = '1' AND "+col+"->>'a' LIKE 'x%'",
			col+"->>'a' IS NOT NULL", "json_type("+col+") = 'ARRAY'", col+"::VARCHAR = '[]'")
	}
	if f.typ == schema.Boolean && g.IntN(2) == 0 {
		return one(g, col, "NOT "+col)
	}
	if f.typ.IsTimestamp() {
		return g.comparison(col, func() string { return g.momentLiteral(g.moment(s, f), f.typ) })
	}
	if g.IntN(15) == 0 {
		col = one(g, "coalesce("+col+", "+g.literal(f)+")", col+"::VARCHAR", "("+col+")", "typeof("+col+")")
	}
	return g.comparison(col, func() string { return g.literal(f) })
}

// comparison returns a comparison of an expression with literals.
func (g *grammar) comparison(expr string, literal func() string) string {
	op := one(g, "=", "=", "<>", "!=", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
	switch g.IntN(12) {
	case 0, 1:
		list := []string{literal()}
		for range g.IntN(4) {
			list = append(list, literal())
		}
		return expr + one(g, " IN (", " IN (", " NOT IN (") + strings.Join(list, ", ") + ")"
	case 2, 3:
		return expr + one(g, " BETWEEN ", " BETWEEN ", " NOT BETWEEN ") + literal() + " AND " + literal()
	case 4:
		return expr + one(g, " IS NULL", " IS NOT NULL")
	case 5:
		return literal() + " " + op + " " + expr
	}
	return expr + " " + op + " " + literal()
}

// literal returns a literal to compare a column with, often one of another type.
func (g *grammar) literal(f *field) string {
	v := f.values(g.Rand)
	if f.name == "id" {
		v = g.Int64N(3000)
	}
	if g.IntN(10) == 0 {
		return one(g, "NULL", "'5'", "' 5 '", "'5.5'", "5", "5.5", "0.1", "-1", "0", "1e0", "4.2e1", "300", "'300'",
			"'1e2'", "true", "'true'", "'a'", "''", "'h1'",
			"9007199254740993", "9007199254740993.0", "18446744073709551615", "9223372036854775808", "-129", "255.5",
			"'NaN'", "'Infinity'", "'inf'::DOUBLE", "42.0000000000000001", "42::UTINYINT",
			"'2023-11-15'", "DATE '2023-11-15'", "5::DECIMAL(5,2)", "0.1::FLOAT", "'\\x00\\xFF'::BLOB", "1::HUGEINT",
			"2+3", "(5)", "e'h1'", "$$a$$", "'h1 '", "'A'")
	}
	switch v := v.(type) {
	case int64:
		if f.typ == schema.Boolean {
			return one(g, strconv.FormatBool(v != 0), "'"+strconv.FormatBool(v != 0)+"'", strconv.FormatInt(v, 10))
		}
		s := cell(f, v)
		return one(g, s, s, s, s+".0", s+".5", "'"+s+"'", s+"e0", "("+s+")", "CAST("+s+" AS HUGEINT)")
	case float64:
		if v-v != 0 {
			return "'" + floatText(v) + "'::" + one(g, "DOUBLE", "FLOAT")
		}
		s := strconv.FormatFloat(v, one(g, byte('g'), 'f', 'f'), -1, 64)
		return one(g, s, s, s, "'"+s+"'", s+"::DOUBLE", s+"::FLOAT")
	case string:
		if f.typ == schema.Binary {
			return one(g, "'h1'::BLOB", "'a'::BLOB", "''::BLOB", `'\x00\xFF'::BLOB`)
		}
		return quote(v)
	}
	return "NULL"
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// textCondition returns a condition that searches a text.
func (g *grammar) textCondition(f *field, col string) string {
	word := one(g, words...)
	if v, ok := f.values(g.Rand).(string); ok && g.IntN(2) == 0 {
		word = v
		if n := len(v); n > 2 && g.IntN(2) == 0 {
			word = strings.ToValidUTF8(v[g.IntN(n/2):n-g.IntN(n/2)], "")
		}
	}
	pattern := one(g, "%"+word+"%", word+"%", "%"+word, word, "%", "_%", "", "%"+word+"%"+one(g, words...)+"%",
		"_"+word, word+"_")
	switch g.IntN(12) {
	case 0, 1, 2, 3:
		return col + one(g, " LIKE ", " LIKE ", " NOT LIKE ", " ILIKE ", " NOT ILIKE ") + quote(pattern)
	case 4:
		return col + " LIKE " + quote(pattern) + " ESCAPE " + one(g, "'!'", "'\\'", "''")
	case 5:
		return one(g, "starts_with", "contains", "ends_with", "prefix", "suffix") + "(" + col + ", " + quote(word) + ")"
	case 6:
		return col + one(g, " ~ ", " !~ ", " ~* ", " SIMILAR TO ") +
			quote(one(g, "conn", "^r", "[a-z]+", "d.*k", "r-0..1", "(a|b)"))
	case 7:
		return col + " GLOB " + quote(one(g, "*"+word+"*", word+"*", "?*", "[a-c]*"))
	case 8:
		return col + " ^@ " + quote(word)
	}
	if f.name != "msg" {
		return "lower(" + col + ") = " + quote(strings.ToLower(word))
	}
	if g.IntN(2) == 0 {
		return "matches_term(" + col + ", " + quote(one(g, "refused", "conn", "disk", "Conn reset", "über", "STRASSE",
			"a_b", "42", "100%", "it's")) + ")"
	}
	return "matches(" + col + ", " + quote(one(g, "refused", "conn reset", `"conn reset"`, "disk OR full",
		"NOT timeout", "conn AND NOT (reset OR full)", "a_b", "nosuch", "über x", `"c:\\x"`)) + ")"
}

// moment returns a time near a row of the table, in the unit of the time index or of a column.
func (g *grammar) moment(s scope, f *field) int64 {
	unit, ts := s.unit, int64(0)
	if len(s.rows) > 0 {
		ts = s.rows[g.IntN(len(s.rows))].ts
	}
	if f != nil {
		unit = f.typ
		if v, ok := f.values(g.Rand).(int64); ok {
			ts = v
		}
	}
	per := unit.UnitsPerSecond()
	switch g.IntN(8) {
	case 0, 1:
		border := per * one(g, int64(1), 60, 3600, 86400)
		ts = ts / border * border
	case 2:
		ts += g.Int64N(3) - 1
	case 3:
		ts += g.Int64N(7200*per) - 3600*per
	}
	return ts
}

// momentLiteral returns a constant for a time, in one of many types.
func (g *grammar) momentLiteral(ts int64, unit schema.Type) string {
	if g.IntN(25) == 0 {
		return one(g, "NULL", "'infinity'::TIMESTAMP", "'-infinity'::TIMESTAMP", "'epoch'::TIMESTAMP", "'infinity'",
			"now()", "now() - INTERVAL '1 day'", "current_date", "'infinity'::DATE", "today() - 5",
			"'294247-01-10 04:00:54'", "'1970-01-01'", "'0001-01-01'", "'1677-09-21 00:12:43.145224193'", "'2262-04-11'")
	}
	at, ok := clockTime(ts, unit)
	if !ok {
		return one(g, fmt.Sprintf("make_timestamp(%d)", ts/1000), fmt.Sprintf("make_timestamp_ns(%d)", ts),
			"'9999-12-31'", "'0001-01-01'", "'12000-01-01'", "'0044-03-15 (BC)'", fmt.Sprintf("epoch_ms(%d)", ts))
	}
	text := g.momentText(at)
	switch g.IntN(14) {
	case 0, 1, 2, 3, 4:
		return quote(text)
	case 5:
		return "TIMESTAMP " + quote(text)
	case 6:
		return quote(text) + "::" + one(g, "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ", "DATE")
	case 7:
		return one(g, "DATE ", "DATE ", "TIMESTAMPTZ ", "TIMESTAMP_NS ", "TIMESTAMP_S ") + quote(text)
	case 8:
		return one(g, fmt.Sprintf("make_timestamp(%d)", at.UnixMicro()), fmt.Sprintf("to_timestamp(%d)", at.Unix()),
			fmt.Sprintf("to_timestamp(%d.5)", at.Unix()),
			fmt.Sprintf("epoch_ms(%d)", at.UnixMilli()), fmt.Sprintf("make_timestamp_ns(%d)", at.UnixNano()),
			fmt.Sprintf("make_timestamp_ms(%d)", at.UnixMilli()))
	case 9, 10:
		return "TIMESTAMP " + quote(text) + one(g, " + ", " - ") + g.interval()
	case 11:
		return "date_trunc('" + g.unit() + "', TIMESTAMP " + quote(text) + ")"
	case 12:
		return "DATE " + quote(at.Format(time.DateOnly)) + one(g, " + 1", " - 1", " + INTERVAL 1 DAY",
			" - INTERVAL '3 hours'", "")
	}
	return "TIMESTAMP " + quote(text) + " AT TIME ZONE 'UTC'"
}

// momentText returns a time as text.
func (g *grammar) momentText(at time.Time) string {
	layout := one(g, "2006-01-02", "2006-01-02", "2006-01-02 15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
		"2006-01-02 15:04", "2006-01-02 15:04:05.999", "2006-01-02 15:04:05.999999",
		"2006-01-02 15:04:05.999999999", "2006-1-2", "2006-01-02 15:04:05.5", "2006-01-02 15", "2006/01/02", "2006-01")
	text := at.Format(layout)
	if strings.Contains(layout, ":05") && g.IntN(4) == 0 {
		text += one(g, "Z", " UTC", "+00", "+02", "-05:30", "+14:00", " Europe/Paris", "+1", "-15:59")
	}
	switch g.IntN(30) {
	case 0:
		return " " + text
	case 1:
		return text + "  "
	}
	return text
}

func (g *grammar) unit() string {
	return one(g, "second", "minute", "minute", "hour", "hour", "day", "week", "month", "quarter", "year",
		"millisecond", "microsecond", "decade", "century", "Minutes", "isoyear", "us", "h", "nanosecond")
}

func (g *grammar) interval() string {
	return one(g, "INTERVAL 1 HOUR", "INTERVAL '5 minutes'", "INTERVAL '1 day'", "INTERVAL '90 seconds'",
		"INTERVAL '1 month'", "INTERVAL '-1 hour'", "INTERVAL (3) MINUTE", "INTERVAL '1 day 2 hours'",
		"to_minutes(7)", "INTERVAL '1.5 hours'", "INTERVAL '1 year'", "INTERVAL '10 ms'", "INTERVAL '01:30:00'",
		"INTERVAL 1.5 SECOND", "to_hours(-2)", "INTERVAL '1 week'")
}

// timeExpression returns an expression of the time index, and a function that returns constants to
// compare it with.
func (g *grammar) timeExpression(s scope) (expr string, literal func() string) {
	ts := g.column(s, "ts")
	literal = func() string { return g.momentLiteral(g.moment(s, nil), s.unit) }
	if g.IntN(10) == 0 {
		return ts, func() string { return strconv.FormatInt(g.moment(s, nil), 10) }
	}
	number := func(per int64) func() string {
		return func() string {
			at, ok := clockTime(g.moment(s, nil), s.unit)
			if !ok {
				return one(g, "0", "1e18", "-1e18")
			}
			v := at.UnixNano() / per
			return one(g, fmt.Sprint(v), fmt.Sprint(v), fmt.Sprintf("%d.5", v), fmt.Sprintf("'%d'", v),
				fmt.Sprintf("%de0", v), fmt.Sprintf("%d - 1", v))
		}
	}
	switch g.IntN(18) {
	case 0, 16, 17:
		return ts + "::DATE", literal
	case 1:
		return "CAST(" + ts + " AS " + one(g, "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ",
			"DATE", "TIMESTAMP::DATE") + ")", literal
	case 2, 3:
		return "date_trunc('" + g.unit() + "', " + ts + ")", literal
	case 4:
		return "time_bucket(" + g.interval() + ", " + ts + ")", literal
	case 5:
		return "epoch(" + ts + ")", number(1e9)
	case 6:
		return "epoch_ms(" + ts + ")", number(1e6)
	case 7:
		return one(g, "epoch_us(", "epoch_ns(") + ts + ")", number(one(g, int64(1), 1000))
	case 8:
		switch g.IntN(4) {
		case 0:
			return ts + one(g, " + ", " - ") + g.interval(), literal
		case 1:
			return "extract(" + one(g, "hour", "year", "dow", "minute", "epoch") + " FROM " + ts + ")", func() string {
				return one(g, "0", "5", "23", "2023", "1969", "'7'", "3.5")
			}
		case 2:
			return "(" + ts + ")", literal
		}
		return "time_bucket(" + g.interval() + ", " + ts + ", " +
			one(g, "INTERVAL '30 minutes'", "TIMESTAMP '2000-01-01 00:07:00'") + ")", literal
	}
	return ts, literal
}

func (g *grammar) timeCondition(s scope) string {
	expr, literal := g.timeExpression(s)
	return g.comparison(expr, literal)
}

// subquery returns a condition with another query.
func (g *grammar) subquery(s scope) string {
	g.deep++
	defer func() { g.deep-- }()
	other := scope{one(g, g.tables...), "o"}
	if g.IntN(2) == 0 {
		return g.column(s, "host") + " IN (SELECT o.host FROM " + from(other) + " WHERE " + wrap(g.condition(other, 1)) + ")"
	}
	own := s.alias
	if own == "" {
		own = s.name
	}
	return one(g, "", "NOT ") + "EXISTS (SELECT 1 FROM " + from(other) + " WHERE o.i8 = " + own + ".i8 AND " +
		wrap(g.condition(other, 0)) + ")"
}

// Generated statements contain marks around the parts that differ in the two forms.
const (
	beginCondition, endCondition = "\x01", "\x02"
	beginTable, endTable         = "\x03", "\x04"
)

func wrap(condition string) string { return beginCondition + condition + endCondition }

// from returns a table in FROM.
func from(s scope) string {
	alias := s.alias
	if alias == "" {
		return beginTable + s.name + endTable
	}
	return beginTable + s.name + endTable + " AS " + alias
}

// asIs returns the statement without its marks, as a client would write it.
func asIs(marked string) string {
	return strings.NewReplacer(beginCondition, "", endCondition, "", beginTable, "", endTable, "").Replace(marked)
}

// opaque returns the statement in a form that no planner can analyse: conditions are inside CASE,
// and tables inside queries that read all their rows twice.
func opaque(marked string) string {
	var b strings.Builder
	for rest := marked; rest != ""; {
		i := strings.IndexAny(rest, beginCondition+endCondition+beginTable)
		if i < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i])
		mark := rest[i : i+1]
		rest = rest[i+1:]
		switch mark {
		case beginCondition:
			b.WriteString("CASE WHEN (")
		case endCondition:
			b.WriteString(") THEN true ELSE false END")
		case beginTable:
			name, after, _ := strings.Cut(rest, endTable)
			// The second SELECT returns no rows. The fast counts, by bounds of times or by codes,
			// handle only statements with one reference to one table.
			b.WriteString("(SELECT * FROM " + name + " UNION ALL SELECT * FROM " + name +
				" WHERE CASE WHEN true THEN false END)")
			if !strings.HasPrefix(after, " AS ") {
				b.WriteString(" AS " + name)
			}
			rest = after
		}
	}
	return b.String()
}

// named returns the names of some columns of a table, qualified if necessary.
func (g *grammar) named(s scope, keep func(*field) bool) []string {
	var out []string
	for _, f := range s.fields {
		if keep(f) {
			out = append(out, g.column(s, f.name))
		}
	}
	g.Shuffle(len(out), func(i, k int) { out[i], out[k] = out[k], out[i] })
	return slices.Clip(out)
}
