package logql

import (
	"math"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/lazyregexp"
)

// units are the units of durations, in nanoseconds. The longer names come first.
var units = []struct {
	name  string
	nanos float64
}{
	{"ns", 1},
	{"us", 1e3},
	{"µs", 1e3},
	{"μs", 1e3},
	{"ms", 1e6},
	{"s", 1e9},
	{"m", 60e9},
	{"h", 3600e9},
	{"d", 24 * 3600e9},
	{"w", 7 * 24 * 3600e9},
	{"y", 365 * 24 * 3600e9},
}

// ParseDuration parses a duration such as 5m, 1h30m, 1.5d. It returns false if s is not a duration or does not fit into
// 64 bits of nanoseconds.
func ParseDuration(s string) (time.Duration, bool) {
	seconds, ok := durationNanos(s)
	if !ok || math.Abs(seconds) >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(seconds), true
}

// durationNanos parses a duration and returns nanoseconds.
func durationNanos(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	total := 0.
	for s != "" {
		n := span(s, func(c byte) bool { return digit(c) || c == '.' })
		v, err := strconv.ParseFloat(s[:n], 64)
		if n == 0 || err != nil {
			return 0, false
		}
		s = s[n:]
		found := false
		for _, u := range units {
			if strings.HasPrefix(s, u.name) && (len(s) == len(u.name) || digit(s[len(u.name)]) || s[len(u.name)] == '.') {
				total, s, found = total+v*u.nanos, s[len(u.name):], true
				break
			}
		}
		if !found {
			return 0, false
		}
	}
	return total, true
}

// sizes has the units of sizes in lower case, with the number of bytes.
var sizes = map[string]float64{
	"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12, "p": 1e15,
	"pb": 1e15, "e": 1e18, "eb": 1e18, "ki": 1 << 10, "kib": 1 << 10, "mi": 1 << 20, "mib": 1 << 20, "gi": 1 << 30,
	"gib": 1 << 30, "ti": 1 << 40, "tib": 1 << 40, "pi": 1 << 50, "pib": 1 << 50, "ei": 1 << 60, "eib": 1 << 60,
}

// SizeUnits returns the units of sizes in lower case, with the number of bytes.
func SizeUnits() map[string]float64 { return sizes }

// ParseSize reads a size in bytes such as 10KB or 1.5 MiB. A part of a byte is cut off, as in Loki.
func ParseSize(s string) (float64, bool) {
	n := span(s, func(c byte) bool { return digit(c) || c == '.' })
	v, err := strconv.ParseFloat(s[:n], 64)
	by, ok := sizes[strings.ToLower(strings.Trim(s[n:], " "))]
	return math.Trunc(v * by), n > 0 && err == nil && ok
}

// ParseNumber reads a decimal number.
func ParseNumber(s string) (float64, bool) {
	if span(s, func(c byte) bool { return digit(c) || strings.IndexByte("+-.eE", c) >= 0 }) < len(s) {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// The regular expressions for durations in labels: a number of nanoseconds or microseconds, and a sum of larger units.
const (
	SmallDuration = `[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|μs)`
	LargeDuration = `(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d|w))+`
)

var durationText = lazyregexp.New("^(?:" + SmallDuration + "|" + LargeDuration + ")$")

// ParseAs converts the text of a label to a number. It returns false if the text is not a number.
func ParseAs(s string, as Kind) (float64, bool) {
	switch as {
	case Duration:
		if !durationText.MatchString(s) {
			return 0, false
		}
		nanos, ok := durationNanos(s)
		return nanos / 1e9, ok
	case Bytes:
		return ParseSize(s)
	}
	return ParseNumber(s)
}

// literal parses a number of a query with its unit.
func literal(s string) (as Kind, value float64, ok bool) {
	if v, ok := ParseNumber(s); ok {
		return PlainNumber, v, true
	}
	if nanos, ok := durationNanos(s); ok {
		return Duration, nanos / 1e9, true
	}
	v, ok := ParseSize(s)
	return Bytes, v, ok
}
