package column

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"
)

// packing is how a section is written shorter than it is in memory. The numbers are
// part of the format.
type packing uint8

const (
	packHex     packing = 1 // lower-case hexadecimal digits, two to a byte
	packLengths packing = 2 // offsets as lengths
	packDecimal packing = 3 // Float64 that are decimal fractions, as integers
)

// packSize is the size of a line in the list of packed sections.
const packSize = 16

// maxExponent is the most decimal places of a packed float.
const maxExponent = 6

// minPacked is the smallest section that is worth a line of the list.
const minPacked = 128

// candidate is a section that may be packed.
type candidate struct {
	how      packing
	at, size int // in the body
}

// offer notes a section that may be packed.
func (e *encoder) offer(how packing, at, size int) {
	if size >= minPacked {
		e.candidates = append(e.candidates, candidate{how, at, size})
	}
}

// pack returns the body with its candidates packed, and behind it the list of those
// that are; or nil if none can be.
func (e *encoder) pack() []byte {
	if len(e.candidates) == 0 {
		return nil
	}
	out := slices.Grow(e.packed[:0], len(e.body)+len(e.candidates)*packSize+4)
	lines := e.lines[:0]
	done := 0
	for _, c := range e.candidates {
		out, done = append(out, e.body[done:c.at]...), c.at
		start := len(out)
		packed, param, ok := packSection(out, e.body[c.at:c.at+c.size], c.how)
		if !ok {
			continue
		}
		out, done = packed, c.at+c.size
		lines = binary.LittleEndian.AppendUint32(lines, uint32(c.at))
		lines = binary.LittleEndian.AppendUint32(lines, uint32(c.size))
		lines = binary.LittleEndian.AppendUint32(lines, uint32(len(out)-start))
		lines = append(lines, byte(c.how), param, 0, 0)
	}
	e.lines = lines
	if len(lines) == 0 {
		return nil
	}
	out = append(append(out, e.body[done:]...), lines...)
	e.packed = binary.LittleEndian.AppendUint32(out, uint32(len(lines)/packSize))
	return e.packed
}

func packSection(out, section []byte, how packing) (_ []byte, param byte, ok bool) {
	switch how {
	case packHex:
		out, ok = appendHex(out, section)
	case packLengths:
		out, param, ok = appendLengths(out, section)
	case packDecimal:
		out, param, ok = appendDecimals(out, section)
	}
	return out, param, ok
}

// unpack writes the body that packed stands for to body.
func unpack(body, packed []byte, columns int) error {
	fault := func(what string, at int, want, got any) error { return corrupt("packed "+what, at, want, got) }
	if len(packed) < 4 {
		return fault("list", 0, "4 bytes", len(packed))
	}
	end := len(packed) - 4
	n := int(binary.LittleEndian.Uint32(packed[end:]))
	// No column has more than two sections that can be packed.
	if n < 1 || n > 2*columns || end < n*packSize {
		return fault("list", end, "1 to 2 sections a column", n)
	}
	list := end - n*packSize
	src := packed[:list]
	done := 0
	for i := range n {
		at := list + i*packSize
		line := packed[at : at+packSize]
		from, size := int(binary.LittleEndian.Uint32(line)), int(binary.LittleEndian.Uint32(line[4:]))
		length := int(binary.LittleEndian.Uint32(line[8:]))
		switch {
		case from < done || size > len(body) || from > len(body)-size:
			return fault("section", at, "one behind the last, within the body", [2]int{from, size})
		case from-done > len(src) || length > len(src)-(from-done):
			return fault("section", at, "bytes that are there", length)
		case line[14] != 0 || line[15] != 0:
			return fault("spare", at+14, 0, line[14:16])
		}
		copy(body[done:from], src)
		src = src[from-done:]
		if !unpackSection(body[from:from+size], src[:length], packing(line[12]), line[13]) {
			return fault("section", at, "contents of its kind", line)
		}
		src, done = src[length:], from+size
	}
	if len(src) != len(body)-done {
		return fault("rest", list-len(src), len(body)-done, len(src))
	}
	copy(body[done:], src)
	return nil
}

func unpackSection(section, src []byte, how packing, param byte) bool {
	switch how {
	case packHex:
		return param == 0 && expandHex(section, src)
	case packLengths:
		return expandLengths(section, src, param)
	case packDecimal:
		return expandDecimals(section, src, param)
	}
	return false
}

// hexValue is the value of a lower-case hexadecimal digit, 0xff of any other byte.
var hexValue = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i, c := range []byte("0123456789abcdef") {
		t[c] = byte(i)
	}
	return t
}()

