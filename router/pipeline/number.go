package pipeline

import (
	"bytes"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/router/pipeline/digits"
	"cordwood/router/vrl/jsonscan"
)

// maxNumber limits the length of a number. Longer texts have no more information.
const maxNumber = 400

// numberOf parses a text that is a JSON number and fits a value without loss: a 64-bit integer, or a double whose
// shortest text has the same digits.
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

// isNumber reports whether b is a JSON number.
func isNumber(b []byte) bool {
	if len(b) > maxNumber {
		return false
	}
	b = bytes.TrimPrefix(b, []byte("-"))
	whole := 0
	for whole < len(b) && b[whole] >= '0' && b[whole] <= '9' {
		whole++
	}
	if whole == 0 || b[0] == '0' && whole > 1 {
		return false
	}
	end, ok := jsonscan.FractionEnd(b, whole)
	return ok && end == len(b)
}
