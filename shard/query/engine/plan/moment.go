package plan

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// This file evaluates constants of a statement for planning: it returns bounds that contain the
// value that DuckDB will compute. If it does not support a constant, the constant has no bounds,
// and nothing is concluded from it.

// Span is the range from Lo to Hi, both included. Both are in nanoseconds, since 1970 or as a
// duration. The smallest and the largest number also represent everything beyond them.
type Span struct{ Lo, Hi int64 }

// Always contains every time.
var Always = Span{math.MinInt64, math.MaxInt64}

// Meets reports whether two spans have a moment in common.
func (s Span) Meets(o Span) bool { return s.Lo <= o.Hi && o.Lo <= s.Hi }

// Plus adds two spans. Sums beyond the range of the numbers become its ends.
func Plus(a, b int64) int64 {
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

func (s Span) plus(o Span) Span { return Span{Plus(s.Lo, o.Lo), Plus(s.Hi, o.Hi)} }

func (s Span) negative() Span {
	if s.Lo == math.MinInt64 || s.Hi == math.MaxInt64 || s.Lo == math.MaxInt64 || s.Hi == math.MinInt64 {
		return Always
	}
	return Span{-s.Hi, -s.Lo}
}

// widen extends the span at both ends.
func (s Span) widen(back, forth int64) Span { return Span{Plus(s.Lo, -back), Plus(s.Hi, forth)} }

const (
	// Second is one second in nanoseconds.
	Second = int64(time.Second)
	day    = 24 * 3600 * Second
	// rounding is a margin for conversions between the units of timestamps.
	rounding = Second
	// clockSlack is a margin for the time between planning and DuckDB's evaluation of now(), and
	// for a clock that is set in between.
	clockSlack = 900 * Second
)

// Nanoseconds converts v from the unit of a time index to nanoseconds.
func Nanoseconds(v int64, t schema.Type) int64 {
	units := t.UnitsPerSecond()
	if units == 0 {
		return v
	}
	factor := Second / units
	switch {
	case v > math.MaxInt64/factor:
		return math.MaxInt64
	case v < math.MinInt64/factor:
		return math.MinInt64
	}
	return v * factor
}

// Constants evaluates constants at a moment. column reports whether a bare name is a column, and
// therefore not a function such as current_date.
type Constants struct {
	Now    time.Time
	Column func(name string) bool
}

// Moment returns the bounds of a point in time.
func (c *Constants) Moment(v any) (Span, bool) {
	n, _ := v.(sql.Node)
	switch sql.Text(n, "class") {
	case "CONSTANT":
		value, _ := n["value"].(sql.Node)
		s, ok := value["value"].(string)
		if kind, _ := value["type"].(sql.Node); !ok || sql.Text(kind, "id") != "VARCHAR" {
			return Span{}, false
		}
		return ParseMoment(s)
	case "CAST":
		s, ok := c.Moment(n["child"])
		if !ok {
			return Span{}, false
		}
		kind, _ := n["cast_type"].(sql.Node)
		switch id := sql.Text(kind, "id"); {
		case id == "DATE":
			return s.widen(day, 0), true
		case strings.HasPrefix(id, "TIMESTAMP"):
			return s.widen(rounding, rounding), true
		}
	case "COLUMN_REF":
		path, _ := n["column_names"].([]any)
		if len(path) != 1 {
			return Span{}, false
		}
		name, _ := path[0].(string)
		if c.Column(name) {
			return Span{}, false
		}
		return c.present(sql.LowerASCII(name))
	case "FUNCTION":
		return c.momentOf(sql.LowerASCII(sql.Text(n, "function_name")), sql.Args(n))
	}
	return Span{}, false
}

// present returns the bounds of a function that returns the present moment or day.
func (c *Constants) present(name string) (Span, bool) {
	at := c.Now.UnixNano()
	switch name {
	case "now", "current_timestamp", "get_current_timestamp", "transaction_timestamp", "current_localtimestamp",
		"localtimestamp":
		return Span{at, at}.widen(clockSlack, clockSlack), true
	case "today", "current_date":
		return Span{at, at}.widen(clockSlack+day, clockSlack), true
	}
	return Span{}, false
}

func (c *Constants) momentOf(name string, args []any) (Span, bool) {
	switch len(args) {
	case 0:
		return c.present(name)
	case 1:
		per, ok := map[string]int64{
			"make_timestamp": 1000, "make_timestamp_ns": 1, "make_timestamp_ms": 1000_000,
			"to_timestamp": Second, "epoch_ms": 1000_000,
		}[name]
		if !ok {
			return Span{}, false
		}
		s, ok := number(args[0], per)
		return s.widen(rounding, rounding), ok
	case 2:
		switch name {
		case "+":
			a, ok := c.Moment(args[0])
			b, fine := c.duration(args[1])
			if !ok {
				a, ok = c.duration(args[0])
				b, fine = c.Moment(args[1])
			}
			return a.plus(b), ok && fine
		case "-":
			a, ok := c.Moment(args[0])
			b, fine := c.duration(args[1])
			return a.plus(b.negative()), ok && fine
		case "date_trunc", "datetrunc":
			s, ok := c.Moment(args[1])
			unit, known := truncation(args[0])
			return s.widen(unit, 0), ok && known
		}
	}
	return Span{}, false
}

var momentText = lazyregexp.New(
	`^\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,12}))?)?\s*(Z|UTC|[+-]\d{2}(?::?\d{2}` +
		`)?)?)?\s*$`)

// ParseMoment parses the text of a timestamp or a date. The bounds allow for a leap second and for
// rounding to the column's unit.
func ParseMoment(s string) (Span, bool) {
	m := momentText.FindStringSubmatch(s)
	if m == nil {
		return Span{}, false
	}
	var f [6]int
	for i := range f {
		f[i], _ = strconv.Atoi(m[i+1])
	}
	if f[1] < 1 || f[1] > 12 || f[2] < 1 || f[2] > 31 || f[3] > 23 || f[4] > 59 || f[5] > 59 {
		return Span{}, false
	}
	seconds := time.Date(f[0], time.Month(f[1]), f[2], f[3], f[4], f[5], 0, time.UTC).Unix()
	at := Nanoseconds(seconds, schema.TimestampSecond)
	out := Span{at, at}.widen(rounding, 2*rounding)
	if zone := m[8]; zone != "" && zone != "Z" && zone != "UTC" {
		out = out.widen(day, day)
	}
	return out, true
}

// exactMoment returns the moment of a text that is compared with a column, if the column's type can
// represent it: the engine casts the text to that type.
func exactMoment(v any, t schema.Type) (Span, bool) {
	n, _ := v.(sql.Node)
	s, ok := sql.TextLiteral(n)
	if !ok || t.UnitsPerSecond() == 0 {
		return Span{}, false
	}
	layout := time.DateTime
	if len(s) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	at, err := time.Parse(layout, s)
	if err != nil || at.Year() < firstExact || at.Year() > lastExact {
		return Span{}, false
	}
	if at.Nanosecond()%int(Second/t.UnitsPerSecond()) != 0 || len(s) > len("2006-01-02 15:04:05.999999999") {
		return Span{}, false
	}
	return Span{at.UnixNano(), at.UnixNano()}, true
}

// Years of which nanoseconds fit into a number.
const (
	firstExact = 1700
	lastExact  = 2250
)

// duration returns the bounds of an interval.
func (c *Constants) duration(v any) (Span, bool) {
	n, _ := v.(sql.Node)
	switch sql.Text(n, "class") {
	case "CAST":
		kind, _ := n["cast_type"].(sql.Node)
		child, _ := n["child"].(sql.Node)
		value, _ := child["value"].(sql.Node)
		s, ok := value["value"].(string)
		if sql.Text(kind, "id") != "INTERVAL" || sql.Text(child, "class") != "CONSTANT" || !ok {
			return Span{}, false
		}
		return parseDuration(s)
	case "FUNCTION":
		name, list := sql.LowerASCII(sql.Text(n, "function_name")), sql.Args(n)
		if len(list) != 1 {
			return Span{}, false
		}
		unit, ok := units[strings.TrimPrefix(name, "to_")]
		if !ok || !strings.HasPrefix(name, "to_") {
			return Span{}, false
		}
		arg, _ := list[0].(sql.Node)
		// DuckDB's parser turns INTERVAL 1 DAY into to_days(CAST(trunc(CAST(1 AS DOUBLE)) AS
		// INTEGER)).
		for {
			if sql.Text(arg, "class") == "CAST" {
				arg, _ = arg["child"].(sql.Node)
			} else if in := sql.Args(arg); sql.Text(arg, "function_name") == "trunc" && len(in) == 1 {
				arg, _ = in[0].(sql.Node)
			} else {
				break
			}
		}
		if !sql.IsWhole(arg) {
			return Span{}, false // the casts may round the value
		}
		least, ok := number(arg, unit.Lo)
		most, fine := number(arg, unit.Hi)
		return Span{min(least.Lo, most.Lo), max(least.Hi, most.Hi)}, ok && fine
	}
	return Span{}, false
}

// units are the bounds of the units of intervals, by their plural.
var units = map[string]Span{
	"nanoseconds": {1, 1}, "microseconds": {1000, 1000}, "milliseconds": {1000_000, 1000_000}, "seconds": {Second, Second},
	"minutes": {60 * Second, 60 * Second}, "hours": {3600 * Second, 3600 * Second}, "days": {
		day,
		day,
	}, "weeks": {7 * day, 7 * day},
	"months": {28 * day, 31 * day}, "quarters": {89 * day, 92 * day}, "years": {365 * day, 366 * day},
}

var unitNames = map[string]string{
	"us": "microseconds", "usec": "microseconds", "ms": "milliseconds", "msec": "milliseconds", "s": "seconds",
	"sec":  "seconds",
	"secs": "seconds", "m": "minutes", "min": "minutes", "mins": "minutes", "h": "hours", "hr": "hours", "hrs": "hours",
	"d": "days", "w": "weeks",
	"mon": "months", "mons": "months", "y": "years", "yr": "years", "yrs": "years",
}

func unitOf(name string) (Span, bool) {
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

var durationPart = lazyregexp.New(`^\s*(\d{1,9})\s*([a-zA-Z]+)\s*`)

// parseDuration parses the text of an interval: numbers, each with a unit.
func parseDuration(s string) (Span, bool) {
	var sum Span
	if strings.TrimSpace(s) == "" {
		return sum, false
	}
	for s != "" {
		m := durationPart.FindStringSubmatch(s)
		if m == nil {
			return Span{}, false
		}
		unit, ok := unitOf(m[2])
		if !ok {
			return Span{}, false
		}
		n, _ := strconv.ParseInt(m[1], 10, 64)
		sum = sum.plus(Span{times(n, unit.Lo), times(n, unit.Hi)})
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

// truncation returns the most by which date_trunc with this unit can reduce a moment.
func truncation(v any) (int64, bool) {
	n, _ := v.(sql.Node)
	value, _ := n["value"].(sql.Node)
	s, ok := value["value"].(string)
	if sql.Text(n, "class") != "CONSTANT" || !ok {
		return 0, false
	}
	switch s = strings.ToLower(s); s {
	case "decade", "decades":
		return 3653 * day, true
	case "isoyear":
		return 371 * day, true
	}
	u, ok := unitOf(s)
	return u.Hi, ok
}

// number returns the span of a literal number, multiplied by unit.
func number(v any, unit int64) (Span, bool) {
	n, _ := v.(sql.Node)
	if sql.Text(n, "class") == "FUNCTION" && sql.Text(n, "function_name") == "-" {
		if list := sql.Args(n); len(list) == 1 {
			s, ok := number(list[0], unit)
			return s.negative(), ok
		}
	}
	if sql.Text(n, "class") != "CONSTANT" {
		return Span{}, false
	}
	value, _ := n["value"].(sql.Node)
	literal, ok := value["value"].(json.Number)
	if !ok {
		return Span{}, false
	}
	f, ok := new(big.Float).SetString(literal.String())
	if !ok {
		return Span{}, false
	}
	kind, _ := value["type"].(sql.Node)
	switch id := sql.Text(kind, "id"); id {
	case "DECIMAL":
		info, _ := kind["type_info"].(sql.Node)
		scale, ok := info["scale"].(json.Number)
		digits, err := scale.Int64()
		if !ok || err != nil || digits < 0 || digits > 38 {
			return Span{}, false
		}
		f.Quo(f, new(big.Float).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(digits), nil)))
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UBIGINT", "UINTEGER", "FLOAT", "DOUBLE":
	default:
		return Span{}, false
	}
	f.Mul(f, new(big.Float).SetInt64(unit))
	i, _ := f.Int64() // a value out of range becomes the nearest end
	return Span{i, i}.widen(1, 1), true
}
