package pipeline

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// converter converts values to the types of a transform list. It keeps the texts that it creates until reset.
type converter struct {
	text []byte
	// loss is what was lost in the last successful conversion.
	loss loss
}

// convert converts v, which is not null, to the form of a column of type t: integers, booleans and timestamps
// become kindInt, in the unit of the type. If v cannot be converted, ok is false, and out is undefined.
func (k *converter) convert(out *cell, v value.Value, t schema.Type) (ok bool) {
	k.loss = lossNone
	switch {
	case t == schema.String:
		out.kind = kindString
		out.bytes, ok = k.string(v)
	case t.IsInteger():
		out.kind = kindInt
		out.i, ok = integer(v, t)
		if v.Kind() == value.Float {
			k.loss = truncateLoss(v.Float(), t)
		}
	case t.IsFloat():
		out.kind = kindFloat
		out.f, ok = float(v)
		if t == schema.Float32 {
			out.f = float64(float32(out.f))
			ok = ok && !math.IsInf(out.f, 0)
		}
		if ok {
			k.loss = floatLoss(v, out.f, t)
		}
	case t == schema.Boolean:
		out.kind, out.i = kindBool, 0
		var b bool
		if b, ok = boolean(v); b {
			out.i = 1
		}
		if x, isNumber := v.Number(); isNumber && x != 0 && x != 1 {
			k.loss = lossTruth
		}
	case t.IsTimestamp():
		out.kind = kindTime
		out.i, ok = instant(v, t)
		if v.Kind() == value.Timestamp && finerInstant(v, t) {
			k.loss = lossUnit
		}
	case t == schema.JSON:
		out.kind = kindJSON
		if v.Kind() == value.Array || v.Kind() == value.Object {
			out.bytes, ok = k.json(v), true
		}
	}
	if !ok {
		k.loss = lossNone
	}
	return ok
}

// bytesOf returns the bytes of a string without copying, for reading.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// keep returns the text that was appended to k.text from position from, and reserves its memory until reset.
func (k *converter) keep(from int, text []byte) []byte {
	k.text = text
	return text[from:len(text):len(text)]
}

func (k *converter) json(v value.Value) []byte {
	return k.keep(len(k.text), value.AppendJSON(k.text, v))
}

func (k *converter) string(v value.Value) ([]byte, bool) {
	from, b := len(k.text), k.text
	switch v.Kind() {
	case value.String:
		return bytesOf(v.Str()), true
	case value.Int:
		b = strconv.AppendInt(b, v.Int(), 10)
	case value.Float:
		b = value.AppendPlainFloat(b, v.Float())
	case value.Bool:
		b = strconv.AppendBool(b, v.Bool())
	case value.Timestamp:
		b = value.AppendTime(b, v.Time())
	case value.Array, value.Object:
		b = value.AppendJSON(b, v)
	default:
		return nil, false
	}
	return k.keep(from, b), true
}

func integer(v value.Value, t schema.Type) (int64, bool) {
	var n int64
	switch v.Kind() {
	case value.Int:
		n = v.Int()
	case value.Float:
		return truncate(v.Float(), t)
	case value.Bool:
		if v.Bool() {
			return 1, true
		}
		return 0, true
	case value.String:
		text, _ := strings.CutPrefix(v.Str(), "+")
		if text == "" || text[0] == '+' || text[0] == '-' && len(text) < len(v.Str()) {
			return 0, false
		}
		if t == schema.Uint64 {
			u, err := strconv.ParseUint(text, 10, 64)
			return int64(u), err == nil
		}
		var ok bool
		if n, ok = parseInt(text); !ok {
			return 0, false
		}
	case value.Timestamp:
		ns, ok := v.UnixNano()
		return ns, ok && t == schema.Int64
	default:
		return 0, false
	}
	switch t {
	case schema.Int64:
		return n, true
	case schema.Uint64:
		return n, n >= 0
	}
	lo, hi := t.IntRange()
	return n, n >= lo && n <= hi
}

