package pipeline

import (
	"strconv"
	"strings"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/timefmt"
)

// TimeIndex is a parsed custom_time_index parameter. It is immutable.
type TimeIndex struct {
	// Field is the flattened name of the field, and the name of the column.
	Field string
	// Unit is the timestamp type of the field's values and of a new table's column.
	Unit schema.Type

	format *timefmt.Format // nil for epoch
}

// ParseTimeIndex parses <field>;epoch;<s|ms|us|ns> or <field>;datestr;<pattern>.
// The error has code InvalidArguments.
func ParseTimeIndex(text string) (*TimeIndex, error) {
	parts := strings.Split(text, ";")
	if len(parts) != 3 {
		return nil, errs.New(errs.InvalidArguments,
			"Invalid custom_time_index: %q has %d parts, expected three: <field>;epoch;<s|ms|us|ns> or <field>;datestr;<pattern>", cut(text), len(parts))
	}
	field, kind, config := parts[0], parts[1], parts[2]
	if err := schema.CheckColumnName(field); err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "Invalid custom_time_index")
	}
	ti := &TimeIndex{Field: field, Unit: schema.TimestampNanosecond}
	switch kind {
	case "epoch":
		switch config {
		case "s":
			ti.Unit = schema.TimestampSecond
		case "ms":
			ti.Unit = schema.TimestampMillisecond
		case "us":
			ti.Unit = schema.TimestampMicrosecond
		case "ns":
		default:
			return nil, errs.New(errs.InvalidArguments, "Invalid custom_time_index: epoch unit %q, expected one of s, ms, us, ns", cut(config))
		}
	case "datestr":
		f, err := timefmt.Compile(config)
		if err != nil {
			return nil, errs.Wrap(errs.InvalidArguments, err, "Invalid custom_time_index: datestr pattern %q", cut(config))
		}
		if !f.HasDate() || !f.HasTime() {
			return nil, errs.New(errs.InvalidArguments,
				"Invalid custom_time_index: datestr pattern %q must have a date, an hour and a minute, or be %%s", cut(config))
		}
		ti.format = f
	default:
		return nil, errs.New(errs.InvalidArguments, "Invalid custom_time_index: kind %q, expected epoch or datestr", cut(kind))
	}
	return ti, nil
}

// parse reads a string value, in ti.Unit.
func (ti *TimeIndex) parse(b []byte) (int64, error) {
	// Neither callee keeps the string, so it need not be a copy.
	s := unsafe.String(unsafe.SliceData(b), len(b))
	if ti.format == nil {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, errs.New(errs.InvalidArguments, "time index %q: the string %q holds no signed 64-bit integer", ti.Field, cut(s))
		}
		return v, nil
	}
	v, err := ti.format.ParseNano(s, timefmt.ParseOptions{})
	if err != nil {
		return 0, errs.New(errs.InvalidArguments, "time index %q: %s", ti.Field, err)
	}
	return v, nil
}

// want says what the field may hold.
func (ti *TimeIndex) want() string {
	if ti.format == nil {
		return "an integer, or a string holding one"
	}
	return "a string"
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

// finer reports whether v has digits below the unit to, which convertTime cuts.
func finer(v int64, from, to schema.Type) bool {
	if from == to {
		return false
	}
	f, t := from.UnitsPerSecond(), to.UnitsPerSecond()
	return f > t && v%(f/t) != 0
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
