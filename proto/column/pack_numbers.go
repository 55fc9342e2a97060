package column

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

const (
	// maxBits is the maximum size of a number that is packed in bits: with seven more bits it still
	// fits into a load of eight bytes.
	maxBits = 57
	// bitsSlack is the number of bytes after packed numbers that are read with them. The list of
	// packed sections is longer than that.
	bitsSlack = 8
	// lineCost is the approximate size of a list entry after compression.
	lineCost = 24
)

// bitsSize returns the size of n numbers of b bits.
func bitsSize(n, b int) int { return (n*b + 7) / 8 }

// appendBits appends the numbers, each below 1<<b, b bits of each, the lowest first.
func appendBits(out []byte, values []uint64, b int) []byte {
	le := binary.LittleEndian
	start := len(out)
	size := bitsSize(len(values), b)
	out = slices.Grow(out, size+bitsSlack)[:start+size+bitsSlack]
	to := out[start:]
	acc, n := uint64(0), 0 // n bits of acc, fewer than 8, have not been written yet
	for _, v := range values {
		acc |= v << n
		n += b
		le.PutUint64(to, acc)
		acc >>= n &^ 7
		to = to[n>>3:]
		n &= 7
	}
	to[0] = byte(acc)
	return out[:start+size]
}

// expandBits is the inverse of appendBits. src must have bitsSlack bytes of capacity after its end.
func expandBits(values []uint64, src []byte, b int) {
	src = src[:len(src)+bitsSlack]
	mask := uint64(1)<<b - 1
	at := uint(0)
	for i := range values {
		values[i] = binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask
		at += uint(b)
	}
}

// takeBits reads n numbers of param bits, all of src, into scratch memory.
func (u *unpacker) takeBits(src []byte, n int) ([]uint64, bool) {
	b := int(u.param)
	if n > MaxRows || b > maxBits || len(src) != bitsSize(n, b) || cap(src) < len(src)+bitsSlack {
		return nil, false
	}
	*u.numbers = slices.Grow((*u.numbers)[:0], n)[:n]
	expandBits(*u.numbers, src, b)
	return *u.numbers, true
}

// measure returns the largest number, and the number of values that differ from the previous one.
func measure(values []uint64) (most uint64, changes int) {
	if len(values) == 0 {
		return 0, 0
	}
	last := values[0]
	for _, v := range values {
		most = max(most, v)
		if v != last {
			changes++
		}
		last = v
	}
	return most, changes
}

// bitsFor chooses the number of bits for each of n numbers. If numbers are whole bytes, compression
// needs about one literal for each change and almost nothing for repetitions. So numbers that
// change rarely stay whole bytes.
func bitsFor(most uint64, n, changes, width int) int {
	b := bits.Len64(most)
	if changes*8*width < n*b {
		return 8 * width
	}
	return b
}

// widen appends the numbers of a section. For a nullable column it appends only the existing ones.
func widen(values []uint64, section []byte, width uint8, validity []byte) []uint64 {
	le := binary.LittleEndian
	n := len(section) / int(width)
	if validity != nil {
		for ; len(validity) >= 8; validity = validity[8:] {
			for set := le.Uint64(validity); set != 0; set &= set - 1 {
				values = append(values, numberAt(section, bits.TrailingZeros64(set), width))
			}
			section = section[min(64*int(width), len(section)):]
		}
		return values
	}
	values = slices.Grow(values, n)[:n]
	switch width {
	case 1:
		for i, v := range section[:n] {
			values[i] = uint64(v)
		}
	case 2:
		for i := range values {
			values[i] = uint64(le.Uint16(section[2*i:]))
		}
	case 4:
		for i := range values {
			values[i] = uint64(le.Uint32(section[4*i:]))
		}
	default:
		for i := range values {
			values[i] = le.Uint64(section[8*i:])
		}
	}
	return values
}

