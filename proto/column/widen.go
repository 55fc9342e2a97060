package column

import (
	"math"
	"slices"

	"cordwood/proto/schema"
)

// integers records properties of the integers of a column. Rows are examined once, at the first
// call, and not when they are written. If rows are removed, their properties are removed too.
type integers struct {
	// seen is the number of rows that have been examined. negative and wide are the first row with
	// an integer below 0, or beyond schema.MaxExact, plus 1; 0 means none.
	seen, negative, wide int
	// pastNegative and pastWide report whether rows that Seal removed have such an integer.
	pastNegative, pastWide bool
}

// forget forgets the rows from the given one on.
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

// sealed returns the record after Seal has removed all rows of the column.
func (i *integers) sealed(c *Col) integers {
	c.examine()
	return integers{pastNegative: i.pastNegative || i.negative > 0, pastWide: i.pastWide || i.wide > 0}
}

// examine examines new rows. Nulls are 0.
func (c *Col) examine() {
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

// Negative reports whether an integer of an Int64 column is below 0, including rows that Seal
// removed.
func (c *Col) Negative() bool {
	c.examine()
	return c.ints.pastNegative || c.ints.negative > 0
}

// Wide reports whether an integer of the column is beyond schema.MaxExact, so that a Float64 would
// round it, including rows that Seal removed. Columns with types below 64 bits are never wide.
func (c *Col) Wide() bool {
	c.examine()
	return c.ints.pastWide || c.ints.wide > 0
}

// widening is the record of Widen.
type widening struct {
	from schema.Type // the former type; Invalid if the column was not widened
	// pending is the number of first rows that still hold integers. They become floats when the
	// builder is finished, so a dropped row costs nothing.
	pending int
}

// Widened reports whether Widen gave the column its type.
func (c *Col) Widened() bool { return c.widening.from != schema.Invalid }

// Widen changes a column of integers, which must not be wide, to Float64. The integers become
// floats with Finish or Seal. Until then only rows that are written later can be read.
func (c *Col) Widen() {
	c.widening = widening{from: c.Type, pending: c.n}
	c.Type = schema.Float64
}

// ToFloat is like Widen, for a column without an unfinished row: all of its rows become floats at once.
func (c *Col) ToFloat() {
	c.Widen()
	c.settle()
}

// Narrow reverts Widen. The caller must then remove all rows that were written since Widen.
func (c *Col) Narrow() {
	w := c.widening
	if w.pending == 0 { // the integers have already become floats
		for row, v := range c.fixed {
			c.fixed[row] = uint64(int64(math.Float64frombits(v)))
		}
	}
	c.Type, c.widening = w.from, widening{}
}

// settle converts the integers that Widen left to floats.
func (c *Col) settle() {
	if c.widening.pending > 0 {
		toFloats(c.fixed[:min(c.widening.pending, len(c.fixed))], c.widening.from)
		c.widening.pending = 0
	}
}

// toFloats converts integers of type t to floats, in place.
func toFloats(list []uint64, t schema.Type) {
	for i, v := range list {
		list[i] = math.Float64bits(t.FloatOf(int64(v)))
	}
}
