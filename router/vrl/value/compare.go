package value

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Same reports whether a and b have the same kind and are equal: 1 and 1.0 are not the same. Regular expressions
// are compared by their patterns.
func Same(a, b Value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case Null, Undefined:
		return true
	case Bool, Int:
		return a.n == b.n
	case Float:
		return math.Float64frombits(a.n) == math.Float64frombits(b.n)
	case String:
		return a.Str() == b.Str()
	case Timestamp:
		return a.n == b.n && a.aux == b.aux
	case Regex:
		return a.Regex().String() == b.Regex().String()
	case Array:
		return slices.EqualFunc(a.items().list, b.items().list, Same)
	}
	x, y := a.fields(), b.fields()
	if x.Len() != y.Len() {
		return false
	}
	for i := range x.Len() {
		if x.Key(i) != y.Key(i) || !Same(x.PeekAt(i), y.PeekAt(i)) {
			return false
		}
	}
	return true
}

// Equal implements the language's ==. It is like Same, but compares an integer and a float as floats, unless they are
// inside containers.
func Equal(a, b Value) bool {
	switch {
	case a.kind == Int && b.kind == Float:
		return float64(int64(a.n)) == math.Float64frombits(b.n)
	case a.kind == Float && b.kind == Int:
		return math.Float64frombits(a.n) == float64(int64(b.n))
	}
	return Same(a, b)
}

// Compare compares two numbers by size, two strings by bytes and two timestamps by time. For all other pairs it
// returns false.
func Compare(a, b Value) (int, bool) {
	switch {
	case a.kind == Int && b.kind == Int:
		return order(int64(a.n), int64(b.n)), true
	case a.kind == String && b.kind == String:
		return strings.Compare(a.Str(), b.Str()), true
	case a.kind == Timestamp && b.kind == Timestamp:
		if c := order(int64(a.n), int64(b.n)); c != 0 {
			return c, true
		}
		return order(a.aux, b.aux), true
	}
	x, ok1 := a.Number()
	y, ok2 := b.Number()
	if !ok1 || !ok2 {
		return 0, false
	}
	return order(x, y), true
}

func order[T int64 | float64 | uint32](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// SameElement reports whether x, an element of a container, is the same as item. An undefined item counts as null.
func SameElement(x, item Value) bool { return Same(x, item) || x.IsNull() && !item.IsDefined() }

// Nullish reports whether v is null, undefined, white space or a dash.
func (v Value) Nullish() bool {
	switch v.kind {
	case Null, Undefined:
		return true
	case String:
		s := v.Str()
		return s == "-" || strings.TrimLeftFunc(s, unicode.IsSpace) == ""
	}
	return false
}
