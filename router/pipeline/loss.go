package pipeline

import (
	"fmt"
	"math"
	"strconv"

	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// loss is what a value lost when a transform list converted it to the type of its column. The
// converted value is stored, and the client is told.
type loss uint8

const (
	lossNone     loss = iota
	lossFraction      // a fraction was cut off to make an integer
	lossRange         // the nearest number of the column's range was taken
	lossDigits        // a float was taken that has fewer digits
	lossAll           // a number other than 0 became the float 0
	lossTruth         // a number other than 0 and 1 became true
	lossUnit          // a time was rounded down to the unit of its column
	losses
)

// lost counts the values of a request that lost something, by kind. It is apart from notes, which
// svc_identity copies for each record.
type lost [losses]struct {
	count int
	first string // the column of the first of them
}

// lostTexts are the words for each kind but those that notes counts.
var lostTexts = [losses]string{
	lossFraction: "%d numbers lost their fraction, because the transform list makes integers of them, the first for column %q: the type float64 keeps it",
	lossRange:    "%d numbers were beyond the range of their type in the transform list, the first for column %q: the nearest number of that type was stored",
	lossDigits:   "%d numbers have more digits than their type in the transform list, the first for column %q: the nearest float was stored; a type of integers, or string, keeps all digits",
	lossTruth:    "%d numbers other than 0 and 1 became true, because the transform list makes booleans of them, the first for column %q: a type of numbers keeps them",
}

// noteLoss counts a value that lost something on its way to the column.
func (s *sink) noteLoss(l loss, column string) {
	top := s.top()
	switch l {
	case lossNone:
	case lossAll:
		top.notes.vanished++
	case lossUnit:
		top.notes.cut++
	default:
		n := &top.lost[l]
		if n.count++; n.count == 1 {
			n.first = column
		}
	}
}

// warnings are the counts in words.
func (l *lost) warnings() (out []string) {
	for i, n := range l {
		if n.count > 0 {
			out = append(out, fmt.Sprintf(lostTexts[i], n.count, n.first))
		}
	}
	return out
}

// truncateLoss is what truncate loses of f.
func truncateLoss(f float64, t schema.Type) loss {
	whole := math.Trunc(f)
	var beyond bool
	switch t {
	case schema.Int64:
		beyond = whole >= math.MaxInt64 || whole < math.MinInt64
	case schema.Uint64:
		beyond = whole >= math.MaxUint64 || whole < 0
	default:
		lo, hi := t.IntRange()
		beyond = whole < float64(lo) || whole > float64(hi)
	}
	switch {
	case beyond:
		return lossRange
	case whole != f:
		return lossFraction
	}
	return lossNone
}

// floatLoss is what v lost when it became the number f of a column of type t.
func floatLoss(v value.Value, f float64, t schema.Type) loss {
	var same, zero bool
	switch v.Kind() {
	case value.Int:
		n := v.Int()
		same = f < 1<<63 && int64(f) == n
	case value.Float:
		was := v.Float()
		same = was == f || fitsFloat32(was)
		zero = f == 0
	case value.String:
		if f == 0 {
			same, zero = !value.Underflows(v.Str()), true
		} else {
			same = keepsDigits(v.Str(), f, t)
		}
	default:
		same = true
	}
	switch {
	case same:
		return lossNone
	case zero:
		return lossAll
	}
	return lossDigits
}

// The decimal digits that any normal float of each type keeps, and the smallest of those.
const (
	float64Digits = 15
	float32Digits = 6
	minNormal64   = 0x1p-1022
	minNormal32   = 0x1p-126
)

// keepsDigits reports whether f, a float of type t that is not 0, is the decimal number s when it is
// written with as many digits as s has.
func keepsDigits(s string, f float64, t schema.Type) bool {
	var room [64]byte
	digits, zeros := room[:0], 0 // zeros are those not known yet to be followed by a digit
	for i := 0; i < len(s) && s[i]|0x20 != 'e'; i++ {
		switch c := s[i]; {
		case c == '0':
			zeros++
		case c > '0' && c <= '9':
			for ; zeros > 0 && len(digits) > 0; zeros-- {
				digits = append(digits, '0')
			}
			zeros = 0
			digits = append(digits, c)
		}
	}
	always, smallest := float64Digits, minNormal64
	if t == schema.Float32 {
		always, smallest = float32Digits, minNormal32
	}
	if len(digits) <= always && math.Abs(f) >= smallest {
		return true
	}
	// Both are the same number up to its last digit, so that their exponents differ only where their
	// digits do.
	var out [64]byte
	written := strconv.AppendFloat(out[:0], math.Abs(f), 'e', len(digits)-1, 64)
	at := 0
	for _, c := range written {
		if c == '.' {
			continue
		}
		if c == 'e' {
			break
		}
		if at == len(digits) || c != digits[at] {
			return false
		}
		at++
	}
	return at == len(digits)
}

// finerInstant reports whether v, a timestamp, has digits below the unit of t.
func finerInstant(v value.Value, t schema.Type) bool {
	_, nsec := v.Unix()
	return int64(nsec)%(1e9/t.UnitsPerSecond()) != 0
}
