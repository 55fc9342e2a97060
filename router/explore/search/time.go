package search

import (
	"strings"
	"time"

	"cordwood/proto/schema"
)

// layouts are the supported formats of a time. Seconds may have a fraction.
var layouts = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02",
}

// parseTime parses a time. Without a zone it is in UTC. A day or a minute without more precision means its start.
func parseTime(s string) (time.Time, bool) {
	const most = 40
	if len(s) > most {
		return time.Time{}, false
	}
	if len(s) > 10 && s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	s = strings.ToUpper(s)
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// ofTime compiles a value of a time. A time that the column's type cannot hold exactly is rounded so that the
// comparison has the same result.
func (t target) ofTime(f field, v value, negate bool) (expr, error) {
	low, exact, err := t.moment(f, v, cmpText(v))
	if err != nil {
		return "", err
	}
	up := low.Add(t.unit())
	if exact {
		up = low
	}
	compare := func(op string, at time.Time) expr { return leaf(t.expr+" "+op+" "+timeLiteral(at), t.expr, negate) }
	switch v.form {
	case between:
		high, _, err := t.moment(f, v, v.upper)
		if err == nil && low.After(high) {
			err = swapped(v)
		}
		return leaf(t.expr+" BETWEEN "+timeLiteral(up)+" AND "+timeLiteral(high), t.expr, negate), err
	case plain, quoted:
		if !exact { // no row can have this time
			return constant(negate), nil
		}
		return oneOf(t.expr, []string{timeLiteral(low)}, negate), nil
	}
	if v.op == ">=" || v.op == "<" {
		return compare(v.op, up), nil
	}
	return compare(v.op, low), nil
}

func cmpText(v value) string {
	if v.form == plain || v.form == quoted {
		return v.text
	}
	return v.lower
}

// unit returns the length of the unit of the column's type.
func (t target) unit() time.Duration { return time.Second / time.Duration(t.typ.UnitsPerSecond()) }

// firstNanos and lastNanos are the first and the last whole second that nanoseconds since 1970 can express.
var (
	firstNanos = time.Date(1677, 9, 21, 0, 12, 44, 0, time.UTC)
	lastNanos  = time.Date(2262, 4, 11, 23, 47, 16, 0, time.UTC)
)

// moment parses a time. It returns the time rounded down to the unit of the column, and whether the time was
// already exact.
func (t target) moment(f field, v value, s string) (low time.Time, exact bool, err error) {
	at, ok := parseTime(s)
	if !ok {
		return low, false, wrong(v.span, "%s is a time, but %s is not: write it like 2026-01-05, 2026-01-05T10:00 or "+
			"2026-01-05T10:00:00.5Z; a time without a zone is in UTC", excerpt(f.name), excerpt(s))
	}
	if t.typ == schema.TimestampNanosecond && (at.Before(firstNanos) || at.After(lastNanos)) {
		return low, false, wrong(v.span, "%s has nanoseconds, so its times are from %s to %s, but %s is not",
			excerpt(f.name), firstNanos.Format(time.RFC3339), lastNanos.Format(time.RFC3339), excerpt(s))
	}
	low = at.Truncate(t.unit())
	return low, low.Equal(at), nil
}

// timeLiteral formats a time in UTC for the engine.
func timeLiteral(at time.Time) string {
	return schema.QuoteLiteral(at.Format("2006-01-02 15:04:05.999999999"))
}
