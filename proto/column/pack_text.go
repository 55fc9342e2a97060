package column

import (
	"encoding/binary"
	"slices"

	"github.com/klauspost/compress/s2"
)

// lettersSample is the size of the part of a text that is compressed to find out whether packing
// two letters to a byte is better.
const lettersSample = 4 << 10

// packText packs byte strings of a small alphabet.
func (e *encoder) packText(out, section []byte) (_ []byte, line packedLine, ok bool) {
	if out, ok = appendHex(out, section); ok {
		return out, packedLine{how: packHex}, true
	}
	if e.older {
		return out, line, false
	}
	if out, line, ok = e.appendTimes(out, section); ok {
		return out, line, true
	}
	return e.appendLetters(out, section)
}

// hexValue is the value of a lower-case hexadecimal digit, and 0xff for any other byte.
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

// appendHex packs digits. A last digit without a partner is the high half of a byte.
func appendHex(out, digits []byte) ([]byte, bool) {
	start := len(out)
	for _, c := range digits[:min(16, len(digits))] {
		if hexValue[c] > 15 {
			return out, false // before room is made for the digits
		}
	}
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

// appendLetters packs bytes with at most 16 different values, as in addresses and numbers. It
// writes the values, and then for each byte the number of its value, two to a byte, the first in
// the high half.
func (e *encoder) appendLetters(out, section []byte) (_ []byte, line packedLine, ok bool) {
	var number [256]uint8 // number of a byte's value plus 1; 0 if it has not occurred yet
	var kinds [16]byte
	n := 0
	for _, c := range section {
		if number[c] == 0 {
			if n == len(kinds) {
				return out, line, false
			}
			kinds[n] = c
			n++
			number[c] = uint8(n)
		}
	}
	sample := section[:min(lettersSample, len(section))]
	most := s2.MaxEncodedLen(len(sample))
	e.block = slices.Grow(e.block[:0], most)[:most]
	if 2*len(s2.Encode(e.block, sample)) < len(sample)+2*lineCost {
		return out, line, false
	}
	out = append(out, kinds[:n]...)
	for i := 0; i+1 < len(section); i += 2 {
		out = append(out, (number[section[i]]-1)<<4|(number[section[i+1]]-1))
	}
	if len(section)&1 == 1 {
		out = append(out, (number[section[len(section)-1]]-1)<<4)
	}
	return out, packedLine{how: packLetters, param: byte(n)}, true
}

func expandLetters(section, src []byte, n int) bool {
	if n > 16 || len(src) != n+(len(section)+1)/2 {
		return false
	}
	var pairs [256]uint16 // the two letters of a byte, the first one in the low bits
	var known [256]bool
	for hi, a := range src[:n] {
		for lo, b := range src[:n] {
			pairs[hi<<4|lo], known[hi<<4|lo] = uint16(a)|uint16(b)<<8, true
		}
	}
	src = src[n:]
	all := true
	for ; len(section) >= 2; section, src = section[2:], src[1:] {
		binary.LittleEndian.PutUint16(section, pairs[src[0]])
		all = all && known[src[0]]
	}
	if len(section) == 1 {
		section[0] = byte(pairs[src[0]])
		all = all && known[src[0]] && src[0]&15 == 0
	}
	return all
}
