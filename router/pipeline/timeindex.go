package pipeline

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/timefmt"
)

const (
	kindRFC3339    = "rfc3339"
	patternRFC3339 = "%+"
)

// TimeIndex is a parsed custom_time_index parameter. It is immutable.
type TimeIndex struct {
	// Field is the flattened name of the field, and the name of the column.
	Field string
	// Unit is the timestamp type of the field's values and of a new table's column.
	Unit schema.Type

	format *timefmt.Format // nil for epoch
	// warning describes what the pattern does instead of the probable intention; "" if there is none.
	warning string
}

// ParseTimeIndex parses <field>;epoch;<s|ms|us|ns>, <field>;datestr;<pattern> or <field>;rfc3339.
// The error has code InvalidArguments.
func ParseTimeIndex(text string) (*TimeIndex, error) {
	parts := strings.Split(text, ";")
	if len(parts) == 2 && parts[1] == kindRFC3339 {
		parts = append(parts, "")
	}
	if len(parts) != 3 {
		return nil, errs.New(errs.InvalidArguments,
			"Invalid custom_time_index: %q has %d parts, expected <field>;rfc3339, <field>;epoch;<s|ms|us|ns> or "+
				"<field>;datestr;<pattern>", cut(text), len(parts))
	}
	field, kind, config := parts[0], parts[1], parts[2]
	if kind == kindRFC3339 {
		if config != "" {
			return nil, errs.New(errs.InvalidArguments, "Invalid custom_time_index: nothing may follow rfc3339, got %q",
				cut(config))
		}
		kind, config = "datestr", patternRFC3339
	}
	if err := schema.CheckColumnName(field); err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "Invalid custom_time_index")
	}
	ti := &TimeIndex{Field: field, Unit: schema.TimestampNanosecond}
	switch kind {
	case "epoch":
		unit, ok := epochUnits[config]
		if !ok {
			return nil, errs.New(errs.InvalidArguments,
				"Invalid custom_time_index: epoch unit %q, expected one of s, ms, us, ns", cut(config))
		}
		ti.Unit = unit
	case "datestr":
		var err error
		if ti.format, err = compilePattern(field, config); err != nil {
			return nil, err
		}
		if processor.CountsNanoseconds(config) {
			ti.warning = "custom_time_index: " + processor.NanosecondsAdvice(config)
		}
	default:
		return nil, errs.New(errs.InvalidArguments, "Invalid custom_time_index: kind %q, expected rfc3339, epoch or datestr",
			cut(kind))
	}
	return ti, nil
}

// epochUnits are the units of times that are numbers.
var epochUnits = map[string]schema.Type{
	"s": schema.TimestampSecond, "ms": schema.TimestampMillisecond, "us": schema.TimestampMicrosecond,
	"ns": schema.TimestampNanosecond,
}

// compilePattern compiles the pattern of a field, which must have all parts of a time.
func compilePattern(field, pattern string) (*timefmt.Format, error) {
	f, err := timefmt.Compile(pattern)
	switch {
	case err != nil && strings.Contains(pattern, "% "):
		return nil, errs.Wrap(errs.InvalidArguments, err,
			"Invalid custom_time_index: datestr pattern %q (in a URL, + means a blank: write rfc3339 for %%+, or %%25%%2B)",
			cut(pattern))
	case err != nil:
		return nil, errs.Wrap(errs.InvalidArguments, err, "Invalid custom_time_index: datestr pattern %q", cut(pattern))
	}
	if !f.HasDate() || !f.HasTime() {
		advice := ""
		if !strings.Contains(pattern, "%") {
			advice = fmt.Sprintf("; for times like 2026-11-24T07:00:00Z use %s;rfc3339, and a pattern is written like "+
				"%%Y-%%m-%%d %%H:%%M:%%S", cut(field))
		}
		return nil, errs.New(errs.InvalidArguments,
			"Invalid custom_time_index: datestr pattern %q must have a date, an hour and a minute, or be %%s%s", cut(pattern),
			advice)
	}
	return f, nil
}

// moment is a time in the unit of its field, plus nanoseconds.
type moment struct {
	value int64
	// rest is the nanoseconds, from 0 to less than a unit.
	rest int64
	// cut is set if digits below nanoseconds were dropped.
	cut bool
}

