package processor

import "strings"

// Resolution returns the units per second for the name of a resolution, ignoring case: s, sec and second, ms, milli
// and millisecond, and so on to nanoseconds.
func Resolution(name string) (perSecond int64, ok bool) {
	switch strings.ToLower(name) {
	case "s", "sec", "second":
		return 1, true
	case "ms", "milli", "millisecond":
		return 1e3, true
	case "us", "micro", "microsecond":
		return 1e6, true
	case "ns", "nano", "nanosecond":
		return 1e9, true
	}
	return 0, false
}