// parseInt is strconv.ParseInt in base ten, but fails faster, because the errors of ParseInt contain a copy of the
// text.
func parseInt(s string) (int64, bool) {
	digits, neg := s, false
	if s[0] == '-' {
		digits, neg = s[1:], true
	}
	if len(digits) == 0 {
		return 0, false
	}
	var n uint64
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 || n > (math.MaxUint64-9)/10 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	if neg {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n <= math.MaxInt64
}

// truncate drops the fraction. A number out of range becomes the nearest number of 32 or 64 bits. For 8 and 16 bits
// it does not fit.
func truncate(f float64, t schema.Type) (int64, bool) {
	f = math.Trunc(f)
	switch t {
	case schema.Int64:
		switch {
		case f >= math.MaxInt64:
			return math.MaxInt64, true
		case f <= math.MinInt64:
			return math.MinInt64, true
		}
		return int64(f), true
	case schema.Uint64:
		switch {
		case f >= math.MaxUint64:
			return -1, true // all bits
		case f <= 0:
			return 0, true
		}
		return int64(uint64(f)), true
	}
	lo, hi := t.IntRange()
	if t == schema.Int32 || t == schema.Uint32 {
		f = max(float64(lo), min(float64(hi), f))
	}
	return int64(f), f >= float64(lo) && f <= float64(hi)
}

func float(v value.Value) (float64, bool) {
	switch v.Kind() {
	case value.Int, value.Float:
		return v.Number()
	case value.Bool:
		if v.Bool() {
			return 1, true
		}
		return 0, true
	case value.String:
		s := v.Str()
		for i := range len(s) {
			switch c := s[i]; {
			case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c|0x20 == 'e':
			default:
				return 0, false // infinities, hexadecimal numbers and other formats of Go
			}
		}
		if len(s) > 400 {
			return 0, false
		}
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	return 0, false
}

func boolean(v value.Value) (b, ok bool) {
	switch v.Kind() {
	case value.Int:
		return v.Int() != 0, true
	case value.Float:
		return v.Float() != 0, true
	case value.Bool:
		return v.Bool(), true
	case value.String:
		switch v.Str() {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	return false, false
}

// instant converts v to a time in the unit of t. Integers, also in text form, are in that unit, and other texts in
// RFC 3339.
func instant(v value.Value, t schema.Type) (int64, bool) {
	switch v.Kind() {
	case value.Int:
		return v.Int(), timeInRange(v.Int(), t)
	case value.Timestamp:
		sec, nsec := v.Unix()
		return unixIn(sec, int64(nsec), t)
	case value.String:
		s := v.Str()
		if s == "" || len(s) > 64 {
			return 0, false
		}
		if n, ok := parseInt(s); ok {
			return n, timeInRange(n, t)
		}
		if len(s) < 11 || s[10] != 'T' && s[10] != 't' && s[10] != ' ' {
			return 0, false
		}
		when, err := time.Parse(time.RFC3339Nano, s[:10]+"T"+s[11:])
		if err != nil {
			return 0, false
		}
		return unixIn(when.Unix(), int64(when.Nanosecond()), t)
	}
	return 0, false
}

// unixIn returns a time in the unit of t, rounded down. It returns false if the time is out of range.
func unixIn(sec, nsec int64, t schema.Type) (int64, bool) {
	if t == schema.TimestampSecond {
		return sec, timeInRange(sec, t)
	}
	per := t.UnitsPerSecond()
	p := sec * per
	if p/per != sec {
		return 0, false
	}
	v := p + nsec/(1e9/per)
	if v < p {
		return 0, false
	}
	return v, timeInRange(v, t)
}

// auto converts v, which is not null, to the form of a column without a declared type. k.loss is what was lost.
func (k *converter) auto(out *cell, v value.Value) bool {
	k.loss = lossNone
	switch v.Kind() {
	case value.String:
		out.kind, out.bytes = kindString, bytesOf(v.Str())
	case value.Int:
		out.kind, out.i = kindInt, v.Int()
	case value.Float:
		out.kind, out.f = kindFloat, v.Float()
	case value.Bool:
		out.kind, out.i = kindBool, 0
		if v.Bool() {
			out.i = 1
		}
	case value.Timestamp:
		out.kind = kindTime
		if t, ok := v.UnixNano(); ok {
			out.i, out.unit = t, schema.TimestampNanosecond
			break
		}
		sec, nsec := v.Unix()
		t, ok := unixIn(sec, int64(nsec), schema.TimestampMicrosecond)
		if !ok {
			return false
		}
		if finerInstant(v, schema.TimestampMicrosecond) {
			k.loss = lossUnit
		}
		out.i, out.unit = t, schema.TimestampMicrosecond
	case value.Array, value.Object:
		out.kind, out.bytes = kindJSON, k.json(v)
	default:
		return false
	}
	return true
}
