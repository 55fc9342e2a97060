package schema

import (
	"strconv"
	"strings"
)

// MaxExact is the largest magnitude up to which a Float64 can hold every integer: 2^53.
const MaxExact = 1 << 53

// Widening is whether the values of one type are also values of another.
type Widening int

// The possible values of Widening.
const (
	// WidensNever means that some values would change, or that the types have nothing in common.
	WidensNever Widening = iota
	// WidensIfExact means that integers of a magnitude up to MaxExact keep their value. Others would be rounded.
	WidensIfExact
	// WidensAlways means that each value keeps its value.
	WidensAlways
)

// Widens reports whether a column of type t can become one of type wider while the rows that are
// stored keep their values. Integers widen to integers and to Float64, Float32 widens to Float64,
// and each type widens to itself.
func (t Type) Widens(wider Type) Widening {
	switch {
	case t == wider, t == Float32 && wider == Float64:
		return WidensAlways
	case t.IsInteger() && wider == Float64:
		if t == Int64 || t == Uint64 {
			return WidensIfExact
		}
		return WidensAlways
	case t.IsInteger() && wider.IsInteger():
		lo, hi := t.IntRange()
		least, most := wider.IntRange()
		if t != Uint64 && least <= lo && hi <= most {
			return WidensAlways
		}
	}
	return WidensNever
}

// Exact reports whether a Float64 holds an integer of type t without loss; v has the bits of an
// UInt64.
func (t Type) Exact(v int64) bool {
	if t == Uint64 {
		return uint64(v) <= MaxExact
	}
	return v >= -MaxExact && v <= MaxExact
}

// FloatOf returns an integer of type t as a float; v has the bits of an UInt64.
func (t Type) FloatOf(v int64) float64 {
	if t == Uint64 {
		return float64(uint64(v))
	}
	return float64(v)
}

// ConflictRule determines what happens to a value whose type differs from its column's: the table
// option on_type_conflict.
type ConflictRule uint8

// The rules.
const (
	// ConflictWiden makes a column of integers a Float64 column with the first fraction. Types that have nothing in
	// common are an error. It is the default.
	ConflictWiden ConflictRule = iota + 1
	// ConflictError makes any difference an error.
	ConflictError
	// ConflictCast converts the value if that is exact, and otherwise stores it as text in the column with
	// ConflictSuffix.
	ConflictCast
	// ConflictAside is like ConflictWiden, but a value that would cause an error is stored as text in the column
	// with ConflictSuffix.
	ConflictAside
)

// ConflictSuffix is appended to the name of a column. The column of that name holds, as text, the
// values that do not fit.
const ConflictSuffix = "_conflict"

var conflictRules = map[string]ConflictRule{
	"widen": ConflictWiden, "error": ConflictError, "cast": ConflictCast, "aside": ConflictAside,
}

// ConflictRuleOf returns the rule of a table with these options.
func ConflictRuleOf(options map[string]string) ConflictRule {
	if r := conflictRules[options[OptionOnTypeConflict]]; r != 0 {
		return r
	}
	return ConflictWiden
}

// Widens reports whether a column of integers may become Float64.
func (r ConflictRule) Widens() bool { return r == ConflictWiden || r == ConflictAside }

// PutsAside reports whether a value that does not fit its column is stored as text in the column
// with ConflictSuffix.
func (r ConflictRule) PutsAside() bool { return r == ConflictCast || r == ConflictAside }

// Marked reports whether columns of that type and role have the mark WithinDouble: columns whose
// values decide whether they can become Float64.
func (c *Column) Marked() bool {
	return c.Semantic == Field && c.Type.Widens(Float64) == WidensIfExact
}

// Exact reports whether all values of a column keep their value in a Float64.
func (c *Column) Exact() bool {
	return c.WithinDouble || c.Type.Widens(Float64) == WidensAlways
}

// For returns the column, changed as far as necessary to hold the values of want, which has the same name and role.
// ok is false if they do not match. The writer converts values of another type to the type of the column.
func (c Column) For(want Column, rule ConflictRule) (made Column, ok bool) {
	switch {
	case c.Type == want.Type:
		c.WithinDouble = c.WithinDouble && want.WithinDouble
		c.Checking = c.Checking && want.WithinDouble
		return c, true
	case c.Semantic != Field:
	case c.Type == Float64 && want.Type.IsInteger() && want.Exact() && rule != ConflictError:
		return c, true
	case c.Type.IsInteger() && want.Type == Float64 && c.Exact() && rule.Widens():
		return c.WidenedTo(Float64), true
	}
	return c, false
}

// WidenedTo returns the column with type t, to which its type widens.
func (c Column) WidenedTo(t Type) Column {
	c.WithinDouble = c.Type.Widens(Float64) == WidensAlways && t.Widens(Float64) == WidensIfExact
	c.Type, c.Checking = t, false
	return c
}

// ExactDefault reports whether a Float64 can hold the default of the column, if it has one, without
// loss.
func (c *Column) ExactDefault() bool {
	if c.Default == nil || strings.EqualFold(*c.Default, "null") {
		return true
	}
	v, err := strconv.ParseInt(strings.Trim(*c.Default, "' "), 10, 64)
	return err == nil && Int64.Exact(v)
}
