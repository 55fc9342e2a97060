package column

import (
	"math"
	"slices"

	"cordwood/proto/schema"
)

// integers is what is known of the integers of a column. Rows are looked at once, at the first
// call, and not as they are written; rows that are taken back are forgotten.
type integers struct {
	// seen rows were looked at. negative and wide are the first of them, plus 1, with an integer
	// below 0, and with one beyond schema.MaxExact; 0: none.
	seen, negative, wide int
	// Among the rows that Seal took is such an integer.
	pastNegative, pastWide bool
}

// forget takes back the rows from the given one on.
func (i *integers) forget(row int) {
	if i.seen <= row {
		return
	}
	i.seen = row
	if i.negative > row {
		i.negative = 0
	}
	if i.wide > row {
		i.wide = 0
	}
}

// sealed returns what is known once Seal has taken all rows of the column.
func (i *integers) sealed(c *Col) integers {
	c.look()
	return integers{pastNegative: i.pastNegative || i.negative > 0, pastWide: i.pastWide || i.wide > 0}
}

// look looks at the rows that were not looked at. Nulls are 0.
func (c *Col) look() {
	i := &c.ints
	if c.Type != schema.Int64 && c.Type != schema.Uint64 || i.seen >= c.n {
		return
	}
	rows := c.fixed[i.seen:c.n]
	union, reach := uint64(0), uint64(0)
	for _, v := range rows {
		union |= v
		reach |= v ^ uint64(int64(v)>>63)
	}
	signed := c.Type == schema.Int64
	if !signed {
		reach = union
	}
	if signed && i.negative == 0 && int64(union) < 0 {
		i.negative = i.seen + 1 + slices.IndexFunc(rows, func(v uint64) bool { return int64(v) < 0 })
	}
	if i.wide == 0 && reach >= schema.MaxExact {
		i.wide = i.seen + 1 + slices.IndexFunc(rows, func(v uint64) bool { return !c.Type.Exact(int64(v)) })
		if i.wide == i.seen { // it is MaxExact itself
			i.wide = 0
		}
	}
	i.seen = c.n
}

// Negative reports whether an integer of an Int64 column is below 0, even one that Seal took.
func (c *Col) Negative() bool {
	c.look()
	return c.ints.pastNegative || c.ints.negative > 0
}

// Wide reports whether an integer of the column is beyond schema.MaxExact, so that a Float64 would
// round it, even one that Seal took. No column of a type below 64 bits is wide.
func (c *Col) Wide() bool {
	c.look()
	return c.ints.pastWide || c.ints.wide > 0
}

// widening is what Widen did.
type widening struct {
	from schema.Type // what the type was; Invalid: the column is as it was
	// pending is how many rows, the first ones, still hold integers: they become floats when the
	// builder is finished, so a dropped row costs nothing.
	pending int
}

// Widened reports whether Widen made the column what it is.
func (c *Col) Widened() bool { return c.widening.from != schema.Invalid }

// Widen makes a column of integers, which must not be wide, one of Float64. The integers become
// floats with Finish or Seal; until then only rows that are written later can be read.
func (c *Col) Widen() {
	c.widening = widening{from: c.Type, pending: c.n}
	c.Type = schema.Float64
}

// ToFloat is Widen of a column without a row under way: all of its rows are read as floats at once.
func (c *Col) ToFloat() {
	c.Widen()
	c.settle()
}

// Narrow takes Widen back. All rows that were written since must be taken back as well, after it.
func (c *Col) Narrow() {
	w := c.widening
	if w.pending == 0 { // settled meanwhile
		for row, v := range c.fixed {
			c.fixed[row] = uint64(int64(math.Float64frombits(v)))
		}
	}
	c.Type, c.widening = w.from, widening{}
}

// settle makes the integers that Widen left floats.
func (c *Col) settle() {
	if c.widening.pending > 0 {
		toFloats(c.fixed[:min(c.widening.pending, len(c.fixed))], c.widening.from)
		c.widening.pending = 0
	}
}

// toFloats makes integers of type t floats, in place.
func toFloats(list []uint64, t schema.Type) {
	for i, v := range list {
		list[i] = math.Float64bits(t.FloatOf(int64(v)))
	}
}
