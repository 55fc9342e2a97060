package direct

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
)

// This file evaluates conditions on rows as DuckDB would. A row matches if the condition is true,
// not if it is null. If it is not known exactly how DuckDB evaluates a condition, there is no test
// for it.

// truth is the value of a condition for a row. AND takes the lesser of two values, OR the greater.
type truth = uint8

const (
	no truth = iota
	// perhaps means that the row is near a moment that is known only approximately.
	perhaps
	yes
)

// rowTest writes the condition's value for each row of a batch to out.
type rowTest func(b *column.Batch, out []truth)

// both returns a test that is true where both tests are true; a nil test is always true.
func both(a, b rowTest) rowTest {
	if a == nil || b == nil {
		if a == nil {
			return b
		}
		return a
	}
	return func(batch *column.Batch, out []truth) {
		a(batch, out)
		other := make([]truth, len(out))
		b(batch, other)
		for i, v := range other {
			out[i] = min(out[i], v)
		}
	}
}

// oneOf returns a test that is true where any test of the list is true.
func oneOf(list []rowTest) rowTest {
	return func(batch *column.Batch, out []truth) {
		list[0](batch, out)
		other := make([]truth, len(out))
		for _, test := range list[1:] {
			test(batch, other)
			for i, v := range other {
				out[i] = max(out[i], v)
			}
		}
	}
}

// notDeleted excludes rows that are marked deleted.
func notDeleted(b *column.Batch, out []truth) {
	for i := range out {
		out[i] = yes
	}
	if v := columnOf(b, schema.DeletedColumnID); v != nil {
		for i := range out {
			if !v.IsNull(i) && v.Int(i) != 0 {
				out[i] = no
			}
		}
	}
}

// tester builds tests from conditions.
type tester struct {
	plan.Scope
	// columns are the indexes of the columns that the tests read.
	columns []int
}

// use records that a test reads a column.
func (t *tester) use(c *schema.Column) *schema.Column {
	at := slices.IndexFunc(t.Schema.Columns, func(have schema.Column) bool { return have.ID == c.ID })
	if !slices.Contains(t.columns, at) {
		t.columns = append(t.columns, at)
	}
	return c
}

