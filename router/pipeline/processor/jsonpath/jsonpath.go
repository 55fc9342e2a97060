// Package jsonpath selects parts of values with JSONPath queries according to RFC 9535: names, indexes, wildcards,
// slices, descendants, and filters with comparisons and the functions length, count, value, match and search.
//
// It does not change values. It returns the selected values, not their positions.
//
// A Path is compiled once and immutable. Any number of goroutines may use it. The cost of a query is limited at run
// time (MaxSteps), because nested descendant segments visit more values than the document has.
package jsonpath

import (
	"errors"

	"cordwood/router/vrl/value"
)

// MaxSteps limits the number of values that one query visits, including those visited by its filters.
const MaxSteps = 1 << 20

// ErrTooManySteps is returned for a query that visits more than MaxSteps values.
var ErrTooManySteps = errors.New("the query visits more than 1048576 values")

// Path is a compiled query.
type Path struct {
	segments []segment
	singular bool // names and indexes only, so at most one value is selected
}

// segment selects children of a value, or children of the value and all its descendants.
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
	start, end bound // for a slice; an index uses start
	step       int
	filter     test
}

// bound is an end of a slice.
type bound struct {
	at    int
	given bool
}

// Select appends the values that the path selects in root to dst, at most limit of them; all if limit is negative.
// The appended values are marked as shared.
func (p *Path) Select(dst []value.Value, root value.Value, limit int) ([]value.Value, error) {
	dst, _, err := p.SelectCounted(dst, root, limit)
	return dst, err
}

// SelectCounted does what Select does, and also returns the number of steps used.
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

// walk follows the segments of a path that selects at most one value. It returns value.None if there is none.
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
	// out has the selected values, if they are collected.
	out     []value.Value
	collect bool
	// found is the number of selected values. The evaluation ends when it reaches limit, unless limit is negative.
	found, limit int
	// left is the number of unused steps, which queries in filters share. It is negative if there were too few.
	left *int
}

// run selects the values below v according to the segments. It returns false when the query is done.
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

// descend selects children of v and of all its descendants, in document order.
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
