// Package jsonpath selects parts of values with JSONPath queries, as RFC 9535 has them:
// names, indices, wildcards, slices, descendants, and filters with comparisons and the
// functions length, count, value, match and search.
//
// It is no way to change values, and it gives out the values that are selected, not where
// they were found.
//
// A Path is compiled once and immutable; any number of goroutines may use it. What a
// query may cost is bounded when it runs (MaxSteps), since descendants within descendants
// grow faster than the value that they are asked of.
package jsonpath

import (
	"errors"

	"cordwood/router/vrl/value"
)

// MaxSteps bounds the values that one query may visit, values in its filters included.
const MaxSteps = 1 << 20

// ErrTooManySteps is returned for a query that visits more than MaxSteps values.
var ErrTooManySteps = errors.New("the query visits more than 1048576 values")

// Path is a compiled query.
type Path struct {
	segments []segment
	singular bool // names and indices only: at most one value is selected
}

// segment selects children of a value, or of it and all its descendants.
type segment struct {
	descend   bool
	selectors []selector
}

type selectorKind uint8

const (
	byName selectorKind = iota
	byIndex
	bySlice
	byFilter
	everything
)

type selector struct {
	kind       selectorKind
	name       string
	start, end bound // of a slice; an index is start
	step       int
	filter     test
}

// bound is an end of a slice.
type bound struct {
	at    int
	given bool
}

// Select appends the values that the path selects in root to dst, at most limit of them;
// all if limit is negative. What it appends is marked as shared.
func (p *Path) Select(dst []value.Value, root value.Value, limit int) ([]value.Value, error) {
	dst, _, err := p.SelectCounted(dst, root, limit)
	return dst, err
}

// SelectCounted is Select, and returns the number of steps that it took.
func (p *Path) SelectCounted(dst []value.Value, root value.Value, limit int) (found []value.Value, steps int,
	err error,
) {
	if p.singular {
		if v := walk(root, p.segments); v.IsDefined() && limit != 0 {
			dst = append(dst, v.Share())
		}
		return dst, len(p.segments), nil
	}
	left := MaxSteps
	if limit == 0 {
		return dst, 0, nil
	}
	e := evaluation{root: root, collect: true, out: dst, limit: limit, left: &left}
	e.run(root, p.segments)
	if left < 0 {
		return dst, MaxSteps, ErrTooManySteps
	}
	for _, v := range e.out[len(dst):] {
		v.Share()
	}
	return e.out, MaxSteps - left, nil
}

// walk follows the segments of a singular path; value.None if they lead nowhere.
func walk(v value.Value, segments []segment) value.Value {
	for i := range segments {
		if v = segments[i].selectors[0].child(v); !v.IsDefined() {
			return v
		}
	}
	return v
}

// child returns the value that a name or an index selects.
func (s *selector) child(v value.Value) value.Value {
	if s.kind == byName {
		if o := v.Object(); o != nil {
			if c, ok := o.PeekGet(s.name); ok {
				return c
			}
		}
		return value.None
	}
	a := v.Array()
	if a == nil {
		return value.None
	}
	i := s.start.at
	if i < 0 {
		i += a.Len()
	}
	if i < 0 || i >= a.Len() {
		return value.None
	}
	return a.PeekAt(i)
}

// evaluation is one run of a query.
type evaluation struct {
	root value.Value
	// out is the values found, if they are to be collected.
	out     []value.Value
	collect bool
	// found is their number. The evaluation ends when it is limit; never if that is
	// negative.
	found, limit int
	// left is the steps that are left, shared with the queries of filters; below 0 if
	// there were too few.
	left *int
}

// run selects, below v, what the segments say. It returns false when the query is done.
func (e *evaluation) run(v value.Value, segments []segment) bool {
	if *e.left--; *e.left < 0 {
		return false
	}
	if len(segments) == 0 {
		if e.found++; e.collect {
			e.out = append(e.out, v)
		}
		return e.found != e.limit
	}
	if segments[0].descend {
		return e.descend(v, segments)
	}
	return e.children(v, segments)
}

// descend is children of v and of all its descendants, those in front first.
func (e *evaluation) descend(v value.Value, segments []segment) bool {
	if !e.children(v, segments) {
		return false
	}
	return e.each(v, func(c value.Value) bool {
		*e.left--
		return *e.left >= 0 && e.descend(c, segments)
	})
}

// each calls f for all children of v, until it returns false.
func (e *evaluation) each(v value.Value, f func(value.Value) bool) bool {
	if o := v.Object(); o != nil {
		for _, m := range o.Peek() {
			if !f(m.Value) {
				return false
			}
		}
	} else if a := v.Array(); a != nil {
		for _, c := range a.Peek() {
			if !f(c) {
				return false
			}
		}
	}
	return true
}

func (e *evaluation) children(v value.Value, segments []segment) bool {
	selectors, rest := segments[0].selectors, segments[1:]
	for i := range selectors {
		s := &selectors[i]
		more := true
		switch s.kind {
		case byName, byIndex:
			if c := s.child(v); c.IsDefined() {
				more = e.run(c, rest)
			}
		case everything:
			more = e.each(v, func(c value.Value) bool { return e.run(c, rest) })
		case bySlice:
			more = e.slice(v, s, rest)
		case byFilter:
			more = e.each(v, func(c value.Value) bool {
				*e.left--
				if s.filter.holds(e, c) {
					return e.run(c, rest)
				}
				return *e.left >= 0
			})
		}
		if !more {
			return false
		}
	}
	return true
}

func (e *evaluation) slice(v value.Value, s *selector, rest []segment) bool {
	a := v.Array()
	if a == nil || s.step == 0 {
		return true
	}
	n := a.Len()
	at := func(b bound, otherwise int) int {
		switch {
		case !b.given:
			return otherwise
		case b.at < 0:
			return b.at + n
		}
		return b.at
	}
	if s.step > 0 {
		from, to := max(at(s.start, 0), 0), min(at(s.end, n), n)
		for i := from; i < to; i += s.step {
			if !e.run(a.PeekAt(i), rest) {
				return false
			}
		}
		return true
	}
	from, to := min(at(s.start, n-1), n-1), max(at(s.end, -1), -1)
	for i := from; i > to; i += s.step {
		if !e.run(a.PeekAt(i), rest) {
			return false
		}
	}
	return true
}
