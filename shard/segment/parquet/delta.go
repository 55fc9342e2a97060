package parquet

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// DELTA_BINARY_PACKED stores blocks of differences, minus the smallest difference of the block.

const (
	blockValues = 128
	miniBlocks  = 4
	miniValues  = blockValues / miniBlocks
)

// integer is a number with the width of the column. Its differences wrap around.
type integer interface{ int32 | int64 }

// appendDelta appends numbers as differences.
func appendDelta[T integer](dst []byte, values []T) []byte {
	dst = binary.AppendUvarint(dst, blockValues)
	dst = binary.AppendUvarint(dst, miniBlocks)
	dst = binary.AppendUvarint(dst, uint64(len(values)))
	if len(values) == 0 {
		return append(dst, 0)
	}
	last := values[0]
	dst = binary.AppendVarint(dst, int64(last))
	values = values[1:]
	var deltas [blockValues]T
	var packed [blockValues]uint64
	for len(values) > 0 {
		n := min(len(values), blockValues)
		least := values[0] - last
		for i, v := range values[:n] {
			d := v - last
			last = v
			deltas[i] = d
			least = min(least, d)
		}
		values = values[n:]
		dst = binary.AppendVarint(dst, int64(least))
		var widths [miniBlocks]byte
		for m := 0; m*miniValues < n; m++ {
			var all uint64
			for i := m * miniValues; i < min(n, (m+1)*miniValues); i++ {
				p := unsigned(deltas[i] - least)
				packed[i] = p
				all |= p
			}
			widths[m] = byte(bits.Len64(all))
		}
		clear(packed[n:])
		dst = append(dst, widths[:]...)
		for m := 0; m*miniValues < n; m++ {
			dst = appendPacked(dst, packed[m*miniValues:(m+1)*miniValues], uint(widths[m]))
		}
	}
	return dst
}

// unsigned returns the bits of v.
func unsigned[T integer](v T) uint64 {
	switch v := any(v).(type) {
	case int32:
		return uint64(uint32(v))
	case int64:
		return uint64(v)
	}
	return 0
}

// decodeDelta reads numbers into dst, whose length must be their number, and returns the rest of
// src. src must have padding bytes of capacity after its end.
func decodeDelta[T integer](dst []T, src []byte) ([]byte, error) {
	return decodeDeltaPart(dst, len(dst), src)
}

// decodeDeltaPart is like decodeDelta, for the first wanted numbers. The other numbers may
// be wrong.
func decodeDeltaPart[T integer](dst []T, wanted int, src []byte) ([]byte, error) {
	var head [3]uint64
	for i := range head {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return nil, fmt.Errorf("the header of differences: got %d bytes", len(src))
		}
		head[i], src = v, src[n:]
	}
	if head[2] != uint64(len(dst)) {
		return nil, fmt.Errorf("%d numbers: got %d", len(dst), head[2])
	}
	first, n := binary.Varint(src)
	if n <= 0 {
		return nil, fmt.Errorf("the first of %d numbers: got %d bytes", len(dst), len(src))
	}
	src = src[n:]
	if len(dst) == 0 {
		return src, nil
	}
	// The format requires multiples of 128 and of 32.
	block, minis := head[0], head[1]
	if block == 0 || block > 1<<16 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return nil, fmt.Errorf("blocks of a multiple of 128 numbers: got %d in %d", block, minis)
	}
	per := int(block / minis)
	dst[0] = T(first)
	last := T(first)
	dst = dst[1:]
	unwanted := len(dst) + 1 - wanted // numbers at the end of dst that are not wanted
	var few [128]uint64
	scratch := few[:]
	if per > len(few) {
		scratch = make([]uint64, per)
	}
	for len(dst) > 0 {
		least, n := binary.Varint(src)
		if n <= 0 || len(src)-n < int(minis) {
			return nil, fmt.Errorf("a block of differences, with %d numbers to come: got %d bytes", len(dst), len(src))
		}
		widths := src[n : n+int(minis)]
		src = src[n+int(minis):]
		for _, width := range widths {
			if len(dst) == 0 {
				break // widths after the last number have no meaning
			}
			if width > 64 {
				return nil, fmt.Errorf("differences of at most 64 bits: got %d", width)
			}
			take := min(per, len(dst))
			size, need := per*int(width)/8, (take*int(width)+7)/8
			if len(src) < need {
				return nil, fmt.Errorf("%d differences of %d bits: got %d bytes", take, width, len(src))
			}
			if len(dst) <= unwanted {
				dst, src = dst[take:], src[min(size, len(src)):]
				continue
			}
			if width == 0 {
				// All differences are the same, as for the lengths of identifiers.
				for i := range dst[:take] {
					last += T(least)
					dst[i] = last
				}
				dst = dst[take:]
				continue
			}
			unpack(scratch[:take], src, uint(width))
			src = src[min(size, len(src)):]
			for i, d := range scratch[:take] {
				last += T(least) + T(d)
				dst[i] = last
			}
			dst = dst[take:]
		}
	}
	return src, nil
}
