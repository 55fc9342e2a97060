package pipelines

import (
	"math"
	"strings"
	"time"

	"cordwood/proto/errs"
)

// versionLayouts are the formats of a version. A fraction may follow the seconds. Times without a zone are in UTC.
var versionLayouts = []string{
	"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339,
}

// The earliest and latest versions that a 64-bit number of nanoseconds can express.
var (
	earliest = time.Unix(0, math.MinInt64)
	latest   = time.Unix(0, math.MaxInt64)
)

// ParseVersion parses a version, which is the time of its creation: a time in RFC 3339 with a T or a space and an
// optional fraction, in UTC if it has no zone. The error has code InvalidArguments.
func ParseVersion(text string) (unixNano int64, err error) {
	upper := strings.ToUpper(strings.TrimSpace(text))
	// If an offset was sent without escaping, its + arrives as a space.
	if i := len(upper) - len(" 07:00"); i > len("2006-01-02") && upper[i] == ' ' {
		upper = upper[:i] + "+" + upper[i+1:]
	}
	for _, layout := range versionLayouts {
		at, err := time.Parse(layout, upper)
		if err == nil && !at.Before(earliest) && !at.After(latest) && !strings.Contains(upper, ",") {
			return at.UnixNano(), nil
		}
	}
	if len(text) > 64 {
		text = strings.ToValidUTF8(text[:64], "") + "…"
	}
	return 0, errs.New(errs.InvalidArguments, "Invalid pipeline version format: %s", text)
}

// FormatVersion returns the canonical text of a version: in UTC, with a fraction of 0, 3, 6 or 9 digits, as needed.
func FormatVersion(unixNano int64) string {
	layout := "2006-01-02 15:04:05"
	switch {
	case unixNano%1e9 == 0:
	case unixNano%1e6 == 0:
		layout += ".000"
	case unixNano%1e3 == 0:
		layout += ".000000"
	default:
		layout += ".000000000"
	}
	return time.Unix(0, unixNano).UTC().Format(layout)
}
