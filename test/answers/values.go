package answers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// when is the range of times of a table's rows.
type when int

const (
	recent when = iota // some hours of 2023
	epoch              // the days around 1970
	ends               // also the first and the last moments of the unit
)

// recentStart is in the evening, so that the rows belong to two days.
const recentStart = 1_700_000_000

// next returns the time of the next row, and the approximate time of the one after it.
func (w when) next(r *rand.Rand, unit schema.Type, clock int64) (ts, then int64) {
	per := unit.UnitsPerSecond()
	start := int64(recentStart) * per
	if w != recent {
		start = -40_000 * per
	}
	clock += r.Int64N(20*per + 1)
	ts = start + clock
	if per > 1 {
		ts += r.Int64N(per)
	}
	switch r.IntN(14) {
	case 0: // on a border, or next to it
		border := per * []int64{1, 60, 3600, 86400}[r.IntN(4)]
		ts = ts/border*border + r.Int64N(3) - 1
	case 1: // late
		ts -= r.Int64N(9000 * per)
	case 2:
		if w != recent {
			ts = r.Int64N(2001) - 1000
		}
	case 3:
		if lo, hi := unit.TimeRange(); w == ends && r.IntN(2) == 0 {
			ts = []int64{lo, hi, lo + 1, hi - 1, lo + r.Int64N(1000*per), hi - r.Int64N(1000*per)}[r.IntN(6)]
		}
	}
	return ts, clock
}

var words = []string{
	"refused", "timeout", "disk", "full", "conn", "reset", "Conn", "ÜBER", "straße", "a_b", "100%",
	`c:\x`, "it's", "x", "42", "2023-11-15",
}

// pick returns a function that returns a random one of the values, or null in one of five cases.
func pick[T any](values ...T) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		if r.IntN(5) == 0 {
			return nil
		}
		return values[r.IntN(len(values))]
	}
}

func integers(t schema.Type) func(*rand.Rand) any {
	var values []int64
	if t == schema.Uint64 {
		values = []int64{0, 1, 5, 42, 300, 1<<53 + 1, math.MaxInt64, math.MinInt64, -1} // as bits
	} else {
		lo, hi := t.IntRange()
		for _, v := range []int64{lo, lo + 1, -1000, -42, -5, -1, 0, 1, 2, 3, 5, 42, 100, 300, 70000, 1<<53 + 1, hi - 1, hi} {
			if v >= lo && v <= hi {
				values = append(values, v)
			}
		}
	}
	return pick(values...)
}

func floats(single bool) func(*rand.Rand) any {
	values := []float64{
		0, 1, -1, 0.5, 0.1, 1.5, 42, 1e3, -2.25, 1e-7, 123456.789, 1<<53 + 2, 1e300, math.Inf(1),
		math.Inf(-1), math.NaN(), math.Copysign(0, -1),
	}
	if single {
		for i := range values {
			values[i] = float64(float32(values[i]))
		}
	}
	return pick(values...)
}

func messages(r *rand.Rand) any {
	if r.IntN(12) == 0 {
		return nil
	}
	var out []string
	for range r.IntN(5) {
		out = append(out, words[r.IntN(len(words))])
	}
	return strings.Join(out, []string{" ", "-", ""}[r.IntN(3)])
}

func moments(unit schema.Type) func(*rand.Rand) any {
	return func(r *rand.Rand) any {
		if r.IntN(5) == 0 {
			return nil
		}
		ts, _ := when(r.IntN(2)).next(r, unit, r.Int64N(9000*unit.UnitsPerSecond()))
		return ts
	}
}

// fields returns the columns of a table except its time index.
func fields(r *rand.Rand, tags int) []*field {
	out := []*field{
		{name: "host", typ: schema.String, values: pick("a", "b", "c", "h1", "h1 ", "", "A", "%", "ä")},
		{
			name: "svc", typ: schema.String, index: "INVERTED",
			values: pick("api", "web", "db", "5", "5.0", "2023-11-15", "true"),
		},
		{name: "id", typ: schema.Int64, values: pick(int64(0))},
		{name: "req", typ: schema.String, index: "SKIPPING", values: func(r *rand.Rand) any {
			return fmt.Sprintf("r-%04d", r.IntN(3000))
		}},
		{name: "msg", typ: schema.String, index: "FULLTEXT", values: messages},
		{name: "i8", typ: schema.Int8, values: integers(schema.Int8)},
		{name: "u8", typ: schema.Uint8, index: "INVERTED", values: integers(schema.Uint8)},
		{name: "i16", typ: schema.Int16, values: integers(schema.Int16)},
		{name: "u16", typ: schema.Uint16, values: integers(schema.Uint16)},
		{name: "i32", typ: schema.Int32, values: integers(schema.Int32)},
		{name: "u32", typ: schema.Uint32, values: integers(schema.Uint32)},
		{name: "i64", typ: schema.Int64, index: "SKIPPING", values: integers(schema.Int64)},
		{name: "u64", typ: schema.Uint64, values: integers(schema.Uint64)},
		{name: "f32", typ: schema.Float32, values: floats(true)},
		{name: "f64", typ: schema.Float64, values: floats(false)},
		{name: "ok", typ: schema.Boolean, values: pick(int64(0), int64(1))},
		{name: "raw", typ: schema.Binary, values: pick("a", "", "\x00\xff", "h1")},
		{name: "j", typ: schema.JSON, values: pick(`{"a":1}`, `{"a":"x","b":[1,2]}`, `[]`, `"text"`, `null`, `1.5`)},
	}
	for _, f := range out {
		// Some columns of 64 bits have only integers that a Float64 can hold.
		if (f.name == "i64" || f.name == "u64") && r.IntN(2) == 0 {
			f.values = pick[int64](0, 1, 5, 42, 300, 1<<31, 1<<53-1, 1<<53)
		}
	}
	at := schema.TimestampSecond + schema.Type(r.IntN(4))
	out = append(out, &field{name: "at", typ: at, values: moments(at)})
	for i, name := range []string{"host", "i8", "ok"} {
		for _, f := range out {
			if f.name == name && i < tags {
				f.tag = true
			}
		}
	}
	return out
}

// clockTime returns the time for a value in a unit, if it can be written as text.
func clockTime(ts int64, unit schema.Type) (time.Time, bool) {
	per := unit.UnitsPerSecond()
	sec, rest := ts/per, ts%per
	at := time.Unix(sec, rest*(1e9/per)).UTC()
	return at, at.Year() > 0 && at.Year() < 10_000
}
