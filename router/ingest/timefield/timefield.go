// Package timefield parses times in fields of JSON documents, for protocols that do not define their format: a text
// in ISO 8601, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970, distinguished by its
// size.
package timefield

import (
	"math"
	"time"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

// Read reads the value at w. If it is a time that fits into 64 bits of nanoseconds, ok is true, and nanos is the
// time since 1970.
func Read(w *jsonwalk.Walker) (nanos int64, ok bool, err error) {
	switch w.Kind() {
	case '"':
		text, _, err := w.String()
		if err != nil {
			return 0, false, err
		}
		nanos, ok = Parse(string(text))
		return nanos, ok, nil
	case '0':
		kind, v, f, _, err := w.Number()
		switch kind {
		case jsonscan.Int:
			nanos, ok = Epoch(v)
		case jsonscan.Float:
			nanos, ok = epoch(0, f, false)
		}
		return nanos, ok, err
	}
	return 0, false, w.Skip()
}

// layouts are the formats of times as texts. Times without a zone are in UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999", "2006-01-02",
}

// Parse parses a time in text form.
func Parse(text string) (nanos int64, ok bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixNano(), t.Year() >= 1678 && t.Year() <= 2261
		}
	}
	return 0, false
}

// Epoch converts a number of seconds, milliseconds, microseconds or nanoseconds since 1970, distinguished by its
// size.
func Epoch(v int64) (nanos int64, ok bool) { return epoch(v, float64(v), true) }

// epoch converts a number of seconds, milliseconds, microseconds or nanoseconds since 1970, distinguished by its
// size.
func epoch(v int64, f float64, whole bool) (int64, bool) {
	unit := 1e9
	switch a := math.Abs(f); {
	case a >= 1e17:
		unit = 1
	case a >= 1e14:
		unit = 1e3
	case a >= 1e11:
		unit = 1e6
	}
	if f*unit >= math.MaxInt64 || f*unit <= math.MinInt64 || math.IsNaN(f) {
		return 0, false
	}
	if whole {
		return v * int64(unit), true
	}
	return int64(f * unit), true
}
