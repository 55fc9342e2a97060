package parquet

import (
	"math/bits"
	"slices"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"
)

const (
	// sampleValues is the number of values of a column of numbers that decide whether to try a
	// dictionary.
	sampleValues = 1024
	// minDictValues is the minimum number of values for a dictionary.
	minDictValues = 16
	// maxNumberEntries is the maximum number of entries of a dictionary of numbers.
	maxNumberEntries = 1 << 15
)

// plan chooses the encoding of the chunk.
func (k *chunk) plan() {
	v := k.v
	n := v.count(k.numbers())
	if !k.numbers() {
		switch {
		case v.Dict:
			k.encoding, k.dict, k.codes = format.RLEDictionary, len(v.Ends), v.Codes
			k.width = codeWidth(k.dict)
		case sharing(v):
			k.encoding = format.DeltaByteArray
		default:
			k.encoding = format.DeltaLengthByteArray
		}
		return
	}
	k.encoding = format.Plain
	kind := k.c.kind()
	if n == 0 || kind == format.Boolean {
		return
	}
	float := kind == format.Float || kind == format.Double
	if !k.c.Rising && n >= minDictValues && k.w.numbers.worth(v.Numbers, float) {
		limit := min(maxNumberEntries, n/4)
		if float {
			limit = min(maxNumberEntries, n/2)
		}
		if codes, ok := k.w.numbers.encode(k.w.codes[:0], v.Numbers, limit); ok {
			k.w.codes = codes
			k.dict = len(k.w.numbers.values)
			k.width = codeWidth(k.dict)
			if float || k.dict <= 256 || len(codes)*int(k.width)/8+3*k.dict < deltaBytes(v.Numbers) {
				k.encoding, k.codes = format.RLEDictionary, codes
				return
			}
		}
	}
	if float {
		k.encoding = format.ByteStreamSplit
		return
	}
	if kind == format.FixedLenByteArray {
		return
	}
	k.encoding = format.DeltaBinaryPacked
}

// sharing reports whether most byte strings share a prefix with the previous one.
func sharing(v *Values) bool {
	n := len(v.Ends)
	if n < 2 {
		return false
	}
	shared, all := 0, 0
	for i := 1; i < n; i += 1 + n/256 {
		b := v.Entry(i)
		shared += common(v.Entry(i-1), b)
		all += len(b)
	}
	return all > 0 && 2*shared >= all
}

// deltaBytes estimates the size of numbers as differences.
func deltaBytes(numbers []uint64) int {
	const blocks = 8
	step := max(blockValues, len(numbers)/blocks)
	size, sampled := 0, 0
	for at := 0; at < len(numbers); at += step {
		part := numbers[at:min(at+blockValues, len(numbers))]
		size += len(appendDelta(nil, signed(part)))
		sampled += len(part)
	}
	return int(int64(size) * int64(len(numbers)) / int64(max(sampled, 1)))
}

// signed returns the numbers as signed numbers.
func signed(numbers []uint64) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(numbers))), len(numbers))
}

// numberDict builds dictionaries of numbers. It reuses its memory.
type numberDict struct {
	values []uint64
	slots  []uint32 // the entry plus one, by hash; the length is a power of two
}

func (d *numberDict) reset(slots int) {
	size := 1 << bits.Len(uint(max(slots, 16)*2-1))
	if cap(d.slots) < size {
		d.slots = make([]uint32, size)
	}
	d.slots = d.slots[:size]
	clear(d.slots)
	d.values = d.values[:0]
}

// slotOf returns the slot at which to search for v, with as many bits as the number of slots has.
func slotOf(v uint64) uint64 {
	h := v * 0x9E3779B97F4A7C15
	return h ^ h>>32
}

// code returns the entry of v, and adds it if it is missing.
func (d *numberDict) code(v uint64) uint32 {
	mask := uint64(len(d.slots) - 1)
	for at := slotOf(v) & mask; ; at = (at + 1) & mask {
		s := d.slots[at]
		if s == 0 {
			d.values = append(d.values, v)
			d.slots[at] = uint32(len(d.values))
			return uint32(len(d.values) - 1)
		}
		if d.values[s-1] == v {
			return s - 1
		}
	}
}

// worth reports, from a sample, whether numbers repeat enough to try a dictionary. It also returns
// true for floats with few decimal places: few values of a sample are equal, but without a
// dictionary they take much space.
func (d *numberDict) worth(numbers []uint64, float bool) bool {
	d.reset(sampleValues)
	n := 0
	for i := 0; i < len(numbers) && n < sampleValues; i += 1 + (len(numbers)-1)/sampleValues {
		d.code(numbers[i])
		n++
	}
	if float {
		return len(d.values)*20 <= n*19
	}
	return len(d.values)*10 <= n*7
}

// encode builds a dictionary of at most limit entries, and the codes. It returns false if there are
// more entries.
func (d *numberDict) encode(codes []uint32, numbers []uint64, limit int) ([]uint32, bool) {
	d.reset(limit + 1)
	codes = slices.Grow(codes, len(numbers))[:len(numbers)]
	mask := uint64(len(d.slots) - 1)
	for i, v := range numbers {
		// Almost all entries are found in their first slot.
		if s := d.slots[slotOf(v)&mask]; s != 0 && d.values[s-1] == v {
			codes[i] = s - 1
			continue
		}
		codes[i] = d.code(v)
		if len(d.values) > limit {
			return codes, false
		}
	}
	return codes, true
}
