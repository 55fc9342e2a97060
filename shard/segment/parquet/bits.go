package parquet

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// appendPacked appends the values one after the other in width bits each, low bits first, and pads
// with zero bits to a whole byte. Values must fit.
func appendPacked[T uint32 | uint64](dst []byte, values []T, width uint) []byte {
	switch width {
	case 0:
		return dst
	case 8:
		at := len(dst)
		dst = slices.Grow(dst, len(values))[:at+len(values)]
		out := dst[at:]
		for i, v := range values {
			out[i] = byte(v)
		}
		return dst
	}
	at := len(dst)
	size := (len(values)*int(width) + 7) / 8
	dst = slices.Grow(dst, size+8)[:at+size+8]
	out := dst[at:]
	var word uint64
	var n uint // number of bits in word
	i := 0
	for _, v := range values {
		word |= uint64(v) << n
		n += width
		if n >= 64 {
			binary.LittleEndian.PutUint64(out[i:], word)
			i += 8
			n -= 64
			word = uint64(v) >> (width - n)
		}
	}
	binary.LittleEndian.PutUint64(out[i:], word)
	return dst[:at+size]
}

// padding is the capacity that a packed slice must have after its end.
const padding = 16

// unpack reads len(dst) values of width bits from src, which must be long enough and have padding
// bytes of capacity after its end.
func unpack[T uint32 | uint64](dst []T, src []byte, width uint) {
	switch width {
	case 0:
		clear(dst)
		return
	case 8:
		for i := range dst {
			dst[i] = T(src[i])
		}
		return
	}
	src = src[:cap(src)]
	mask := uint64(1)<<width - 1
	if width == 64 {
		mask = ^uint64(0)
	}
	at := uint(0)
	if width <= 56 {
		for i := range dst {
			dst[i] = T(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask)
			at += width
		}
		return
	}
	for i := range dst {
		v := binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7)
		v |= uint64(src[at>>3+8]) << (64 - at&7)
		dst[i] = T(v & mask)
		at += width
	}
}

// bitmapRun returns the number of consecutive rows, beginning with row from and ending before row
// to, that have the same bit as row from.
func bitmapRun(bitmap []uint64, from, to int) int {
	flip := -(bitmap[from>>6] >> (from & 63) & 1) // all ones if the bit is set
	for at := from; at < to; {
		w := (bitmap[at>>6] ^ flip) >> (at & 63)
		if w != 0 {
			return min(at+bits.TrailingZeros64(w), to) - from
		}
		at += 64 - at&63
	}
	return to - from
}

// bitmapOnes counts the set bits of the rows [from, to).
func bitmapOnes(bitmap []uint64, from, to int) int {
	n := 0
	for at := from; at < to; {
		step := min(64-at&63, to-at)
		n += bits.OnesCount64(bitmap[at>>6] >> (at & 63) << (64 - step))
		at += step
	}
	return n
}
