package pipeline

import (
	"bytes"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/pipeline/digits"
)

// maxNumber bounds the text of a number; no longer one says more.
const maxNumber = 400

// numberOf reads a text that is a number as JSON has it, and that a number of ours is without loss:
// an integer of 64 bits, or a double whose shortest text has the same digits.
func numberOf(b []byte) (v cell, ok bool) {
	if !isNumber(b) {
		return v, false
	}
	given, ok := digits.Parse(string(b))
	if !ok {
		return v, false
	}
	if given.Digits != "" && given.Exponent >= 0 && len(given.Digits)+given.Exponent <= len("18446744073709551615") {
		s := given.Digits + strings.Repeat("0", given.Exponent)
		if given.Negative {
			s = "-" + s
		}
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return cell{kind: kindInt, i: i}, true
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return cell{kind: kindUint, i: int64(u)}, true
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !digits.Kept(string(b), f, schema.Float64) {
		return v, false
	}
	if f == 0 && !given.Negative {
		return cell{kind: kindInt}, true
	}
	return cell{kind: kindFloat, f: f}, true
}

// isNumber reports whether b is a number as JSON writes it.
func isNumber(b []byte) bool {
	skip := func() (n int) {
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n
	}
	if len(b) > maxNumber {
		return false
	}
	b = bytes.TrimPrefix(b, []byte("-"))
	zero := len(b) > 0 && b[0] == '0'
	if n := skip(); n == 0 || zero && n > 1 {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; skip() == 0 {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if skip() == 0 {
			return false
		}
	}
	return len(b) == 0
}
