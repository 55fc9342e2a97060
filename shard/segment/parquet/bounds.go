package parquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// bounds are the smallest and the largest value of a page or a chunk.
type bounds struct {
	kind     format.Type
	unsigned bool
	// none means that there is no value. barred means that the values have no usable bounds: a byte
	// string is too long, or a number is NaN, which has no place in the order.
	none, barred bool
	lo, hi       uint64 // of numbers, mapped so that they compare as unsigned numbers
	min, max     []byte // of byte strings

	pages                       int
	lastLo, lastHi              uint64
	lastMin, lastMax            []byte
	notAscending, notDescending bool
}

func newBounds(c *Column) bounds {
	return bounds{kind: c.kind(), unsigned: c.Unsigned, none: true}
}

// ordered maps a number to an unsigned number with the same order.
func (b *bounds) ordered(v uint64) uint64 {
	const sign = 1 << 63
	switch b.kind {
	case format.Float:
		v = math.Float64bits(float64(math.Float32frombits(uint32(v))))
	case format.Double:
	default:
		if b.unsigned {
			return v
		}
		return v ^ sign
	}
	if v&sign != 0 {
		return ^v
	}
	return v | sign
}

// numbers extends the bounds to include the values.
func (b *bounds) numbers(values []uint64) {
	if len(values) == 0 || b.barred {
		return
	}
	if b.kind == format.Float || b.kind == format.Double {
		for _, v := range values {
			f := math.Float64frombits(v)
			if b.kind == format.Float {
				f = float64(math.Float32frombits(uint32(v)))
			}
			if f != f {
				b.barred, b.none = true, true
				return
			}
			b.number(b.ordered(v))
		}
		return
	}
	flip := uint64(1 << 63)
	if b.unsigned {
		flip = 0
	}
	lo, hi := values[0]^flip, values[0]^flip
	for _, v := range values[1:] {
		lo, hi = min(lo, v^flip), max(hi, v^flip)
	}
	b.number(lo)
	b.number(hi)
}

// number adds the result of ordered.
func (b *bounds) number(v uint64) {
	if b.none {
		b.none, b.lo, b.hi = false, v, v
		return
	}
	b.lo, b.hi = min(b.lo, v), max(b.hi, v)
}

// bytes adds the byte strings first to last-1.
func (b *bounds) bytes(data []byte, ends []uint32, first, last int) {
	if first == last || b.barred {
		return
	}
	lo, hi := entry(data, ends, first), entry(data, ends, first)
	loHead, hiHead := head(lo), head(hi)
	for i := first; i < last; i++ {
		v := entry(data, ends, i)
		if len(v) > maxBoundBytes {
			b.barred, b.none = true, true
			return
		}
		h := head(v)
		if h < loHead || h == loHead && bytes.Compare(v, lo) < 0 {
			lo, loHead = v, h
		}
		if h > hiHead || h == hiHead && bytes.Compare(v, hi) > 0 {
			hi, hiHead = v, h
		}
	}
	b.string(lo)
	b.string(hi)
}

// head returns the first eight bytes of a string as a number with the same order.
func head(v []byte) uint64 {
	if len(v) >= 8 {
		return binary.BigEndian.Uint64(v)
	}
	var h uint64
	for i, c := range v {
		h |= uint64(c) << (56 - 8*i)
	}
	return h
}

func (b *bounds) string(v []byte) {
	if b.none || bytes.Compare(v, b.min) < 0 {
		b.min = bytes.Clone(v)
	}
	if b.none || bytes.Compare(v, b.max) > 0 {
		b.max = bytes.Clone(v)
	}
	b.none = false
}

// add adds the bounds of the next page to the bounds of a chunk.
func (b *bounds) add(p *bounds) {
	if p.barred {
		b.barred, b.none = true, true
	}
	if p.none || b.barred {
		return
	}
	compare := func(p, q uint64, r, s []byte) int {
		if b.kind == format.ByteArray {
			return bytes.Compare(r, s)
		}
		switch {
		case p < q:
			return -1
		case p > q:
			return 1
		}
		return 0
	}
	if b.pages > 0 {
		low, high := compare(b.lastLo, p.lo, b.lastMin, p.min), compare(b.lastHi, p.hi, b.lastMax, p.max)
		b.notAscending = b.notAscending || low > 0 || high > 0
		b.notDescending = b.notDescending || low < 0 || high < 0
	}
	b.pages++
	b.lastLo, b.lastHi, b.lastMin, b.lastMax = p.lo, p.hi, p.min, p.max
	if b.kind == format.ByteArray {
		b.string(p.min)
		b.string(p.max)
		return
	}
	b.number(p.lo)
	b.number(p.hi)
}

// order returns the order of the pages' bounds.
func (b *bounds) order() format.BoundaryOrder {
	switch {
	case !b.notAscending:
		return format.Ascending
	case !b.notDescending:
		return format.Descending
	}
	return format.Unordered
}

// encoded returns the bounds as plain values, or nil if there are none.
func (b *bounds) encoded() (lo, hi []byte) {
	if b.none {
		return nil, nil
	}
	if b.kind == format.ByteArray {
		return nonNil(b.min), nonNil(b.max)
	}
	// Zero has two forms, and bounds must include both.
	low, high := b.number64(b.lo), b.number64(b.hi)
	if b.kind == format.Float || b.kind == format.Double {
		if low == 0 {
			low = 1 << 63
		}
		if high == 1<<63 {
			high = 0
		}
	}
	return b.plain(low), b.plain(high)
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// number64 is the inverse of ordered. For a float it returns the bits of a double.
func (b *bounds) number64(v uint64) uint64 {
	const sign = 1 << 63
	switch {
	case b.kind == format.Float || b.kind == format.Double:
		if v&sign != 0 {
			return v &^ sign
		}
		return ^v
	case b.unsigned:
		return v
	}
	return v ^ sign
}

func (b *bounds) plain(v uint64) []byte {
	switch b.kind {
	case format.Boolean:
		return []byte{byte(v)}
	case format.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v))
	case format.Float:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(math.Float64frombits(v))))
	case format.FixedLenByteArray:
		return appendDecimal(nil, v)
	}
	return binary.LittleEndian.AppendUint64(nil, v)
}
