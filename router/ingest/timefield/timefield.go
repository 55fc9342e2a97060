// Package timefield reads the times that JSON documents have in their fields, for protocols that leave the form
// open: a text of ISO 8601, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970, by its size.
package timefield

import (
	"math"
	"time"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

// Read reads the value at w. ok says that it is a time that nanoseconds in 64 bits hold, and nanos is that time since
// 1970.
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

// layouts are the forms of times as texts; a time without a zone is UTC.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999", "2006-01-02",
}

// Parse reads a time as a text.
func Parse(text string) (nanos int64, ok bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixNano(), t.Year() >= 1678 && t.Year() <= 2261
		}
	}
	return 0, false
}

// Epoch reads a number since 1970.
func Epoch(v int64) (nanos int64, ok bool) { return epoch(v, float64(v), true) }

// epoch is a number of seconds, milliseconds, microseconds or nanoseconds since 1970, by its size.
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