// hexDigits are the two digits of a byte, the first one in the low bits.
var hexDigits = func() (t [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range t {
		t[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return t
}()

// appendHex packs digits; a last one without a partner is the high half of a byte.
func appendHex(out, digits []byte) ([]byte, bool) {
	start := len(out)
	out = slices.Grow(out, (len(digits)+1)/2)[:start+(len(digits)+1)/2]
	to := out[start:]
	bad := byte(0)
	for len(digits) >= 16 && len(to) >= 8 {
		for i := range 8 {
			hi, lo := hexValue[digits[2*i]], hexValue[digits[2*i+1]]
			bad |= hi | lo
			to[i] = hi<<4 | lo
		}
		if bad > 15 {
			return out[:start], false
		}
		digits, to = digits[16:], to[8:]
	}
	for ; len(digits) >= 2; digits, to = digits[2:], to[1:] {
		hi, lo := hexValue[digits[0]], hexValue[digits[1]]
		bad |= hi | lo
		to[0] = hi<<4 | lo
	}
	if len(digits) == 1 {
		bad |= hexValue[digits[0]]
		to[0] = hexValue[digits[0]] << 4
	}
	return out, bad <= 15
}

func expandHex(digits, src []byte) bool {
	if len(src) != (len(digits)+1)/2 {
		return false
	}
	pairs := len(digits) / 2
	for i, b := range src[:pairs] {
		binary.LittleEndian.PutUint16(digits[2*i:], hexDigits[b])
	}
	if len(digits)&1 == 1 {
		b := src[pairs]
		digits[2*pairs] = byte(hexDigits[b])
		return b&15 == 0
	}
	return true
}

// appendLengths packs n+1 offsets as n lengths of param bytes; with param 0 all have
// the length that follows.
func appendLengths(out, offsets []byte) (_ []byte, param byte, ok bool) {
	le := binary.LittleEndian
	last, first, most, same := uint32(0), le.Uint32(offsets[4:]), uint32(0), true
	for o := offsets[4:]; len(o) >= 4; o = o[4:] {
		next := le.Uint32(o)
		most = max(most, next-last)
		same = same && next-last == first
		last = next
	}
	switch {
	case same:
		return le.AppendUint32(out, first), 0, true
	case most > math.MaxUint16:
		return out, 0, false
	}
	param = widthOf(uint64(most))
	last = 0
	for o := offsets[4:]; len(o) >= 4; o = o[4:] {
		next := le.Uint32(o)
		if param == 1 {
			out = append(out, byte(next-last))
		} else {
			out = le.AppendUint16(out, uint16(next-last))
		}
		last = next
	}
	return out, param, true
}

// expandLengths is the inverse of appendLengths. Lengths whose sum exceeds 32 bits
// give offsets that fall, which the check of the column finds.
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

var powersOf10 = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}

// appendDecimals packs floats that are k/10^e, for one e, as a base and numbers of 1, 2
// or 4 bytes above it. Division of two integers that floats hold exactly rounds to the
// float that is nearest to the fraction, which is what the text of the fraction parses
// to; so each float comes back bit by bit. param is 16*e + width.
func appendDecimals(out, section []byte) (_ []byte, param byte, ok bool) {
	le := binary.LittleEndian
	e := exponentOf(section)
	if e < 0 {
		return out, 0, false
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for s := section; len(s) >= 8; s = s[8:] {
		bits := le.Uint64(s)
		k := math.RoundToEven(math.Float64frombits(bits) * powersOf10[e])
		if !(math.Abs(k) < 1<<52) || math.Float64bits(float64(int64(k))/powersOf10[e]) != bits { // -0 fails here
			return out, 0, false
		}
		lo, hi = min(lo, int64(k)), max(hi, int64(k))
	}
	width := widthOf(uint64(hi - lo))
	if width > 4 {
		return out, 0, false
	}
	out = le.AppendUint64(out, uint64(lo))
	for s := section; len(s) >= 8 && width > 0; s = s[8:] {
		k := uint64(int64(math.RoundToEven(math.Float64frombits(le.Uint64(s))*powersOf10[e])) - lo)
		switch width {
		case 1:
			out = append(out, byte(k))
		case 2:
			out = le.AppendUint16(out, uint16(k))
		default:
			out = le.AppendUint32(out, uint32(k))
		}
	}
	return out, byte(16*e) + width, true
}

// exponentOf guesses the number of decimal places from the first floats, or returns -1.
func exponentOf(section []byte) int {
	e := 0
	for i := 0; i < 32 && 8*i < len(section); i++ {
		v := math.Float64frombits(binary.LittleEndian.Uint64(section[8*i:]))
		for math.RoundToEven(v*powersOf10[e])/powersOf10[e] != v {
			if e++; e > maxExponent {
				return -1
			}
		}
	}
	return e
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

// packedScratch holds packed bodies between the block and the body.
var packedScratch = sync.Pool{New: func() any { return new([]byte) }}