func numberAt(section []byte, i int, width uint8) uint64 {
	switch width {
	case 1:
		return uint64(section[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(section[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(section[4*i:]))
	}
	return binary.LittleEndian.Uint64(section[8*i:])
}

// scatter writes the numbers to the rows that have one, and 0 to the others. It reports whether
// there are as many such rows as numbers.
func scatter(section []byte, values []uint64, width uint8, validity []byte) bool {
	clear(section)
	rows := len(section) / int(width)
	for word := 0; len(validity) >= 8; word, validity = word+64, validity[8:] {
		for set := binary.LittleEndian.Uint64(validity); set != 0; set &= set - 1 {
			row := word + bits.TrailingZeros64(set)
			if row >= rows || len(values) == 0 {
				return false
			}
			to := section[row*int(width):]
			switch width {
			case 1:
				to[0] = byte(values[0])
			case 2:
				binary.LittleEndian.PutUint16(to, uint16(values[0]))
			case 4:
				binary.LittleEndian.PutUint32(to, uint32(values[0]))
			default:
				binary.LittleEndian.PutUint64(to, values[0])
			}
			values = values[1:]
		}
	}
	return len(values) == 0
}

// packNumbers packs codes, or numbers minus their base.
func (e *encoder) packNumbers(out, section []byte, c candidate, validity []byte) (_ []byte, line packedLine, ok bool) {
	e.wide = widen(e.wide[:0], section, c.width, validity)
	width := int(c.width)
	most, changes := measure(e.wide)
	b := bitsFor(most, len(e.wide), changes, width)
	if b > maxBits {
		return out, line, false
	}
	if b == 8*width {
		// The estimated sizes after compression. Each group of rows without a value costs two or three bytes.
		left, packed := min(changes*(width+2), len(section)), changes*width
		if validity == nil || left < packed+lineCost {
			return out, line, false
		}
	} else if left := min(changes*width, len(section)); left < bitsSize(len(e.wide), b)+lineCost {
		return out, line, false
	}
	out, sparse := appendSparse(out, c, validity)
	return appendBits(out, e.wide, b), packedLine{how: packBits, param: byte(b), extra: c.width, sparse: sparse}, true
}

// appendSparse writes the position of the validity if rows without a value are left out.
func appendSparse(out []byte, c candidate, validity []byte) ([]byte, bool) {
	if validity == nil {
		return out, false
	}
	return binary.LittleEndian.AppendUint32(out, uint32(c.validity)), true
}

// takeSparse removes from src the bytes that appendSparse wrote, and returns the number of numbers.
func (u *unpacker) takeSparse(rows int) (validity []byte, n int, ok bool) {
	if !u.sparse {
		return nil, rows, true
	}
	if len(u.src) < 4 {
		return nil, 0, false
	}
	at := int(binary.LittleEndian.Uint32(u.src))
	u.src = u.src[4:]
	if size := validitySize(rows); size > len(u.body) || at > len(u.body)-size {
		return nil, 0, false
	}
	validity = u.body[at : at+validitySize(rows)]
	for v := validity; len(v) >= 8; v = v[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(v))
	}
	return validity, n, true
}

func (u *unpacker) expandNumbers() bool {
	width := int(u.extra)
	if width != 1 && width != 2 && width != 4 && width != 8 || len(u.section)%width != 0 || int(u.param) > 8*width {
		return false
	}
	validity, n, ok := u.takeSparse(len(u.section) / width)
	if !ok {
		return false
	}
	values, ok := u.takeBits(u.src, n)
	if !ok {
		return false
	}
	if u.sparse {
		return scatter(u.section, values, u.extra, validity)
	}
	narrow(u.section, values, 0, u.extra)
	return true
}

// packOffsets packs n+1 offsets as n lengths: in bits, or in whole bytes if they repeat.
func (e *encoder) packOffsets(out, section []byte) (_ []byte, line packedLine, ok bool) {
	le := binary.LittleEndian
	last := uint32(0)
	e.wide = e.wide[:0]
	for o := section[4:]; len(o) >= 4; o = o[4:] {
		next := le.Uint32(o)
		e.wide = append(e.wide, uint64(next-last))
		last = next
	}
	most, changes := measure(e.wide)
	if changes == 0 {
		return le.AppendUint32(out, uint32(most)), packedLine{how: packLengths}, true
	}
	if most > math.MaxUint16 {
		return out, line, false
	}
	width := widthOf(most)
	if b := bitsFor(most, len(e.wide), changes, int(width)); b < 8*int(width) {
		return appendBits(out, e.wide, b), packedLine{how: packLengthBits, param: byte(b)}, true
	}
	start := len(out)
	out = slices.Grow(out, len(e.wide)*int(width))[:start+len(e.wide)*int(width)]
	narrow(out[start:], e.wide, 0, width)
	return out, packedLine{how: packLengths, param: width}, true
}

// expandOffsets reads lengths in bits. If the sum of lengths exceeds 32 bits, offsets decrease,
// which the check of the column finds.
func (u *unpacker) expandOffsets() bool {
	if len(u.section) < 8 || len(u.section)%4 != 0 {
		return false
	}
	values, ok := u.takeBits(u.src, len(u.section)/4-1)
	if !ok {
		return false
	}
	le := binary.LittleEndian
	le.PutUint32(u.section, 0)
	to, at := u.section[4:], uint32(0)
	for _, v := range values {
		at += uint32(v)
		le.PutUint32(to, at)
		to = to[4:]
	}
	return true
}

// expandLengths is the inverse of appendLengths. If the sum of lengths exceeds 32 bits, offsets
// decrease, which the check of the column finds.
func expandLengths(offsets, src []byte, param byte) bool {
	le := binary.LittleEndian
	if len(offsets) < 8 || len(offsets)%4 != 0 {
		return false
	}
	n := len(offsets)/4 - 1
	le.PutUint32(offsets, 0)
	to, at := offsets[4:], uint32(0)
	switch {
	case param == 0 && len(src) == 4:
		each := le.Uint32(src)
		for ; len(to) >= 4; to = to[4:] {
			at += each
			le.PutUint32(to, at)
		}
	case param == 1 && len(src) == n:
		for _, b := range src {
			at += uint32(b)
			le.PutUint32(to, at)
			to = to[4:]
		}
	case param == 2 && len(src) == 2*n:
		for ; len(src) >= 2; src, to = src[2:], to[4:] {
			at += uint32(le.Uint16(src))
			le.PutUint32(to, at)
		}
	default:
		return false
	}
	return true
}
