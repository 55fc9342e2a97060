package column

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// SetInt writes an integer, a timestamp in the column's unit, or a boolean as 0 or 1.
// A row may be written only once.
func (c *Col) SetInt(row int, v int64) {
	c.pad(row)
	c.fixed = append(c.fixed, uint64(v))
	c.mark(row)
}

// SetFloat writes a float to a Float64 or Float32 column.
func (c *Col) SetFloat(row int, v float64) {
	c.pad(row)
	c.fixed = append(c.fixed, math.Float64bits(v))
	c.mark(row)
}

// SetBytes writes a copy of v to a String, Binary or JSON column.
func (c *Col) SetBytes(row int, v []byte) {
	c.EndBytes(row, append(c.BeginBytes(row), v...))
}

// Grow makes room for byte strings of n bytes in total, so that they need not be moved.
func (c *Col) Grow(n int) {
	if n <= maxFreeBytes || len(c.bytes) > 0 || n <= cap(c.bytes) {
		c.bytes = slices.Grow(c.bytes, n)
		return
	}
	if large, ok := largeTexts.Get().(*[]byte); ok && cap(*large) >= n {
		c.bytes = *large
		return
	}
	c.bytes = make([]byte, 0, withSlack(n, maxSharedBytes))
}

// withSlack returns a little more than n, so that the memory is enough for the next request of
// about the same size, but not more than may be kept.
func withSlack(n, kept int) int { return max(n, min(n+n/8, kept)) }

// SetPart is like SetBytes, for src[from:to]. Another 16 bytes of src after it must be readable.
func (c *Col) SetPart(row int, src []byte, from, to int) {
	c.pad(row)
	buf, n := c.bytes, to-from
	at := len(buf)
	// Most strings are short: copying a whole word or two is faster than checking the length.
	switch {
	case n <= 16 && cap(buf)-at >= 16:
		*(*[16]byte)(buf[at : at+16]) = [16]byte(src[from : from+16])
		buf = buf[:at+n]
	case n <= 32 && cap(buf)-at >= 32:
		*(*[32]byte)(buf[at : at+32]) = [32]byte(src[from : from+32])
		buf = buf[:at+n]
	default:
		buf = append(buf, src[from:to]...)
	}
	c.bytes = buf
	c.ends = append(c.ends, uint32(len(buf)))
	c.mark(row)
}

// SetString is like SetBytes, for a string.
func (c *Col) SetString(row int, v string) {
	c.pad(row)
	c.EndBytes(row, appendString(c.bytes, v))
}

// appendString appends v to buf. Most strings are short: a few words, which may overlap, are copied faster than by a
// call.
func appendString(buf []byte, v string) []byte {
	at, n := len(buf), len(v)
	if n > 32 || cap(buf)-at < 32 {
		return append(buf, v...)
	}
	le := binary.LittleEndian
	from, to := unsafe.Slice(unsafe.StringData(v), n), buf[at:at+32]
	switch {
	case n >= 16:
		*(*[16]byte)(to) = [16]byte(from)
		*(*[16]byte)(to[n-16:]) = [16]byte(from[n-16:])
	case n >= 8:
		le.PutUint64(to, le.Uint64(from))
		le.PutUint64(to[n-8:], le.Uint64(from[n-8:]))
	case n >= 4:
		le.PutUint32(to, le.Uint32(from))
		le.PutUint32(to[n-4:], le.Uint32(from[n-4:]))
	default:
		copy(to, from)
	}
	return buf[:at+n]
}

// TextSize returns the number of bytes of all byte strings.
func (c *Col) TextSize() int { return len(c.bytes) }

// BeginBytes returns the column's byte buffer, to which the caller appends the row's value.
// EndBytes takes the buffer back. No other method of c may be called between them.
func (c *Col) BeginBytes(row int) []byte {
	c.pad(row)
	return c.bytes
}

// EndBytes completes a value that BeginBytes started. Without the call, the column stays unchanged.
func (c *Col) EndBytes(row int, buf []byte) {
	c.bytes = buf
	c.ends = append(c.ends, uint32(len(buf)))
	c.mark(row)
}

// SetNull writes a null.
func (c *Col) SetNull(row int) { c.pad(row + 1) }
