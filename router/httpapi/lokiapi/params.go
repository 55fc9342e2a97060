package lokiapi

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/loki"
	"cordwood/router/loki/logql"
)

// lookback is the default length of a time range.
const lookback = time.Hour

// moment reads a time and returns it in nanoseconds. An integer of more than 10 digits is in nanoseconds, a shorter
// integer or a number with a decimal point is in seconds, and any other text is in RFC 3339 format. ok is false if the
// parameter is missing.
func (c *call) moment(name string) (nanos int64, ok bool, err error) {
	text := strings.TrimSpace(c.params.Get(name))
	if text == "" {
		return 0, false, nil
	}
	nanos, ok = parseMoment(text)
	if !ok {
		return 0, false, errs.New(errs.InvalidArguments, "could not parse %q as the time of parameter %s: write it in "+
			"nanoseconds or seconds since 1970, or as 2026-01-05T10:00:00Z; years from 1678 to 2261 are possible", clip(text),
			name)
	}
	c.warnOfUnit(name, text, nanos)
	return nanos, true, nil
}

// warnOfUnit adds a warning if a time is probably meant in milliseconds or microseconds. Loki's API has no such units:
// it reads these numbers as nanoseconds, which are times of 1970.
func (c *call) warnOfUnit(name, text string, nanos int64) {
	unit, by := "", int64(0)
	switch {
	case strings.Trim(text, "0123456789") != "":
		return
	case len(text) == len("1767607200000"):
		unit, by = "milliseconds", 1e6
	case len(text) == len("1767607200000000"):
		unit, by = "microseconds", 1e3
	default:
		return
	}
	if nanos > math.MaxInt64/by {
		return
	}
	c.warnings = append(c.warnings, fmt.Sprintf("parameter %s is read as nanoseconds, which is %s; if it is meant in %s, "+
		"write %d in nanoseconds, or %d in seconds", name, time.Unix(0, nanos).UTC().Format(time.RFC3339), unit, nanos*by,
		nanos*by/1e9))
}

func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func parseMoment(text string) (nanos int64, ok bool) {
	const maxSeconds = 9_000_000_000
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if len(strings.TrimPrefix(text, "-")) > 10 {
			return n, true
		}
		return n * 1e9, n <= maxSeconds && n >= -maxSeconds
	}
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		if !(math.Abs(s) <= maxSeconds) {
			return 0, false
		}
		whole, part := math.Modf(s)
		return int64(whole)*1e9 + int64(math.Round(part*1e3))*1e6, true
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1678 || t.Year() > 2261 {
		return 0, false
	}
	return t.UnixNano(), true
}

// span reads the time range of a request. The range includes start and excludes end.
func (c *call) span() (loki.Span, error) {
	now := c.now.UnixNano()
	end, ok, err := c.moment("end")
	if err != nil {
		return loki.Span{}, err
	}
	if !ok {
		end = now
	}
	start, ok, err := c.moment("start")
	if err != nil {
		return loki.Span{}, err
	}
	if !ok {
		since, err := c.duration("since", lookback)
		if err != nil {
			return loki.Span{}, err
		}
		if start = min(end, now) - int64(since); start > end {
			return loki.Span{}, errs.New(errs.InvalidArguments, "the parameter since is too long")
		}
	}
	if end < start {
		return loki.Span{}, errs.New(errs.InvalidArguments, "end timestamp must not be before or equal to start time")
	}
	return loki.Span{Start: start, End: end}, nil
}

// duration reads a duration such as 5m, or a number of seconds. missing is the default.
func (c *call) duration(name string, missing time.Duration) (time.Duration, error) {
	text := strings.TrimSpace(c.params.Get(name))
	if text == "" {
		return missing, nil
	}
	d, ok := logql.ParseDuration(text)
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		nanos := math.Round(seconds * 1e9)
		d, ok = time.Duration(nanos), math.Abs(nanos) < math.MaxInt64/4
	}
	const most = 200 * 365 * 24 * time.Hour
	if !ok || d <= 0 || d > most {
		return 0, errs.New(errs.InvalidArguments, "cannot parse %q as the duration of parameter %s: it must be longer "+
			"than 0, such as 30s, 5m or 1h30m", clip(text), name)
	}
	return d, nil
}

// limit reads the maximum number of entries to return. missing is the default, and most the largest value allowed.
func (c *call) limit(name string, missing, most int) (int, error) {
	text := strings.TrimSpace(c.params.Get(name))
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil || n <= 0:
		return 0, errs.New(errs.InvalidArguments, "parameter %s is %q: it must be a positive number", name, clip(text))
	case n > most && most == loki.MaxEntries:
		return 0, errs.New(errs.InvalidArguments, "max entries limit per query exceeded, limit > "+
			"max_entries_limit_per_query (%d > %d)", n, most)
	}
	return min(n, most), nil
}

// forward reports whether the parameter direction is forward, so that the oldest entries come first.
func (c *call) forward() (bool, error) {
	switch d := strings.ToLower(strings.TrimSpace(c.params.Get("direction"))); d {
	case "", "backward":
		return false, nil
	case "forward":
		return true, nil
	default:
		return false, errs.New(errs.InvalidArguments, "invalid direction %q: it must be forward or backward", clip(d))
	}
}

// query reads and parses the parameter query.
func (c *call) query() (logql.Expr, error) {
	text := c.params.Get("query")
	if strings.TrimSpace(text) == "" {
		return nil, errs.New(errs.InvalidArguments, "parameter query is required: a query in LogQL, such as {app=\"web\"}")
	}
	return logql.Parse(text)
}

// selector reads and parses the parameter query as a log query. An empty one selects everything.
func (c *call) selector() (*logql.Log, error) { return logql.ParseLog(c.params.Get("query")) }
