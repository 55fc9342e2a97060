package column

import (
	"encoding/binary"
	"math/bits"
	"time"
)

const (
	// timeLength is the length of a time as text without a fraction: 2026-01-05T00:16:56.
	timeLength = 19
	// maxTimeLength is the maximum length of a time with its fraction and suffix.
	maxTimeLength = 40
	// firstYear and lastYear limit packed times, so that their nanoseconds fit 64 bits.
	firstYear, lastYear = 1700, 2200
)

// timeForm is the common form of the times of a section: the number of digits of the fraction, and
// all characters that are not digits.
type timeForm struct {
	length, digits int
	unit           int64 // units in a second: 10^digits
}

// formOf returns the form of a text such as 2026-01-05T00:16:56.232Z, which must be the whole text.
func formOf(text []byte) (f timeForm, ok bool) {
	if len(text) < timeLength || len(text) > maxTimeLength || text[4] != '-' || text[7] != '-' || text[13] != ':' ||
		text[16] != ':' {
		return f, false
	}
	f = timeForm{length: len(text), unit: 1}
	if len(text) > timeLength && (text[timeLength] == '.' || text[timeLength] == ',') {
		for at := timeLength + 1; at < len(text) && isDigit(text[at]) && f.digits < 9; at++ {
			f.digits++
			f.unit *= 10
		}
	}
	return f, true
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// fraction returns the position of the first digit of the fraction, which is the length of the
// common prefix of two texts of the same second.
func (f timeForm) fraction() int {
	if f.digits == 0 {
		return timeLength
	}
	return timeLength + 1
}

// number reads n digits. If they are not digits, it sets ok to false.
func number(text []byte, ok *bool) (v int64) {
	for _, c := range text {
		*ok = *ok && isDigit(c)
		v = v*10 + int64(c-'0')
	}
	return v
}

// second returns the seconds since 1970 of a text, and whether formatting them gives the same text.
func (f timeForm) second(text []byte) (int64, bool) {
	ok := true
	year, month, day := number(text[:4], &ok), number(text[5:7], &ok), number(text[8:10], &ok)
	hour, minute, second := number(text[11:13], &ok), number(text[14:16], &ok), number(text[17:19], &ok)
	if !ok || year < firstYear || year > lastYear || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(int(year), time.Month(month), int(day), int(hour), int(minute), int(second), 0, time.UTC)
	if int64(t.Month()) != month || int64(t.Day()) != day {
		return 0, false // there is no such day
	}
	return t.Unix(), true
}

// appendTimes packs texts that are times of one form: the first text unchanged, and the differences
// of the others in bits, with or without a sign bit.
func (e *encoder) appendTimes(out, section []byte) (_ []byte, line packedLine, ok bool) {
	// All values have one length. The first ends where the second repeats its form.
	length := repeats(section)
	if length == 0 || len(section)%length != 0 {
		return out, line, false
	}
	first := section[:length]
	f, ok := formOf(first)
	if !ok {
		return out, line, false
	}
	e.wide = e.wide[:0]
	head, tail := f.fraction(), f.fraction()+f.digits
	var second, last int64
	prefix := []byte(nil)
	some := uint64(0)
	for s := section; len(s) > 0; s = s[length:] {
		text := s[:length]
		if prefix == nil || string(text[:head]) != string(prefix) {
			if second, ok = f.second(text); !ok || !f.alike(text, first) {
				return out, line, false
			}
			prefix = text[:head]
		}
		ok := true
		now := second*f.unit + number(text[head:tail], &ok)
		if !ok || string(text[tail:]) != string(first[tail:]) {
			return out, line, false
		}
		step := now - last
		zigzag := uint64(step<<1) ^ uint64(step>>63)
		e.wide = append(e.wide, zigzag)
		some, last = some|zigzag, now
		if len(e.wide) == 1 {
			some = 0 // the first time needs no difference
		}
	}
	b := bits.Len64(some)
	if b > maxBits {
		return out, line, false
	}
	out = append(append(out, byte(length)), first...)
	return appendBits(out, e.wide[1:], b), packedLine{how: packTimes, param: byte(b), extra: byte(f.digits)}, true
}

// alike reports whether two texts have the same bytes in the places without digits, before the
// fraction.
func (f timeForm) alike(a, b []byte) bool {
	return a[4] == b[4] && a[7] == b[7] && a[10] == b[10] && a[13] == b[13] && a[16] == b[16] &&
		(f.digits == 0 || a[timeLength] == b[timeLength])
}

// repeats returns the length of the first time of a section if a second one may start after it, and
// otherwise 0.
func repeats(section []byte) int {
	for n := timeLength; n <= maxTimeLength && n+timeLength <= len(section); n++ {
		if next := section[n:]; next[4] == '-' && next[7] == '-' && next[13] == ':' && next[16] == ':' {
			return n
		}
		if n == timeLength && (section[4] != '-' || section[7] != '-' || section[13] != ':' || section[16] != ':') {
			return 0
		}
	}
	return 0
}

// expandTimes is the inverse of appendTimes.
func (u *unpacker) expandTimes() bool {
	if len(u.src) < 1 || len(u.src) < 1+int(u.src[0]) || u.src[0] == 0 || len(u.section)%int(u.src[0]) != 0 ||
		len(u.section) == 0 {
		return false
	}
	length := int(u.src[0])
	first := u.src[1 : 1+length]
	f, ok := formOf(first)
	if !ok || f.digits != int(u.extra) {
		return false
	}
	second, ok := f.second(first)
	if !ok {
		return false
	}
	steps, ok := u.takeBits(u.src[1+length:], len(u.section)/length-1)
	if !ok {
		return false
	}
	head := f.fraction()
	fraction := number(first[head:head+f.digits], &ok)
	copy(u.section, first)
	last, text := u.section[:length], u.section[length:]
	for _, zigzag := range steps {
		copy(text, last)
		fraction += int64(zigzag>>1) ^ -int64(zigzag&1)
		if uint64(fraction) >= uint64(f.unit) {
			whole := fraction / f.unit
			if fraction -= whole * f.unit; fraction < 0 {
				fraction += f.unit
				whole--
			}
			second += whole
			if !putSecond(text, second) {
				return false
			}
		}
		putDigits(text[head:head+f.digits], uint64(fraction))
		last, text = text[:length], text[length:]
	}
	return ok
}

// putSecond writes seconds since 1970 as text, and reports whether they are within the limits.
func putSecond(text []byte, second int64) bool {
	t := time.Unix(second, 0).UTC()
	if t.Year() < firstYear || t.Year() > lastYear {
		return false
	}
	year, month, day := t.Date()
	putDigits(text[:4], uint64(year))
	putDigits(text[5:7], uint64(month))
	putDigits(text[8:10], uint64(day))
	hour, minute, sec := t.Clock()
	putDigits(text[11:13], uint64(hour))
	putDigits(text[14:16], uint64(minute))
	putDigits(text[17:19], uint64(sec))
	return true
}

// decimalPairs are the two digits of the numbers below 100, the first one in the low bits.
var decimalPairs = func() (t [100]uint16) {
	for i := range t {
		t[i] = uint16('0'+i/10) | uint16('0'+i%10)<<8
	}
	return t
}()

// putDigits writes the last len(to) digits of v.
func putDigits(to []byte, v uint64) {
	for len(to) >= 2 {
		binary.LittleEndian.PutUint16(to[len(to)-2:], decimalPairs[v%100])
		to, v = to[:len(to)-2], v/100
	}
	if len(to) == 1 {
		to[0] = '0' + byte(v%10)
	}
}
