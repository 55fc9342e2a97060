package jsonpath

import (
	"regexp"
	"unicode/utf8"

	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// test is a boolean expression in a filter.
type test interface {
	holds(e *evaluation, current value.Value) bool
}

type (
	orTest  struct{ list []test }
	andTest struct{ list []test }
	not     struct{ test }
	// exists is true if the query selects anything.
	exists struct{ query query }
	// matches is true if the operand is a string that contains a match of the pattern.
	matches struct {
		operand operand
		pattern *regexp.Regexp
		// instructions is the number of instructions of the pattern, for its cost.
		instructions int
	}
	// comparison compares two operands; op is ==, !=, <, <=, > or >=.
	comparison struct {
		op          string
		left, right operand
	}
)

func (t orTest) holds(e *evaluation, current value.Value) bool {
	for _, x := range t.list {
		if x.holds(e, current) {
			return true
		}
	}
	return false
}

func (t andTest) holds(e *evaluation, current value.Value) bool {
	for _, x := range t.list {
		if !x.holds(e, current) {
			return false
		}
	}
	return true
}

func (t not) holds(e *evaluation, current value.Value) bool { return !t.test.holds(e, current) }

func (t exists) holds(e *evaluation, current value.Value) bool {
	return t.query.count(e, current, 1) > 0
}

func (t matches) holds(e *evaluation, current value.Value) bool {
	v := t.operand.value(e, current)
	if !v.IsString() {
		return false
	}
	if *e.left -= pattern.Cost(v.Len(), t.instructions); *e.left < 0 {
		return false
	}
	return t.pattern.MatchString(v.Str())
}

func (t comparison) holds(e *evaluation, current value.Value) bool {
	a, b := t.left.value(e, current), t.right.value(e, current)
	switch t.op {
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	case "<":
		return less(a, b)
	case "<=":
		return less(a, b) || equal(a, b)
	case ">":
		return less(b, a)
	}
	return less(b, a) || equal(a, b)
}

// equal reports whether two values are equal. Two missing operands are equal.
func equal(a, b value.Value) bool {
	if !a.IsDefined() || !b.IsDefined() {
		return a.IsDefined() == b.IsDefined()
	}
	return value.Equal(a, b)
}

func less(a, b value.Value) bool {
	c, ok := value.Compare(a, b)
	return ok && c < 0
}

// operand is an operand of a comparison. Its value is value.None if it is missing.
type operand interface {
	value(e *evaluation, current value.Value) value.Value
}

type (
	literal struct{ v value.Value }
	// query is a path from the current value or from the root. As an operand, it selects at most one value.
	query struct {
		fromRoot bool
		path     *Path
	}
	lengthOf struct{ operand operand }
	countOf  struct{ query query }
	valueOf  struct{ query query }
)

func (o literal) value(*evaluation, value.Value) value.Value { return o.v }

func (o query) value(e *evaluation, current value.Value) value.Value {
	return walk(o.start(e, current), o.path.segments)
}

func (o query) start(e *evaluation, current value.Value) value.Value {
	if o.fromRoot {
		return e.root
	}
	return current
}

// count returns the number of values that the query selects. If limit is not negative, it counts only up to limit.
func (o query) count(e *evaluation, current value.Value, limit int) int {
	if o.path.singular {
		if o.value(e, current).IsDefined() {
			return 1
		}
		return 0
	}
	sub := evaluation{root: e.root, limit: limit, left: e.left}
	sub.run(o.start(e, current), o.path.segments)
	return sub.found
}

func (o lengthOf) value(e *evaluation, current value.Value) value.Value {
	switch v := o.operand.value(e, current); v.Kind() {
	case value.String:
		return value.NewInt(int64(utf8.RuneCountInString(v.Str())))
	case value.Array, value.Object:
		return value.NewInt(int64(v.Len()))
	}
	return value.None
}

func (o countOf) value(e *evaluation, current value.Value) value.Value {
	return value.NewInt(int64(o.query.count(e, current, -1)))
}

func (o valueOf) value(e *evaluation, current value.Value) value.Value {
	if o.query.path.singular {
		return o.query.value(e, current)
	}
	sub := evaluation{root: e.root, collect: true, limit: 2, left: e.left}
	sub.run(o.query.start(e, current), o.query.path.segments)
	if sub.found != 1 {
		return value.None
	}
	return sub.out[0]
}
