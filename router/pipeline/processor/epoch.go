package processor

import (
	"math"
	"strconv"
	"time"

	"cordwood/router/vrl/value"
)

// resolutionNames are the names that Resolution knows.
var resolutionNames = []string{
	"ms", "milli", "millisecond", "s", "sec", "second", "us", "micro", "microsecond", "ns",
	"nano", "nanosecond",
}

// The years that timestamps may have, as seconds since 1970.
var (
	minEpoch = time.Date(-262143, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	maxEpoch = time.Date(262142, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
)

// compileEpoch: epoch converts numbers to timestamps: the time since 1970 in a unit, the resolution. A number may be an
// integer, a float, or the text of an integer. The fraction of a float is dropped. Timestamps stay unchanged.
//
//	resolution: s, ms (default), us or ns, or one of their longer names
func compileEpoch(o *Options) Apply {
	fields := o.Fields()
	unit, _ := Resolution(o.Choice("resolution", resolutionNames...))
	o.DeclareTimes(fields, unit)
	return fields.Each(func(rec *Record, fl *Field, v value.Value) error {
		var n int64
		switch v.Kind() {
		case value.Int:
			n = v.Int()
		case value.Float:
			f := v.Float()
			if f < math.MinInt64 || f >= math.MaxInt64 {
				return rec.Fail(fl.In.Text, v, "the time is out of range, which is the years -262143 to 262142")
			}
			if n = int64(f); float64(n) != f {
				rec.noteFraction()
			}
		case value.String:
			var err error
			if n, err = strconv.ParseInt(v.Str(), 10, 64); err != nil {
				return rec.Fail(fl.In.Text, v, "failed to parse as an integer of 64 bits")
			}
		case value.Timestamp:
			rec.Set(fl.Out, v)
			return nil
		default:
			return rec.WrongType(fl.In.Text, v, "a number, a string or a timestamp")
		}
		sec, rest := n/unit, n%unit
		if rest < 0 {
			sec, rest = sec-1, rest+unit
		}
		if sec < minEpoch || sec > maxEpoch {
			return rec.Fail(fl.In.Text, v, "the time is out of range, which is the years -262143 to 262142")
		}
		rec.Set(fl.Out, value.NewUnix(sec, uint32(rest*(1e9/unit))))
		return nil
	})
}
