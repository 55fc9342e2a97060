package plan

import (
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// A predicate reports whether a set of rows may contain one that meets a condition, given only a
// probe of the rows. It returns false only if no row can meet it. A nil predicate is always true.
type predicate func(p *probe) bool

// Opposite maps a comparison to the one that is true when it is false.
var Opposite = map[string]string{
	"COMPARE_EQUAL": "COMPARE_NOTEQUAL", "COMPARE_NOTEQUAL": "COMPARE_EQUAL",
	"COMPARE_LESSTHAN": "COMPARE_GREATERTHANOREQUALTO", "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHAN",
	"COMPARE_GREATERTHAN": "COMPARE_LESSTHANOREQUALTO", "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHAN",
}

// Mirrored maps a comparison to the one with exchanged sides.
var Mirrored = map[string]string{
	"COMPARE_EQUAL": "COMPARE_EQUAL", "COMPARE_NOTEQUAL": "COMPARE_NOTEQUAL",
	"COMPARE_LESSTHAN": "COMPARE_GREATERTHAN", "COMPARE_GREATERTHANOREQUALTO": "COMPARE_LESSTHANOREQUALTO",
	"COMPARE_GREATERTHAN": "COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO": "COMPARE_GREATERTHANOREQUALTO",
}

// every returns a predicate that is true where all parts are.
func every(parts []predicate) predicate {
	known := parts[:0:0]
	for _, part := range parts {
		if part != nil {
			known = append(known, part)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return func(p *probe) bool {
		for _, part := range known {
			if !part(p) {
				return false
			}
		}
		return true
	}
}

// either returns a predicate that is true where one part is.
func either(parts []predicate) predicate {
	for _, part := range parts {
		if part == nil {
			return nil
		}
	}
	return func(p *probe) bool {
		for _, part := range parts {
			if part(p) {
				return true
			}
		}
		return false
	}
}

func (p *Scope) comparison(kind string, left, right any) predicate {
	if pr := p.timeComparison(kind, left, right); pr != nil {
		return pr
	}
	if pr := p.timeComparison(Mirrored[kind], right, left); pr != nil {
		return pr
	}
	bounds := p.within(kind, left, right)
	if bounds == nil {
		bounds = p.within(Mirrored[kind], right, left)
	}
	if kind != "COMPARE_EQUAL" {
		return bounds
	}
	pr := p.equality(left, right)
	if pr == nil {
		pr = p.equality(right, left)
	}
	return every([]predicate{pr, bounds})
}

// timeComparison handles a comparison of an expression of the time index, on the left, with a
// constant.
func (p *Scope) timeComparison(kind string, left, right any) predicate {
	bounds, ok := p.TimeBounds(kind, left, right)
	if !ok {
		return nil
	}
	p.used.time = true
	return func(pr *probe) bool { return pr.times.Meets(bounds) }
}

// TimeBounds returns the range of times for which such a comparison can be true.
func (p *Scope) TimeBounds(kind string, left, right any) (bounds Span, ok bool) {
	at, back, forth, ok := p.compared(left, right)
	if !ok {
		return Always, false
	}
	// The expression is at least t-back and at most t+forth. If nothing is in doubt, the border belongs to one side.
	exact := at.Lo == at.Hi && back == 0 && forth == 0 && at.Lo > -FarAway && at.Hi < FarAway
	switch {
	case exact && kind == "COMPARE_LESSTHAN":
		return Span{Always.Lo, at.Hi - 1}, true
	case exact && kind == "COMPARE_GREATERTHAN":
		return Span{at.Lo + 1, Always.Hi}, true
	}
	bounds = Always
	switch kind {
	case "COMPARE_EQUAL":
		bounds = Span{Plus(at.Lo, -forth), Plus(at.Hi, back)}
	case "COMPARE_LESSTHAN", "COMPARE_LESSTHANOREQUALTO":
		bounds.Hi = Plus(at.Hi, back)
	case "COMPARE_GREATERTHAN", "COMPARE_GREATERTHANOREQUALTO":
		bounds.Lo = Plus(at.Lo, -forth)
	default:
		return Always, false
	}
	return bounds, true
}

// compared returns the times that the constant may mean, and by how much the expression on the
// other side may be less or more than the time index.
func (p *Scope) compared(expr, constant any) (at Span, back, forth int64, ok bool) {
	back, forth, unit, ok := p.timeExpression(expr)
	switch {
	case !ok:
		return Always, 0, 0, false
	case unit != 0:
		at, ok = number(constant, unit)
	default:
		if c := p.timeIndex(expr); c != nil && isLiteralInteger(constant) {
			at, ok = number(constant, Nanoseconds(1, c.Type)) // in the unit of the column; see epoch.go
			return at, back, forth, ok
		}
		if c := p.timeIndex(expr); c != nil {
			if at, ok = exactMoment(constant, c.Type); ok {
				return at, 0, 0, true
			}
		}
		at, ok = p.Moment(constant)
		if ok && castsToDate(expr) && !isDay(constant) {
			// DuckDB converts a text to a date, too, and drops its time and zone.
			at = at.widen(day, day)
		}
	}
	return at, back, forth, ok
}

// timeIndex returns the time index if v is its name.
func (p *Scope) timeIndex(v any) *schema.Column {
	n, _ := v.(sql.Node)
	if c := p.Column(n); c != nil && c.Semantic == schema.Timestamp {
		return c
	}
	return nil
}

func isLiteralInteger(v any) bool {
	n, _ := v.(sql.Node)
	return sql.Text(n, "class") == "CONSTANT" && sql.IsWhole(n)
}

// castsToDate reports whether an expression may be of type DATE.
func castsToDate(v any) bool {
	n, _ := v.(sql.Node)
	if kind, _ := n["cast_type"].(sql.Node); sql.Text(n, "class") == "CAST" && sql.Text(kind, "id") == "DATE" {
		return true
	}
	if child, ok := n["child"]; ok && castsToDate(child) {
		return true
	}
	return slices.ContainsFunc(sql.Args(n), castsToDate)
}

// isDay reports whether a constant is the text of a date without a time.
func isDay(v any) bool {
	n, _ := v.(sql.Node)
	s, ok := sql.TextLiteral(n)
	if !ok {
		return false
	}
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// timeExpression reports by how many nanoseconds an expression of the time index may be less or
// more than the time index. If the expression is a number, unit is the number's unit in
// nanoseconds; otherwise unit is 0.
func (p *Scope) timeExpression(v any) (back, forth, unit int64, ok bool) {
	n, _ := v.(sql.Node)
	switch sql.Text(n, "class") {
	case "COLUMN_REF":
		c := p.Column(n)
		return 0, 0, 0, c != nil && c.Semantic == schema.Timestamp
	case "CAST":
		back, forth, unit, ok = p.timeExpression(n["child"])
		kind, _ := n["cast_type"].(sql.Node)
		switch id := sql.Text(kind, "id"); {
		case !ok || unit != 0:
			return 0, 0, 0, false
		case id == "DATE":
			return back + day, forth, 0, true
		case strings.HasPrefix(id, "TIMESTAMP"):
			return back + rounding, forth + rounding, 0, true
		}
	case "FUNCTION":
		name, list := sql.LowerASCII(sql.Text(n, "function_name")), sql.Args(n)
		if len(list) == 1 {
			units, known := map[string]int64{"epoch_ns": 1, "epoch_us": 1000, "epoch_ms": 1000_000, "epoch": Second}[name]
			back, forth, unit, ok = p.timeExpression(list[0])
			return back + rounding, forth + rounding, units, known && ok && unit == 0
		}
		if len(list) < 2 {
			return 0, 0, 0, false
		}
		back, forth, unit, ok = p.timeExpression(list[1])
		if !ok || unit != 0 {
			return 0, 0, 0, false
		}
		switch {
		case name == "date_trunc" || name == "datetrunc":
			by, known := truncation(list[0])
			return back + by, forth, 0, known
		case name == "time_bucket" && len(list) == 2:
			by, known := p.duration(list[0])
			return Plus(by.Hi, back), forth, 0, known && by.Lo > 0
		}
	}
	return 0, 0, 0, false
}

// Column returns the column that n names, or nil if the reference does not have it.
func (p *Scope) Column(n sql.Node) *schema.Column {
	list, _ := n["column_names"].([]any)
	if sql.Text(n, "class") != "COLUMN_REF" || len(list) == 0 || len(list) > 2 {
		return nil
	}
	name, _ := list[len(list)-1].(string)
	if len(list) == 1 && !p.Alone {
		return nil
	}
	if len(list) == 2 {
		if qualifier, _ := list[0].(string); !strings.EqualFold(qualifier, p.Alias) {
			return nil
		}
	}
	return p.Named(name)
}

// Named returns the column with this name. It returns nil if there is none, or if several tables
// have one.
func (p *Scope) Named(name string) *schema.Column {
	// Columns whose names differ only in case are not used.
	var found *schema.Column
	for i := range p.Schema.Columns {
		c := &p.Schema.Columns[i]
		if strings.EqualFold(c.Name, name) || strings.EqualFold(p.Names[i], name) {
			if found != nil || p.Names[i] != c.Name {
				return nil
			}
			found = c
		}
	}
	return found
}

// equality handles a comparison of a column, on the left, with a literal.
func (p *Scope) equality(left, right any) predicate {
	c, l := p.literal(left, right)
	if c == nil {
		return nil
	}
	p.used.value = true
	id, tag := c.ID, c.Semantic == schema.Tag
	return func(pr *probe) bool {
		return pr.value == nil || pr.identity && !tag || pr.value(id, l)
	}
}

// search handles a call of matches or matches_term.
func (p *Scope) search(n sql.Node) predicate {
	at, _ := sql.Position(n)
	for _, call := range p.searches {
		if call.Name.From != at {
			continue
		}
		c := p.Column(call.Column)
		if c == nil || !c.Type.IsBytes() {
			return nil
		}
		if _, ok := Fill(c); ok {
			return nil
		}
		p.used.tokens = true
		id, tag, a := c.ID, c.Semantic == schema.Tag, call.Analyzer
		return func(pr *probe) bool {
			return pr.tokens == nil || pr.identity && !tag ||
				call.Query.May(func(literal string) bool { return pr.tokens(id, a, literal) })
		}
	}
	return nil
}

func (p *Scope) isTimeIndex(v any) bool { return p.timeIndex(v) != nil }
