package engine

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// needsAhead is how long after Needs its statement may begin to run: what conditions on
// the present moment let through by then is needed, too.
const needsAhead = time.Hour

// Needs tells what a statement reads of the request's tables, for who has to fetch rows
// from elsewhere: which columns, and a condition that all rows meet that matter. Both may
// be more than need be. The segments and batches of the request are not looked at.
func (e *Engine) Needs(ctx context.Context, req *query.Request) ([]query.Need, error) {
	st, req, err := e.study(ctx, req)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	first, err := newPlans(st.statement, st.shape, req, now, e.settings)
	if err != nil {
		return nil, err
	}
	later, err := newPlans(st.statement, st.shape, req, now.Add(needsAhead), e.settings)
	if err != nil {
		return nil, err
	}
	return needsOf(first, later, now), nil
}

// needsOf returns what the references of a statement read, by its plans at two moments.
func needsOf(first, later *planned, now time.Time) []query.Need {
	var out []query.Need
	for _, v := range first.views {
		need := query.Need{Name: query.TableName{Database: v.Database, Name: v.Name}}
		times := span{math.MaxInt64, math.MinInt64}
		columns := map[int]bool{}
		refs, filter := 0, ""
		for k, p := range first.plans {
			if p.view != v {
				continue
			}
			refs++
			filter = p.literals(now)
			for _, c := range p.need(p.st.whole) {
				columns[c] = true
			}
			for _, p := range []*plan{p, later.plans[k]} {
				t := p.times()
				times = span{min(times.lo, t.lo), max(times.hi, t.hi)}
			}
		}
		for c := range v.columns {
			if columns[c] {
				need.Columns, need.IDs = append(need.Columns, v.names[c]), append(need.IDs, v.columns[c].ID)
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

// times bounds the time index, in nanoseconds, of the rows that may meet the conditions.
func (p *plan) times() span {
	if p.may == nil {
		return always
	}
	may := func(s span) bool { return p.may(&probe{times: s, identity: p.view.Merge != query.Append}) }
	if !may(always) {
		return span{math.MaxInt64, math.MinInt64}
	}
	// A span that has another one is possible if that is, so the ends can be searched for.
	out := always
	if !may(span{math.MinInt64, math.MinInt64}) {
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64) // nothing up to lo, something up to hi
		for uint64(hi)-uint64(lo) > 1 {
			if mid := lo + int64((uint64(hi)-uint64(lo))/2); may(span{math.MinInt64, mid}) {
				hi = mid
			} else {
				lo = mid
			}
		}
		out.lo = hi
	}
	if !may(span{math.MaxInt64, math.MaxInt64}) {
		lo, hi := int64(math.MinInt64), int64(math.MaxInt64) // something from lo on, nothing from hi on
		for uint64(hi)-uint64(lo) > 1 {
			if mid := lo + int64((uint64(hi)-uint64(lo))/2); may(span{mid, math.MaxInt64}) {
				lo = mid
			} else {
				hi = mid
			}
		}
		out.hi = lo
	}
	return out
}

// within is the conditions that a row's time index lies in a span of nanoseconds.
func (v *tableView) within(s span) []string {
	if s.lo > s.hi {
		return []string{"false"}
	}
	index := v.Schema.TimeIndex()
	if index == nil || index.Type.UnitsPerSecond() == 0 {
		return nil
	}
	per := second / index.Type.UnitsPerSecond()
	var out []string
	if s.lo > math.MinInt64 {
		if c := v.since(floorDiv(s.lo, per)); c != "" {
			out = append(out, c)
		}
	}
	if s.hi < math.MaxInt64-per {
		if c := v.since(floorDiv(s.hi, per) + 1); c != "" {
			out = append(out, "NOT ("+c+")")
		}
	}
	return out
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// literals is those of the reference's conditions that compare a column with literals, as
// text; empty: none.
func (p *plan) literals(now time.Time) string {
	var out []string
	for _, c := range p.ref.conds {
		pl := &planner{schema: p.view.Schema, names: p.view.names, alias: c.alias, alone: c.alone, constants: p.constants(now)}
		out = append(out, pl.literals(c.expr)...)
	}
	return strings.Join(out, " AND ")
}

func (p *planner) literals(v any) (out []string) {
	n, _ := v.(node)
	kind := text(n, "type")
	switch text(n, "class") {
	case "CONJUNCTION":
		if kind == "CONJUNCTION_AND" {
			for _, child := range args(n) {
				out = append(out, p.literals(child)...)
			}
		}
	case "COMPARISON":
		if kind == "COMPARE_EQUAL" {
			for _, sides := range [][2]any{{n["left"], n["right"]}, {n["right"], n["left"]}} {
				if t := p.in(sides[0], sides[1]); t != "" {
					return []string{t}
				}
			}
		}
	case "OPERATOR":
		if list := args(n); kind == "COMPARE_IN" && len(list) > 1 {
			if t := p.in(list[0], list[1:]...); t != "" {
				return []string{t}
			}
		}
	}
	return out
}

// in is the condition that a column has one of some literal values, as text.
func (p *planner) in(left any, values ...any) string {
	var b strings.Builder
	for i, v := range values {
		c, l := p.literal(left, v)
		if c == nil {
			return ""
		}
		if i == 0 {
			b.WriteString(quoteName(c.Name) + " IN (")
		} else {
			b.WriteString(", ")
		}
		switch c.Type {
		case schema.String:
			b.WriteString(quoteText(string(l.text)))
		case schema.Float64:
			b.WriteString(strconv.FormatFloat(l.number, 'f', -1, 64))
		default:
			b.WriteString(strconv.FormatInt(l.whole, 10))
		}
	}
	return b.String() + ")"
}
