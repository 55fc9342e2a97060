package column

import (
	"encoding/binary"
	"math"
	"slices"
)

// maxExponent is the maximum number of decimal places of a packed float.
const maxExponent = 6

var powersOf10 = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}

// packFloats packs floats of the form k/10^e, for one e, as a base and the differences from it: in
// bits, or in 1, 2 or 4 bytes if they repeat. Dividing two integers that floats hold exactly rounds
// to the float nearest to the fraction. Parsing the text of the fraction gives the same float, so
// each float is restored bit by bit.
func (e *encoder) packFloats(out, section []byte, c candidate, validity []byte) (_ []byte, line packedLine, ok bool) {
	e.wide = widen(e.wide[:0], section, 8, validity)
	exponent := exponentOf(e.wide)
	if exponent < 0 || len(e.wide) == 0 {
		return out, line, false
	}
	power := powersOf10[exponent]
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for i, v := range e.wide {
		k := math.RoundToEven(math.Float64frombits(v) * power)
		if !(math.Abs(k) < 1<<52) || math.Float64bits(float64(int64(k))/power) != v { // -0 fails here
			return out, line, false
		}
		lo, hi = min(lo, int64(k)), max(hi, int64(k))
		e.wide[i] = uint64(int64(k))
	}
	for i := range e.wide {
		e.wide[i] -= uint64(lo)
	}
	width := widthOf(uint64(hi - lo))
	if width > 4 {
		return out, line, false
	}
	most, changes := measure(e.wide)
	b := bitsFor(most, len(e.wide), changes, int(width))
	if validity == nil && b == 8*int(width) {
		start := len(out) + 8
		out = slices.Grow(binary.LittleEndian.AppendUint64(out, uint64(lo)),
			len(e.wide)*int(width))[:start+len(e.wide)*int(width)]
		if width > 0 {
			narrow(out[start:], e.wide, 0, width)
		}
		return out, packedLine{how: packDecimal, param: byte(16*exponent) + width}, true
	}
	out, sparse := appendSparse(out, c, validity)
	out = binary.LittleEndian.AppendUint64(out, uint64(lo))
	return appendBits(out, e.wide, b), packedLine{
		how: packDecimalBits, param: byte(b), extra: byte(exponent), sparse: sparse,
	}, true
}

// exponentOf guesses the number of decimal places from some of the floats, or returns -1.
func exponentOf(floats []uint64) int {
	e := 0
	for i := 0; i < len(floats); i += 1 + len(floats)/64 {
		v := math.Float64frombits(floats[i])
		for math.RoundToEven(v*powersOf10[e])/powersOf10[e] != v {
			if e++; e > maxExponent {
				return -1
			}
		}
	}
	return e
}

// expandFloats is the inverse of packFloats for numbers in bits. A row without a value gets +0.
func (u *unpacker) expandFloats() bool {
	if int(u.extra) > maxExponent || len(u.section)%8 != 0 {
		return false
	}
	validity, n, ok := u.takeSparse(len(u.section) / 8)
	if !ok || len(u.src) < 8 {
		return false
	}
	lo, power := int64(binary.LittleEndian.Uint64(u.src)), powersOf10[u.extra]
	values, ok := u.takeBits(u.src[8:], n)
	if !ok {
		return false
	}
	for i, v := range values {
		values[i] = math.Float64bits(float64(lo+int64(v)) / power)
	}
	if u.sparse {
		return scatter(u.section, values, 8, validity)
	}
	narrow(u.section, values, 0, 8)
	return true
}

func expandDecimals(section, src []byte, param byte) bool {
	le := binary.LittleEndian
	e, width := int(param>>4), int(param&15)
	if e > maxExponent || len(section)%8 != 0 || len(src) != 8+len(section)/8*width {
		return false
	}
	lo, power := int64(le.Uint64(src)), powersOf10[e]
	src = src[8:]
	switch width {
	case 0:
		v := math.Float64bits(float64(lo) / power)
		for ; len(section) >= 8; section = section[8:] {
			le.PutUint64(section, v)
		}
	case 1:
		for _, b := range src {
			le.PutUint64(section, math.Float64bits(float64(lo+int64(b))/power))
			section = section[8:]
		}
	case 2:
		for ; len(src) >= 2; src, section = src[2:], section[8:] {
			le.PutUint64(section, math.Float64bits(float64(lo+int64(le.Uint16(src)))/power))
		}
	case 4:
		for ; len(src) >= 4; src, section = src[4:], section[8:] {
			le.PutUint64(section, math.Float64bits(float64(lo+int64(le.Uint32(src)))/power))
		}
	default:
		return false
	}
	return true
}