// parse reads a string value.
func (ti *TimeIndex) parse(b []byte) (moment, error) {
	// The called functions do not keep the string, so no copy is needed.
	s := unsafe.String(unsafe.SliceData(b), len(b))
	if ti.format == nil {
		m, ok := parseEpoch(s, ti.Unit)
		if !ok {
			return moment{}, errs.New(errs.InvalidArguments,
				"time index %q: the string %q is not a number of %s; for times as text use %s;rfc3339 or %s;datestr;PATTERN",
				ti.Field, cut(s), ti.Unit, ti.Field, ti.Field)
		}
		return m, nil
	}
	v, err := ti.format.ParseNano(s, timefmt.ParseOptions{})
	if err != nil {
		return moment{}, errs.New(errs.InvalidArguments, "time index %q: %s", ti.Field, err)
	}
	return moment{value: v}, nil
}

// number converts a JSON number with a fraction or an exponent. It uses the shortest digits for the double f, which
// are those that were written if there were at most 15.
func (ti *TimeIndex) number(f float64) (moment, error) {
	m, ok := parseEpoch(strconv.FormatFloat(f, 'f', -1, 64), ti.Unit)
	if !ok {
		return moment{}, errs.New(errs.InvalidArguments, "time index %q: %v of %s is out of range, which is %s", ti.Field, f,
			ti.Unit, ti.Unit.TimeSpan())
	}
	return m, nil
}

// parseEpoch reads a decimal number of units.
func parseEpoch(s string, unit schema.Type) (m moment, ok bool) {
	whole, fraction, dotted := strings.Cut(s, ".")
	var err error
	if m.value, err = strconv.ParseInt(whole, 10, 64); err != nil || dotted && fraction == "" {
		return moment{}, false
	}
	step := int64(1e9) / unit.UnitsPerSecond()
	for i := range len(fraction) {
		c := fraction[i]
		if c < '0' || c > '9' {
			return moment{}, false
		}
		if step /= 10; step == 0 {
			m.cut = m.cut || c != '0'
			continue
		}
		m.rest += int64(c-'0') * step
	}
	if whole[0] == '-' && (m.rest > 0 || m.cut) {
		if m.value == math.MinInt64 {
			return moment{}, false
		}
		// Times are rounded down.
		m.value--
		m.rest = int64(1e9)/unit.UnitsPerSecond() - m.rest
		if m.cut {
			m.rest--
		}
	}
	return m, true
}

// want describes the valid values of the field.
func (ti *TimeIndex) want() string {
	if ti.format == nil {
		return "a number, or a number in a string"
	}
	return fmt.Sprintf("a string (for times as numbers use %s;epoch;s, or ms, us or ns)", ti.Field)
}

// convertTime converts v between timestamp units, rounding down. ok is false if v or
// the result is out of range.
func convertTime(v int64, from, to schema.Type) (_ int64, ok bool) {
	if !timeInRange(v, from) {
		return 0, false
	}
	if from == to {
		return v, true
	}
	f, t := from.UnitsPerSecond(), to.UnitsPerSecond()
	if f > t {
		d := f / t
		q := v / d
		if v%d < 0 {
			q--
		}
		return q, timeInRange(q, to)
	}
	m := t / f
	p := v * m
	if p/m != v {
		return 0, false
	}
	return p, timeInRange(p, to)
}

// finer reports whether v has digits below the unit to, which convertTime drops.
func finer(v int64, from, to schema.Type) bool {
	if from == to {
		return false
	}
	f, t := from.UnitsPerSecond(), to.UnitsPerSecond()
	return f > t && v%(f/t) != 0
}

// convertMoment is convertTime for v plus rest nanoseconds, which are less than a unit of from. over is set if rest
// has digits below the unit to.
func convertMoment(v, rest int64, from, to schema.Type) (_ int64, over, ok bool) {
	f, t := from.UnitsPerSecond(), to.UnitsPerSecond()
	if rest == 0 || t <= f {
		v, ok = convertTime(v, from, to)
		return v, rest > 0, ok
	}
	per := int64(1e9) / t
	more := rest / per
	if v < 0 {
		// The next unit may be in range although this one is not.
		v, more = v+1, more-t/f
	}
	v, ok = convertTime(v, from, to)
	lo, hi := to.TimeRange()
	if !ok || more > 0 && v > hi-more || more < 0 && v < lo-more {
		return 0, false, false
	}
	return v + more, rest%per != 0, true
}

func timeInRange(v int64, unit schema.Type) bool {
	lo, hi := unit.TimeRange()
	return v >= lo && v <= hi
}

// cut shortens client text for an error message.
func cut(s string) string {
	const most = 80
	if len(s) <= most {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// timestampType returns the timestamp type of a resolution in units per second.
func timestampType(unit int64) schema.Type {
	switch unit {
	case 1:
		return schema.TimestampSecond
	case 1e3:
		return schema.TimestampMillisecond
	case 1e6:
		return schema.TimestampMicrosecond
	}
	return schema.TimestampNanosecond
}
