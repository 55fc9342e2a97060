package segment

import (
	"encoding/binary"
	"math/bits"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// view arranges the current values as a view. Its slices are set later, when the memory no longer
// moves.
func (b *builder) view(c *cursor, rows int) (column.View, sections) {
	v := column.View{ID: c.ID, Type: c.Type, Rows: rows}
	var s sections
	if len(b.valid) > 0 {
		ones := 0
		for _, w := range b.valid {
			ones += bits.OnesCount64(w)
		}
		if v.Nulls = rows - ones; v.Nulls > 0 && v.Nulls < rows {
			var section []byte
			section, s.validity = b.section(8 * len(b.valid))
			for i, w := range b.valid {
				binary.LittleEndian.PutUint64(section[8*i:], w)
			}
		}
	}
	if c.Type.IsBytes() {
		b.viewStrings(c, &v, &s)
	} else if v.Nulls < rows {
		b.viewNumbers(&v, &s)
	}
	return v, s
}

// each calls f with each row that has a value, and the value's number.
func (b *builder) each(v *column.View, f func(row, value int)) {
	if v.Nulls == 0 {
		for i := range v.Rows {
			f(i, i)
		}
		return
	}
	n := 0
	for i, w := range b.valid {
		for ; w != 0; w &= w - 1 {
			f(64*i+bits.TrailingZeros64(w), n)
			n++
		}
	}
}

func (b *builder) viewStrings(c *cursor, v *column.View, s *sections) {
	entries := len(b.ends)
	if !b.plain {
		for _, code := range b.used {
			c.local[code] = 0
		}
	}
	if v.Nulls == v.Rows {
		return
	}
	if !b.plain && entries > 1<<16 {
		b.toPlain()
	}
	var offsets, data []byte
	if b.plain {
		v.Encoding = column.Plain
		offsets, s.offsets = b.section(4 * (v.Rows + 1))
		row := 0
		last := uint32(0)
		b.each(v, func(at, value int) {
			for ; row <= at; row++ {
				binary.LittleEndian.PutUint32(offsets[4*row:], last)
			}
			last = b.ends[value]
		})
		for ; row <= v.Rows; row++ {
			binary.LittleEndian.PutUint32(offsets[4*row:], last)
		}
	} else {
		v.Encoding, v.DictLen = column.Dict, entries
		offsets, s.offsets = b.section(4 * (entries + 1))
		for i, end := range b.ends {
			binary.LittleEndian.PutUint32(offsets[4*i+4:], end)
		}
		b.viewCodes(v, s, entries)
	}
	data, s.data = b.section(len(b.data))
	copy(data, b.data)
}

func (b *builder) viewCodes(v *column.View, s *sections, entries int) {
	var codes []byte
	switch {
	case entries == 1:
	case entries <= 1<<8:
		v.Width = 1
		codes, s.codes = b.section(v.Rows)
		b.each(v, func(row, value int) { codes[row] = byte(b.codes[value]) })
	default:
		v.Width = 2
		codes, s.codes = b.section(2 * v.Rows)
		b.each(v, func(row, value int) { binary.LittleEndian.PutUint16(codes[2*row:], uint16(b.codes[value])) })
	}
}

// viewNumbers stores numbers in as few bytes as their range needs.
func (b *builder) viewNumbers(v *column.View, s *sections) {
	v.Encoding = column.Fixed
	switch v.Type {
	case schema.TimestampSecond:
		for i, n := range b.numbers {
			b.numbers[i] = uint64(int64(n) / 1000)
		}
	case schema.Uint8, schema.Uint16, schema.Uint32:
		for i, n := range b.numbers {
			b.numbers[i] = uint64(uint32(n))
		}
	case schema.Float32:
		v.Width = 4
	case schema.Float64:
		v.Width = 8
	}
	if !v.Type.IsFloat() {
		b.narrow(v)
	}
	var data []byte
	data, s.data = b.section(int(v.Width) * v.Rows)
	base := uint64(v.Base)
	switch v.Width {
	case 1:
		b.each(v, func(row, value int) { data[row] = byte(b.numbers[value] - base) })
	case 2:
		b.each(v, func(row, value int) { binary.LittleEndian.PutUint16(data[2*row:], uint16(b.numbers[value]-base)) })
	case 4:
		b.each(v, func(row, value int) { binary.LittleEndian.PutUint32(data[4*row:], uint32(b.numbers[value]-base)) })
	case 8:
		b.each(v, func(row, value int) { binary.LittleEndian.PutUint64(data[8*row:], b.numbers[value]-base) })
	}
}

// narrow chooses base and width.
func (b *builder) narrow(v *column.View) {
	flip := uint64(1 << 63)
	if v.Type == schema.Uint64 {
		flip = 0
	}
	lo, hi := b.numbers[0]^flip, b.numbers[0]^flip
	for _, n := range b.numbers {
		lo, hi = min(lo, n^flip), max(hi, n^flip)
	}
	v.Base = int64(lo ^ flip)
	switch n := bits.Len64(hi - lo); {
	case n == 0:
	case n <= 8:
		v.Width = 1
	case n <= 16:
		v.Width = 2
	case n <= 32:
		v.Width = 4
	default:
		v.Width = 8
	}
}