// test returns the test of a condition. If negated is set, it is the test that the condition is
// false.
func (t *tester) test(v any, negated bool) (rowTest, bool) {
	n, _ := v.(sql.Node)
	kind := sql.Text(n, "type")
	switch sql.Text(n, "class") {
	case "CONJUNCTION":
		var list []rowTest
		for _, child := range sql.Args(n) {
			test, ok := t.test(child, negated)
			if !ok {
				return nil, false
			}
			list = append(list, test)
		}
		if len(list) == 0 {
			return nil, false
		}
		if (kind == "CONJUNCTION_AND") != negated {
			var all rowTest
			for _, test := range list {
				all = both(all, test)
			}
			return all, true
		}
		return oneOf(list), true
	case "OPERATOR":
		return t.operator(kind, sql.Args(n), negated)
	case "COMPARISON":
		if negated {
			kind = plan.Opposite[kind]
		}
		return t.comparison(kind, n["left"], n["right"])
	case "BETWEEN":
		lower, ok := t.comparison(choose(negated, "COMPARE_LESSTHAN", "COMPARE_GREATERTHANOREQUALTO"), n["input"], n["lower"])
		upper, fine := t.comparison(choose(negated, "COMPARE_GREATERTHAN",
			"COMPARE_LESSTHANOREQUALTO"), n["input"], n["upper"])
		switch {
		case !ok || !fine:
			return nil, false
		case negated:
			return oneOf([]rowTest{lower, upper}), true
		}
		return both(lower, upper), true
	case "FUNCTION":
		return t.like(n, negated)
	case "COLUMN_REF":
		if c := t.Column(n); c != nil && c.Type == schema.Boolean {
			return t.numbers(c, func(v int64) bool { return v != 0 != negated }), true
		}
	}
	return nil, false
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

func (t *tester) operator(kind string, list []any, negated bool) (rowTest, bool) {
	if len(list) == 0 {
		return nil, false
	}
	switch kind {
	case "OPERATOR_NOT":
		if len(list) == 1 {
			return t.test(list[0], !negated)
		}
	case "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL":
		n, _ := list[0].(sql.Node)
		c := t.Scope.Column(n)
		if c == nil || len(list) != 1 {
			return nil, false
		}
		return nulls(t.use(c).ID, (kind == "OPERATOR_IS_NULL") != negated), true
	case "COMPARE_IN", "COMPARE_NOT_IN":
		if len(list) < 2 || len(list) > plan.MaxKeyValues+1 {
			return nil, false
		}
		in := (kind == "COMPARE_IN") != negated
		var tests []rowTest
		for _, value := range list[1:] {
			test, ok := t.comparison(choose(in, "COMPARE_EQUAL", "COMPARE_NOTEQUAL"), list[0], value)
			if !ok {
				return nil, false
			}
			tests = append(tests, test)
		}
		if in {
			return oneOf(tests), true
		}
		var all rowTest
		for _, test := range tests {
			all = both(all, test)
		}
		return all, true
	}
	return nil, false
}

// nulls tests whether a column is null, or whether it is not null.
func nulls(id uint32, null bool) rowTest {
	return func(b *column.Batch, out []truth) {
		v := columnOf(b, id)
		for i := range out {
			out[i] = no
			if (v == nil || v.IsNull(i)) == null {
				out[i] = yes
			}
		}
	}
}

// comparison tests a column against a literal; either may be on the left.
func (t *tester) comparison(kind string, left, right any) (rowTest, bool) {
	if _, known := plan.Opposite[kind]; !known {
		return nil, false
	}
	n, _ := left.(sql.Node)
	c := t.Column(n)
	if c == nil {
		if n, _ = right.(sql.Node); t.Column(n) == nil {
			return nil, false
		}
		c, kind, right = t.Column(n), plan.Mirrored[kind], left
		if kind == "" {
			return nil, false
		}
	}
	literal, _ := right.(sql.Node)
	switch {
	case c.Semantic == schema.Timestamp:
		return t.times(kind, n, right)
	case c.Type == schema.String:
		s, ok := sql.TextLiteral(literal)
		if !ok {
			return nil, false
		}
		value := []byte(s)
		return t.texts(c, func(have []byte) bool { return compares(kind, bytes.Compare(have, value)) }), true
	case c.Type.IsInteger():
		value, ok := sql.Integer(literal)
		if lo, hi := c.Type.IntRange(); !ok || sql.Text(literal, "class") != "CONSTANT" || !sql.IsWhole(literal) ||
			value < lo || value > hi {
			return nil, false
		}
		if c.Type == schema.Uint64 {
			return t.numbers(c, func(v int64) bool { return compares(kind, order(uint64(v), uint64(value))) }), true
		}
		return t.numbers(c, func(v int64) bool { return compares(kind, order(v, value)) }), true
	case c.Type == schema.Float64:
		value, ok := plan.Float(literal)
		if !ok {
			return nil, false
		}
		return t.floats(c, func(v float64) bool { return compares(kind, orderFloats(v, value)) }), true
	}
	return nil, false
}

func order[T int64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// orderFloats compares doubles as DuckDB does: NaN equals NaN and is greater than every other
// value.
func orderFloats(a, b float64) int {
	switch an, bn := math.IsNaN(a), math.IsNaN(b); {
	case an && bn:
		return 0
	case an:
		return 1
	case bn || a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// compares reports whether a comparison is true for two values with the given order.
func compares(kind string, order int) bool {
	switch kind {
	case "COMPARE_EQUAL":
		return order == 0
	case "COMPARE_NOTEQUAL":
		return order != 0
	case "COMPARE_LESSTHAN":
		return order < 0
	case "COMPARE_LESSTHANOREQUALTO":
		return order <= 0
	case "COMPARE_GREATERTHAN":
		return order > 0
	}
	return order >= 0
}

// like tests texts against a pattern whose only wildcard is %.
func (t *tester) like(n sql.Node, negated bool) (rowTest, bool) {
	name, list := sql.Text(n, "function_name"), sql.Args(n)
	if name != "~~" && name != "!~~" || len(list) != 2 {
		return nil, false
	}
	of, _ := list[0].(sql.Node)
	literal, _ := list[1].(sql.Node)
	c := t.Column(of)
	pattern, ok := sql.TextLiteral(literal)
	if c == nil || c.Type != schema.String || !ok || strings.ContainsAny(pattern, `_\`) {
		return nil, false
	}
	parts := strings.Split(pattern, "%")
	return t.texts(c, func(b []byte) bool { return matchesParts(string(b), parts) == ((name == "~~") != negated) }), true
}

// matchesParts reports whether s consists of the parts, in order, with any text between them.
func matchesParts(s string, parts []string) bool {
	if len(parts) == 1 {
		return s == parts[0]
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, last)
}

// times tests the time index against a moment with known bounds.
func (t *tester) times(kind string, left sql.Node, right any) (rowTest, bool) {
	c := t.Column(left)
	may, ok := t.TimeBounds(kind, left, right)
	if !ok || !soundMoment(right) {
		return nil, false
	}
	// The result is uncertain only for rows within these bounds.
	mayNot, ok := t.TimeBounds(plan.Opposite[kind], left, right)
	if !ok {
		mayNot = plan.Always
	}
	typ := t.use(c).Type
	return t.verdicts(c, func(v int64) truth {
		at := plan.Nanoseconds(v, typ)
		switch one := (plan.Span{Lo: at, Hi: at}); {
		case at < -plan.FarAway || at > plan.FarAway:
			return perhaps
		case !one.Meets(may):
			return no
		case !one.Meets(mayNot):
			return yes
		}
		return perhaps
	}), true
}

// soundMoment reports whether DuckDB accepts the text in a time constant as a moment. It returns
// true if the constant has no text.
func soundMoment(v any) bool {
	n, _ := v.(sql.Node)
	if sql.Text(n, "class") == "CAST" {
		return soundMoment(n["child"])
	}
	s, ok := sql.TextLiteral(n)
	if !ok {
		return sql.Text(n, "class") != "CONSTANT"
	}
	s = strings.TrimSuffix(strings.Replace(s, "T", " ", 1), "Z")
	for _, layout := range []string{time.DateOnly, time.DateTime} {
		if _, err := time.Parse(layout, s); err == nil && len(s) <= len("2006-01-02 15:04:05.999999999") {
			return true
		}
	}
	return false
}

// notExpired excludes the rows that the condition of tableView.since excludes.
func (t *tester) notExpired(c *schema.Column, before int64) rowTest {
	units := c.Type.UnitsPerSecond()
	if before/units < plan.Year1 {
		return nil
	}
	if c.Type != schema.TimestampNanosecond {
		before = min(before, plan.Year9999*units)
	}
	return t.numbers(c, func(v int64) bool { return v >= before })
}
