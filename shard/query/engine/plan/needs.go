package plan

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// NeedsAhead is how long after Needs the statement may begin to run. Rows that conditions on the
// present moment let through by then are needed too.
const NeedsAhead = time.Hour

// NeedsOf returns what the references of a statement read, from its plans at two moments. If whole is set, they read
// all columns.
func NeedsOf(first, later *Planned, now time.Time, whole bool) []query.Need {
	var out []query.Need
	for _, v := range first.Views {
		need := query.Need{Name: query.TableName{Database: v.Database, Name: v.Name}}
		times := Span{math.MaxInt64, math.MinInt64}
		columns := map[int]bool{}
		refs, filter := 0, ""
		for k, p := range first.Plans {
			if p.View != v {
				continue
			}
			refs++
			filter = p.literals(now)
			for _, c := range p.Need(whole) {
				columns[c] = true
			}
			for _, p := range []*Plan{p, later.Plans[k]} {
				t := p.times()
				times = Span{min(times.Lo, t.Lo), max(times.Hi, t.Hi)}
			}
		}
		if len(columns) > 1 && !whole && !v.Merges() && !first.readsTime(v) {
			delete(columns, slices.IndexFunc(v.Columns, func(c schema.Column) bool { return c.Semantic == schema.Timestamp }))
		}
		for c := range v.Columns {
			if columns[c] {
				need.Columns, need.IDs = append(need.Columns, v.Names[c]), append(need.IDs, v.Columns[c].ID)
			}
		}
		conditions := v.within(times)
		if refs == 1 && filter != "" {
			conditions = append(conditions, filter)
		}
		need.Where = strings.Join(conditions, " AND ")
		out = append(out, need)
	}
	return out
}

// readsTime reports whether a reference to the table may read its time index.
func (p *Planned) readsTime(v *View) bool {
	for _, of := range p.Plans {
		for i, c := range v.Columns {
			if of.View != v || c.Semantic != schema.Timestamp {
				continue
			}
			if of.St.Reads(of.Ref, c.Name) || of.St.Reads(of.Ref, v.Names[i]) {
				return true
			}
		}
	}
	return false
}

// times returns the bounds, in nanoseconds, of the time index of rows that may meet the conditions.
func (p *Plan) times() Span {
	if p.may == nil {
		return Always
	}
	may := func(s Span) bool { return p.may(&probe{times: s, identity: p.View.Merge != query.Append}) }
	if !may(Always) {
		return Span{math.MaxInt64, math.MinInt64}
	}
	// If a span is possible, every span that contains it is possible too. So the ends can be found
	// by binary search.
	out := Always
	if !may(Span{math.MinInt64, math.MinInt64}) {
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64) // nothing is possible up to lo, something is up to hi
		for uint64(hi)-uint64(lo) > 1 {
			if mid := lo + int64((uint64(hi)-uint64(lo))/2); may(Span{math.MinInt64, mid}) {
				hi = mid
			} else {
				lo = mid
			}
		}
		out.Lo = hi
	}
	if !may(Span{math.MaxInt64, math.MaxInt64}) {
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64) // something is possible from lo on, nothing is from hi on
		for uint64(hi)-uint64(lo) > 1 {
			if mid := lo + int64((uint64(hi)-uint64(lo))/2); may(Span{mid, math.MaxInt64}) {
				lo = mid
			} else {
				hi = mid
			}
		}
		out.Hi = lo
	}
	return out
}

// within returns the conditions that the time index of a row is within a span of nanoseconds.
func (v *View) within(s Span) []string {
	if s.Lo > s.Hi {
		return []string{"false"}
	}
	index := v.Schema.TimeIndex()
	if index == nil || index.Type.UnitsPerSecond() == 0 {
		return nil
	}
	per := Second / index.Type.UnitsPerSecond()
	var out []string
	if s.Lo > math.MinInt64 {
		if c := v.since(schema.FloorDiv(s.Lo, per)); c != "" {
			out = append(out, c)
		}
	}
	if s.Hi < math.MaxInt64-per {
		if c := v.since(schema.FloorDiv(s.Hi, per) + 1); c != "" {
			out = append(out, "NOT ("+c+")")
		}
	}
	return out
}

// literals returns, as text, the reference's conditions that compare a column with literals. It is
// empty if there are none.
func (p *Plan) literals(now time.Time) string {
	var out []string
	for _, c := range p.Ref.Conds {
		pl := &Scope{Schema: p.View.Schema, Names: p.View.Names, Alias: c.Alias, Alone: c.Alone, Constants: p.Constants(now)}
		out = append(out, pl.literals(c.Expr)...)
	}
	return strings.Join(out, " AND ")
}

// orders are the operators of comparisons by the types of their nodes.
var orders = map[string]string{
	"COMPARE_LESSTHAN": "<", "COMPARE_GREATERTHAN": ">", "COMPARE_LESSTHANOREQUALTO": "<=",
	"COMPARE_GREATERTHANOREQUALTO": ">=",
}

func (p *Scope) literals(v any) (out []string) {
	n, _ := v.(sql.Node)
	kind := sql.Text(n, "type")
	switch sql.Text(n, "class") {
	case "CONJUNCTION":
		if kind == "CONJUNCTION_AND" {
			for _, child := range sql.Args(n) {
				out = append(out, p.literals(child)...)
			}
		}
	case "BETWEEN":
		return p.literals(withoutBetween(n))
	case "COMPARISON":
		if t := p.compares(kind, n["left"], n["right"]); t != "" {
			return []string{t}
		}
		if t := p.compares(Mirrored[kind], n["right"], n["left"]); t != "" {
			return []string{t}
		}
	case "OPERATOR":
		if list := sql.Args(n); kind == "COMPARE_IN" && len(list) > 1 {
			if t := p.in(list[0], list[1:]...); t != "" {
				return []string{t}
			}
		}
	}
	return out
}

// compares returns, as text, the condition that a column is equal to a literal value, or less or greater.
func (p *Scope) compares(kind string, left, right any) string {
	if kind == "COMPARE_EQUAL" {
		return p.in(left, right)
	}
	c, l := p.literal(left, right)
	if c == nil || orders[kind] == "" {
		return ""
	}
	if _, fills := Fill(c); fills {
		return ""
	}
	return sql.QuoteName(c.Name) + " " + orders[kind] + " " + l.constant(c)
}

// in returns, as text, the condition that a column has one of some literal values.
func (p *Scope) in(left any, values ...any) string {
	var b strings.Builder
	for i, v := range values {
		c, l := p.literal(left, v)
		if c == nil {
			return ""
		}
		if i == 0 {
			b.WriteString(sql.QuoteName(c.Name) + " IN (")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(l.constant(c))
	}
	return b.String() + ")"
}

// constant returns the text of the literal as a value of its column.
func (l *literal) constant(c *schema.Column) string {
	switch c.Type {
	case schema.String:
		return sql.QuoteText(string(l.text))
	case schema.Float64:
		return strconv.FormatFloat(l.number, 'f', -1, 64)
	default:
		return strconv.FormatInt(l.whole, 10)
	}
}
