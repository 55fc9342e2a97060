package schema

// MaxExact is the largest magnitude up to which a Float64 holds every integer: 2^53.
const MaxExact = 1 << 53

// Widening says whether the values of one type are values of another.
type Widening int

// The values of Widening.
const (
	// WidensNever: some values would change, or the types have nothing in common.
	WidensNever Widening = iota
	// WidensIfExact: integers of a magnitude up to MaxExact keep their value; others would be
	// rounded.
	WidensIfExact
	// WidensAlways: each value keeps its value.
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
