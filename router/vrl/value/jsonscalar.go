package value

import (
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"cordwood/router/vrl/jsonscan"
)

// str reads a string whose quote is at pos.
func (d *jsonReader) str() string {
	d.pos++
	start := d.pos
	high := false
	i := start
	if !d.opt.Strict {
		i = skipPlain(d.src, i)
	}
	for ; i < len(d.src); i++ {
		switch c := d.src[i]; {
		case c == '"':
			d.pos = i + 1
			s := d.src[start:i]
			if high && d.opt.Strict && !utf8.ValidString(s) {
				d.fail("invalid unicode code point")
			}
			return s
		case c == '\\':
			return d.escaped(start, i)
		case c < 0x20:
			d.pos = i
			d.fail("control character (\\u0000-\\u001F) found while parsing a string")
			return ""
		case c >= utf8.RuneSelf:
			high = true
		}
	}
	d.pos = len(d.src)
	d.fail("EOF while parsing a string")
	return ""
}

// skipPlain returns an index from i on. The text before it contains no quote, no backslash and no control
// character.
func skipPlain(s string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(s); i += 8 {
		w := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		hit := ((w - ones*0x20) &^ w) | ((quote - ones) &^ quote) | ((backslash - ones) &^ backslash)
		if hit &= highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	return i
}

// escaped reads the rest of a string that starts at start and has its first escape at i.
func (d *jsonReader) escaped(start, i int) string {
	b := make([]byte, 0, len(d.src[start:i])+32)
	b = append(b, d.src[start:i]...)
	for i < len(d.src) {
		c := d.src[i]
		switch {
		case c == '"':
			d.pos = i + 1
			if d.opt.Strict && !utf8.Valid(b) {
				d.fail("invalid unicode code point")
			}
			return string(b)
		case c < 0x20:
			d.pos = i
			d.fail("control character (\\u0000-\\u001F) found while parsing a string")
			return ""
		case c != '\\':
			b = append(b, c)
			i++
			continue
		}
		i++
		if i >= len(d.src) {
			break
		}
		c = d.src[i]
		i++
		switch c {
		case '"', '\\', '/':
			b = append(b, c)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, ok := hex4(d.src, i)
			if !ok {
				d.pos = i
				d.fail("invalid escape")
				return ""
			}
			i += 4
			if utf16.IsSurrogate(r) {
				var low rune
				if i+1 < len(d.src) && d.src[i] == '\\' && d.src[i+1] == 'u' {
					low, _ = hex4(d.src, i+2)
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					d.pos = i
					d.fail("lone leading surrogate in hex escape")
					return ""
				}
				i += 6
			}
			b = utf8.AppendRune(b, r)
		default:
			d.pos = i
			d.fail("invalid escape")
			return ""
		}
	}
	d.pos = len(d.src)
	d.fail("EOF while parsing a string")
	return ""
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i:i+4], 16, 32)
	return rune(n), err == nil
}

func (d *jsonReader) number() Value {
	s, start, i := d.src, d.pos, d.pos
	neg := s[i] == '-'
	if neg {
		i++
	}
	digits := i
	var n uint64
	for i < len(s) && s[i]-'0' <= 9 {
		if i-digits < 19 {
			n = n*10 + uint64(s[i]-'0')
		}
		i++
	}
	d.pos = i
	if i == digits || s[digits] == '0' && i > digits+1 {
		return d.fail("invalid number")
	}
	if i-digits <= 19 && (i == len(s) || s[i] != '.' && s[i]|0x20 != 'e') {
		switch {
		case !neg && n <= math.MaxInt64:
			return NewInt(int64(n))
		case neg && n <= 1<<63 && n > 0:
			return NewInt(-int64(n))
		}
	}
	end, ok := jsonscan.FractionEnd(s, i)
	if d.pos = end; !ok {
		return d.fail("invalid number")
	}
	return d.float(s[start:end], end == i && n > 0) // -0 is a float, and is exact
}

// float parses a number that is not an integer in int64. isInteger is set if it is an integer outside int64.
func (d *jsonReader) float(text string, isInteger bool) Value {
	if isInteger && d.opt.Exact {
		d.pos -= len(text)
		return d.fail(BigInteger)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return d.fail("number out of range")
	}
	if isInteger && d.opt.Rounded != nil && !jsonscan.IsExactly(text, f) {
		*d.opt.Rounded++
	}
	if f == 0 && d.opt.Vanished != nil && jsonscan.Underflows(text) {
		*d.opt.Vanished++
	}
	return NewFloat(f)
}
