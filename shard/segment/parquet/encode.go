package parquet

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// appendValues appends the values first to last-1 in the encoding of the chunk.
func (k *chunk) appendValues(dst []byte, first, last int) []byte {
	v := k.v
	switch k.encoding {
	case format.RLEDictionary:
		dst = append(dst, byte(k.width))
		return appendHybrid(dst, k.codes[first:last], k.width)
	case format.DeltaBinaryPacked:
		if k.c.kind() == format.Int32 {
			narrow := make([]int32, last-first)
			for i, n := range v.Numbers[first:last] {
				narrow[i] = int32(n)
			}
			return appendDelta(dst, narrow)
		}
		return appendDelta(dst, signed(v.Numbers[first:last]))
	case format.ByteStreamSplit:
		return appendSplit(dst, v.Numbers[first:last], k.bytes())
	case format.DeltaByteArray:
		return appendDeltaBytes(dst, v.Data, v.Ends, first, last)
	}
	if k.numbers() {
		return k.appendPlain(dst, v.Numbers[first:last])
	}
	return appendPlainBytes(dst, v.Data, v.Ends, first, last)
}

// bytes returns the size of a plain number.
func (k *chunk) bytes() int {
	if kind := k.c.kind(); kind == format.Int32 || kind == format.Float {
		return 4
	}
	return 8
}

// appendPlain appends numbers without an encoding.
func (k *chunk) appendPlain(dst []byte, numbers []uint64) []byte {
	if k.c.kind() == format.Boolean {
		return appendPacked(dst, numbers, 1)
	}
	if k.c.kind() == format.FixedLenByteArray {
		for _, n := range numbers {
			dst = appendDecimal(dst, n)
		}
		return dst
	}
	return appendPacked(dst, numbers32(numbers, k.bytes()), uint(8*k.bytes()))
}

// DecimalBytes is the size of the values of a column of type FIXED_LEN_BYTE_ARRAY.
const DecimalBytes = 9

// appendDecimal appends an unsigned number as a decimal without decimal places, in big-endian two's complement.
func appendDecimal(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, 0), n)
}

// numbers32 truncates numbers to their size in the file.
func numbers32(numbers []uint64, bytes int) []uint64 {
	if bytes == 8 {
		return numbers
	}
	cut := make([]uint64, len(numbers))
	for i, n := range numbers {
		cut[i] = uint64(uint32(n))
	}
	return cut
}

// appendSplit appends numbers as BYTE_STREAM_SPLIT: the first bytes of all numbers, then the second
// bytes, and so on.
func appendSplit(dst []byte, numbers []uint64, bytes int) []byte {
	n := len(numbers)
	at := len(dst)
	dst = slices.Grow(dst, n*bytes)[:at+n*bytes]
	for b := range bytes {
		stream := dst[at+b*n : at+(b+1)*n]
		shift := 8 * b
		for i, v := range numbers {
			stream[i] = byte(v >> shift)
		}
	}
	return dst
}

// appendPlainBytes appends byte strings, each after its length.
func appendPlainBytes(dst, data []byte, ends []uint32, first, last int) []byte {
	for i := first; i < last; i++ {
		b := entry(data, ends, i)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
		dst = append(dst, b...)
	}
	return dst
}

// appendLengths appends the lengths of byte strings. In DELTA_LENGTH_BYTE_ARRAY, all of their bytes follow.
func appendLengths(dst []byte, ends []uint32, first, last int) []byte {
	at := uint32(start(ends, first))
	lengths := make([]int32, last-first)
	for i, end := range ends[first:last] {
		lengths[i] = int32(end - at)
		at = end
	}
	return appendDelta(dst, lengths)
}

// appendDeltaBytes appends byte strings as DELTA_BYTE_ARRAY: the length of the prefix that each
// shares with the previous one, and the rest.
func appendDeltaBytes(dst, data []byte, ends []uint32, first, last int) []byte {
	prefixes := make([]int32, last-first)
	lengths := make([]int32, last-first)
	var before []byte
	size := 0
	for i := first; i < last; i++ {
		b := entry(data, ends, i)
		p := common(before, b)
		prefixes[i-first], lengths[i-first] = int32(p), int32(len(b)-p)
		size += len(b) - p
		before = b
	}
	dst = appendDelta(dst, prefixes)
	dst = appendDelta(dst, lengths)
	dst = slices.Grow(dst, size)
	for i := first; i < last; i++ {
		dst = append(dst, entry(data, ends, i)[prefixes[i-first]:]...)
	}
	return dst
}

// common returns the length of the common prefix.
func common(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
