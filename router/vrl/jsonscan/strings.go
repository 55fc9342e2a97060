package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// StringEnd returns the position of the first quote, backslash or control character from pos on. If that byte is a
// quote, the string ends there. src is Text.Bytes, and pos is usually just after an opening quote.
func StringEnd(src []byte, pos int) int {
	for {
		w := binary.LittleEndian.Uint64(src[pos : pos+8])
		// With one bit changed, a quote is 0x20, and other bytes are below 0x21 only if they were control characters.
		// The lowest flagged byte is exact, because a borrow can only flag higher bytes.
		m := (((w ^ ones*2) - ones*('"'^2+1)) | ((w ^ ones*'\\') - ones)) &^ w & highs
		if m != 0 {
			return pos + bits.TrailingZeros64(m)>>3
		}
		pos += 8
	}
}

// AppendString decodes the string whose opening quote precedes pos and appends it
// to dst. It returns the position after the closing quote.
func (t Text) AppendString(dst []byte, pos int) ([]byte, int, error) {
	for {
		end := StringEnd(t.src, pos)
		dst = append(dst, t.src[pos:end]...)
		switch t.src[end] {
		case '"':
			return dst, end + 1, nil
		case '\\':
		default:
			return dst, end, t.stringError(end)
		}
		r, next := t.escape(end)
		if next < 0 {
			return dst, end, t.escapeError(end)
		}
		dst, pos = utf8.AppendRune(dst, r), next
	}
}

// replacement is U+FFFD, which replaces a lone surrogate.
var replacement = []byte("\ufffd")

// LoneSurrogates counts the escapes of lone surrogates in the string whose opening quote precedes pos. decoded is
// the result of AppendString. If it contains no U+FFFD, the text is not read again.
func (t Text) LoneSurrogates(decoded []byte, pos int) (n int) {
	if !bytes.Contains(decoded, replacement) {
		return 0
	}
	for {
		pos = StringEnd(t.src, pos)
		if t.src[pos] != '\\' {
			return n
		}
		from := pos
		r, next := t.escape(pos)
		if next < 0 {
			return n
		}
		if r == utf8.RuneError && t.hex4(from+2) != utf8.RuneError {
			n++
		}
		pos = next
	}
}

// CountLoneSurrogates counts the escapes of lone surrogates in a JSON document.
func CountLoneSurrogates(doc []byte) (n int) {
	if bytes.IndexByte(doc, '\\') < 0 {
		return 0
	}
	t := NewText(doc)
	for pos := 0; ; {
		at := bytes.IndexByte(doc[pos:], '\\')
		if at < 0 {
			return n
		}
		from := pos + at
		r, next := t.escape(from)
		if next < 0 {
			next = from + 1 // it is not JSON
		}
		if r == utf8.RuneError && next > from+2 && t.hex4(from+2) != utf8.RuneError {
			n++
		}
		if pos = next; pos >= len(doc) {
			return n
		}
	}
}

// SkipString returns the position after the string whose opening quote precedes pos.
func (t Text) SkipString(pos int) (int, error) {
	for {
		end := StringEnd(t.src, pos)
		switch t.src[end] {
		case '"':
			return end + 1, nil
		case '\\':
		default:
			return end, t.stringError(end)
		}
		if _, pos = t.escape(end); pos < 0 {
			return end, t.escapeError(end)
		}
	}
}

// escape decodes the escape sequence at pos. If it is invalid, next is -1.
func (t Text) escape(pos int) (r rune, next int) {
	switch c := t.src[pos+1]; c {
	case '"', '\\', '/':
		return rune(c), pos + 2
	case 'b':
		return '\b', pos + 2
	case 'f':
		return '\f', pos + 2
	case 'n':
		return '\n', pos + 2
	case 'r':
		return '\r', pos + 2
	case 't':
		return '\t', pos + 2
	case 'u':
	default:
		return 0, -1
	}
	r = t.hex4(pos + 2)
	if r < 0 {
		return 0, -1
	}
	next = pos + 6
	if r < 0xd800 || r > 0xdfff {
		return r, next
	}
	if r < 0xdc00 && t.src[next] == '\\' && t.src[next+1] == 'u' {
		if low := t.hex4(next + 2); low >= 0xdc00 && low <= 0xdfff {
			return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), next + 6
		}
	}
	return utf8.RuneError, next
}

// hex4 returns the value of four hexadecimal digits at pos, or -1. A control character is not a digit, so reading
// stops at the end of the text.
func (t Text) hex4(pos int) rune {
	var r rune
	for i := range 4 {
		c := t.src[pos+i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func (t Text) stringError(pos int) error {
	if pos >= t.n {
		return NewError(t.n, "unexpected end inside a string")
	}
	return t.Unexpected(pos, "no control character inside a string")
}

func (t Text) escapeError(pos int) error {
	if pos+1 >= t.n {
		return NewError(t.n, "unexpected end inside a string")
	}
	if t.src[pos+1] == 'u' {
		return NewError(pos, `invalid escape: \u needs four hexadecimal digits`)
	}
	return NewError(pos, "invalid escape sequence")
}
