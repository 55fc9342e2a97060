package engine

import (
	"encoding/json"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// This file computes constants of a statement as far as planning needs them: as bounds
// that hold what the engine will compute. What it does not know has no bounds, and
// nothing is concluded from it.

// span is from lo to hi, both included: nanoseconds since 1970 or of a duration. The
// smallest and the largest number stand for everything beyond them as well.
type span struct{ lo, hi int64 }

var always = span{math.MinInt64, math.MaxInt64}

func (s span) meets(o span) bool { return s.lo <= o.hi && o.lo <= s.hi }

// plus adds, and keeps to the ends of the numbers.
func plus(a, b int64) int64 {
	switch {
	case a == math.MinInt64 || a == math.MaxInt64:
		return a
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

func (s span) plus(o span) span { return span{plus(s.lo, o.lo), plus(s.hi, o.hi)} }

func (s span) negative() span {
	if s.lo == math.MinInt64 || s.hi == math.MaxInt64 || s.lo == math.MaxInt64 || s.hi == math.MinInt64 {
		return always
	}
	return span{-s.hi, -s.lo}
}

// widen moves the ends apart.
func (s span) widen(back, forth int64) span { return span{plus(s.lo, -back), plus(s.hi, forth)} }

const (
	second = int64(time.Second)
	day    = 24 * 3600 * second
	// rounding covers conversions between the units of timestamps.
	rounding = second
	// clockSlack covers the time between planning and what the engine takes for now,
	// and a clock that is set in between.
	clockSlack = 900 * second
)

// nanoseconds returns v, in the unit of a time index, in nanoseconds.
func nanoseconds(v int64, t schema.Type) int64 {
	units := t.UnitsPerSecond()
	if units == 0 {
		return v
	}
	factor := second / units
	switch {
	case v > math.MaxInt64/factor:
		return math.MaxInt64
	case v < math.MinInt64/factor:
		return math.MinInt64
	}
	return v * factor
}

// constants evaluates constants at a moment. column tells whether a bare name is a
// column, and so no function of time.
type constants struct {
	now    time.Time
	column func(name string) bool
}

// moment returns bounds of a point in time.
func (c *constants) moment(v any) (span, bool) {
	n, _ := v.(node)
	switch text(n, "class") {
	case "CONSTANT":
		value, _ := n["value"].(node)
		s, ok := value["value"].(string)
		if kind, _ := value["type"].(node); !ok || text(kind, "id") != "VARCHAR" {
			return span{}, false
		}
		return parseMoment(s)
	case "CAST":
		s, ok := c.moment(n["child"])
		if !ok {
			return span{}, false
		}
		kind, _ := n["cast_type"].(node)
		switch id := text(kind, "id"); {
		case id == "DATE":
			return s.widen(day, 0), true
		case strings.HasPrefix(id, "TIMESTAMP"):
			return s.widen(rounding, rounding), true
		}
	case "COLUMN_REF":
		path, _ := n["column_names"].([]any)
		if len(path) != 1 {
			return span{}, false
		}
		name, _ := path[0].(string)
		if c.column(name) {
			return span{}, false
		}
		return c.present(lowerASCII(name))
	case "FUNCTION":
		return c.momentOf(lowerASCII(text(n, "function_name")), args(n))
	}
	return span{}, false
}

// present returns the bounds of a function that returns the present moment or day.
func (c *constants) present(name string) (span, bool) {
	at := c.now.UnixNano()
	switch name {
	case "now", "current_timestamp", "get_current_timestamp", "transaction_timestamp", "current_localtimestamp", "localtimestamp":
		return span{at, at}.widen(clockSlack, clockSlack), true
	case "today", "current_date":
		return span{at, at}.widen(clockSlack+day, clockSlack), true
	}
	return span{}, false
}

func (c *constants) momentOf(name string, args []any) (span, bool) {
	switch len(args) {
	case 0:
		return c.present(name)
	case 1:
		per, ok := map[string]int64{
			"make_timestamp": 1000, "make_timestamp_ns": 1, "make_timestamp_ms": 1000_000,
			"to_timestamp": second, "epoch_ms": 1000_000,
		}[name]
		if !ok {
			return span{}, false
		}
		s, ok := number(args[0], per)
		return s.widen(rounding, rounding), ok
	case 2:
		switch name {
		case "+":
			a, ok := c.moment(args[0])
			b, fine := c.duration(args[1])
			if !ok {
				a, ok = c.duration(args[0])
				b, fine = c.moment(args[1])
			}
			return a.plus(b), ok && fine
		case "-":
			a, ok := c.moment(args[0])
			b, fine := c.duration(args[1])
			return a.plus(b.negative()), ok && fine
		case "date_trunc", "datetrunc":
			s, ok := c.moment(args[1])
			unit, known := truncation(args[0])
			return s.widen(unit, 0), ok && known
		}
	}
	return span{}, false
}

var momentText = regexp.MustCompile(
	`^\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,12}))?)?\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)?)?\s*$`)

// parseMoment reads the text of a timestamp or a date. A second more or less, the
// rounding to the column's unit, is within the bounds.
func parseMoment(s string) (span, bool) {
	m := momentText.FindStringSubmatch(s)
	if m == nil {
		return span{}, false
	}
	var f [6]int
	for i := range f {
		f[i], _ = strconv.Atoi(m[i+1])
	}
	if f[1] < 1 || f[1] > 12 || f[2] < 1 || f[2] > 31 || f[3] > 23 || f[4] > 59 || f[5] > 59 {
		return span{}, false
	}
	seconds := time.Date(f[0], time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC).Unix()
	at := nanoseconds(seconds, schema.TimestampSecond)
	out := span{at, at}.widen(rounding, 2*rounding)
	if zone := m[8]; zone != "" && zone != "Z" && zone != "UTC" {
		out = out.widen(day, day)
	}
	return out, true
}

// duration returns bounds of an interval.
func (c *constants) duration(v any) (span, bool) {
	n, _ := v.(node)
	switch text(n, "class") {
	case "CAST":
		kind, _ := n["cast_type"].(node)
		child, _ := n["child"].(node)
		value, _ := child["value"].(node)
		s, ok := value["value"].(string)
		if text(kind, "id") != "INTERVAL" || text(child, "class") != "CONSTANT" || !ok {
			return span{}, false
		}
		return parseDuration(s)
	case "FUNCTION":
		name, list := lowerASCII(text(n, "function_name")), args(n)
		if len(list) != 1 {
			return span{}, false
		}
		unit, ok := units[strings.TrimPrefix(name, "to_")]
		if !ok || !strings.HasPrefix(name, "to_") {
			return span{}, false
		}
		arg, _ := list[0].(node)
		// INTERVAL 1 DAY is to_days(CAST(trunc(CAST(1 AS DOUBLE)) AS INTEGER)).
		for {
			if text(arg, "class") == "CAST" {
				arg, _ = arg["child"].(node)
			} else if in := args(arg); text(arg, "function_name") == "trunc" && len(in) == 1 {
				arg, _ = in[0].(node)
			} else {
				break
			}
		}
		if !isWhole(arg) {
			return span{}, false // the casts may round it
		}
		least, ok := number(arg, unit.lo)
		most, fine := number(arg, unit.hi)
		return span{min(least.lo, most.lo), max(least.hi, most.hi)}, ok && fine
	}
	return span{}, false
}

// units are bounds of the units of intervals, by their plural.
var units = map[string]span{
	"nanoseconds": {1, 1}, "microseconds": {1000, 1000}, "milliseconds": {1000_000, 1000_000}, "seconds": {second, second},
	"minutes": {60 * second, 60 * second}, "hours": {3600 * second, 3600 * second}, "days": {day, day}, "weeks": {7 * day, 7 * day},
	"months": {28 * day, 31 * day}, "quarters": {89 * day, 92 * day}, "years": {365 * day, 366 * day},
}

var unitNames = map[string]string{
	"us": "microseconds", "usec": "microseconds", "ms": "milliseconds", "msec": "milliseconds", "s": "seconds", "sec": "seconds",
	"secs": "seconds", "m": "minutes", "min": "minutes", "mins": "minutes", "h": "hours", "hr": "hours", "hrs": "hours", "d": "days", "w": "weeks",
	"mon": "months", "mons": "months", "y": "years", "yr": "years", "yrs": "years",
}

func unitOf(name string) (span, bool) {
	name = strings.ToLower(name)
	if long, ok := unitNames[name]; ok {
		name = long
	}
	if u, ok := units[name]; ok {
		return u, true
	}
	u, ok := units[name+"s"]
	return u, ok
}

var durationPart = regexp.MustCompile(`^\s*(\d{1,9})\s*([a-zA-Z]+)\s*`)

// parseDuration reads the text of an interval: numbers and units.
func parseDuration(s string) (span, bool) {
	var sum span
	if strings.TrimSpace(s) == "" {
		return sum, false
	}
	for s != "" {
		m := durationPart.FindStringSubmatch(s)
		if m == nil {
			return span{}, false
		}
		unit, ok := unitOf(m[2])
		if !ok {
			return span{}, false
		}
		n, _ := strconv.ParseInt(m[1], 10, 64)
		sum = sum.plus(span{times(n, unit.lo), times(n, unit.hi)})
		s = s[len(m[0]):]
	}
	return sum, true
}

func times(a, b int64) int64 {
	p := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	if !p.IsInt64() {
		if p.Sign() < 0 {
			return math.MinInt64
		}
		return math.MaxInt64
	}
	return p.Int64()
}

// truncation returns by how much date_trunc with that unit lessens a moment at most.
func truncation(v any) (int64, bool) {
	n, _ := v.(node)
	value, _ := n["value"].(node)
	s, ok := value["value"].(string)
	if text(n, "class") != "CONSTANT" || !ok {
		return 0, false
	}
	switch s = strings.ToLower(s); s {
	case "decade", "decades":
		return 3653 * day, true
	case "isoyear":
		return 371 * day, true
	}
	u, ok := unitOf(s)
	return u.hi, ok
}

// number returns the value of a literal number times unit, as bounds.
func number(v any, unit int64) (span, bool) {
	n, _ := v.(node)
	if text(n, "class") == "FUNCTION" && text(n, "function_name") == "-" {
		if list := args(n); len(list) == 1 {
			s, ok := number(list[0], unit)
			return s.negative(), ok
		}
	}
	if text(n, "class") != "CONSTANT" {
		return span{}, false
	}
	value, _ := n["value"].(node)
	literal, ok := value["value"].(json.Number)
	if !ok {
		return span{}, false
	}
	f, ok := new(big.Float).SetString(literal.String())
	if !ok {
		return span{}, false
	}
	kind, _ := value["type"].(node)
	switch id := text(kind, "id"); id {
	case "DECIMAL":
		info, _ := kind["type_info"].(node)
		scale, ok := info["scale"].(json.Number)
		digits, err := scale.Int64()
		if !ok || err != nil || digits < 0 || digits > 38 {
			return span{}, false
		}
		f.Quo(f, new(big.Float).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)))
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UBIGINT", "UINTEGER", "FLOAT", "DOUBLE":
	default:
		return span{}, false
	}
	f.Mul(f, new(big.Float).SetInt64(unit))
	i, _ := f.Int64() // keeps to the ends
	return span{i, i}.widen(1, 1), true
}
