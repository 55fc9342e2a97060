package schema

import (
	"math"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
)

// TTL is how long rows live, counted from their time index.
type TTL struct {
	// Forever means that rows never expire. Instant means that rows are accepted and discarded. If
	// neither is set, rows live for D, which is more than 0.
	Forever, Instant bool
	D                time.Duration
}

// Month and Year are the lengths of a ttl's `1month` and `1year`: 30.44 and 365.25 days.
const (
	Month = 2_630_016 * time.Second
	Year  = 31_557_600 * time.Second
)

const day = 24 * time.Hour

// ttlUnits are the units by spelling. Case matters: m is a minute, M a month.
var ttlUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "nsec": time.Nanosecond, "nanos": time.Nanosecond,
	"us": time.Microsecond, "usec": time.Microsecond, "micros": time.Microsecond,
	"ms": time.Millisecond, "msec": time.Millisecond, "millis": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "wk": 7 * day, "wks": 7 * day, "week": 7 * day, "weeks": 7 * day,
	"M": Month, "month": Month, "months": Month,
	"y": Year, "yr": Year, "yrs": Year, "year": Year, "years": Year,
}

// ParseTTL parses a ttl: `forever`, `instant`, nothing (forever), or a sum of integers with units
// such as `1d 12h`. A sum of zero, and the bare number 0, mean forever. The longest duration is the
// maximum of time.Duration, some 292 years. The error has code InvalidArguments.
func ParseTTL(text string) (TTL, error) {
	t, why := parseTTL(text)
	if why != "" {
		return TTL{}, errs.New(errs.InvalidArguments, "Failed to parse ttl %s: %s", quoteShort(text), why)
	}
	return t, nil
}

// ZeroTTL reports whether a text means forever without being that word: it is empty, 0, or a sum of
// zero.
func ZeroTTL(text string) bool {
	t, why := parseTTL(text)
	return why == "" && t.Forever && !strings.EqualFold(strings.Trim(text, ttlSpace), "forever")
}

// parseTTL does what ParseTTL does, but describes the fault as a text, or "".
func parseTTL(text string) (t TTL, why string) {
	s := strings.Trim(text, ttlSpace)
	switch {
	case s == "" || s == "0" || strings.EqualFold(s, "forever"):
		return TTL{Forever: true}, ""
	case strings.EqualFold(s, "instant"):
		return TTL{Instant: true}, ""
	}
	sum := time.Duration(0)
	for s != "" {
		digits := leading(s, isDigit)
		rest := strings.TrimLeft(s[digits:], ttlSpace)
		letters := leading(rest, isLetter)
		unit, known := ttlUnits[rest[:letters]]
		switch {
		case digits == 0:
			return TTL{}, "want an integer with its unit, as in 7d or 12h, or forever, at " + quoteShort(s)
		case letters == 0:
			return TTL{}, "want a unit after " + quoteShort(s[:digits]) + ", as in 7d or 12h"
		case !known:
			return TTL{}, "unknown unit " + quoteShort(rest[:letters]) +
				"; units are ns us ms s m h d w M (month) y, and case matters"
		}
		n, err := strconv.ParseInt(s[:digits], 10, 64)
		if err != nil || n > int64((math.MaxInt64-sum)/unit) {
			return TTL{}, "it is longer than 292 years; use forever"
		}
		sum += time.Duration(n) * unit
		s = strings.TrimLeft(rest[letters:], ttlSpace)
	}
	if sum == 0 {
		return TTL{Forever: true}, ""
	}
	return TTL{D: sum}, ""
}

const ttlSpace = " \t\r\n"

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// leading returns the number of bytes at the start of s that belong to the class.
func leading(s string, class func(byte) bool) int {
	n := 0
	for n < len(s) && class(s[n]) {
		n++
	}
	return n
}

// String returns the normalised form: `forever`, `instant`, or the duration such as `7days` or `1h
// 30m`, with the largest unit first. It uses years, but not months and weeks, so that 60 days stay
// `60days`.
func (t TTL) String() string {
	switch {
	case t.Instant:
		return "instant"
	case t.Forever || t.D <= 0:
		return "forever"
	}
	var out []byte
	rest := t.D
	for _, u := range [...]struct {
		length   time.Duration
		one, few string
	}{
		{Year, "year", "years"},
		{day, "day", "days"},
		{time.Hour, "h", "h"},
		{time.Minute, "m", "m"},
		{time.Second, "s", "s"},
		{time.Millisecond, "ms", "ms"},
		{time.Microsecond, "us", "us"},
		{time.Nanosecond, "ns", "ns"},
	} {
		n := rest / u.length
		if n == 0 {
			continue
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = strconv.AppendInt(out, int64(n), 10)
		if n == 1 {
			out = append(out, u.one...)
		} else {
			out = append(out, u.few...)
		}
		rest -= n * u.length
	}
	return string(out)
}

// ExpiredBefore returns the time index, in the unit of its type, below which rows
// have expired at the given time; false if rows do not expire by time.
func (t TTL) ExpiredBefore(now time.Time, index Type) (int64, bool) {
	if t.Forever || t.Instant || t.D <= 0 {
		return 0, false
	}
	limit := now.Add(-t.D)
	switch index {
	case TimestampSecond:
		return limit.Unix(), true
	case TimestampMillisecond:
		return limit.UnixMilli(), true
	case TimestampMicrosecond:
		return limit.UnixMicro(), true
	case TimestampNanosecond:
		if limit.Before(time.Unix(0, math.MinInt64)) {
			return math.MinInt64, true
		}
		return limit.UnixNano(), true
	}
	return 0, false
}

// DatabaseTTL normalises the ttl of a database, which must not be `instant`.
func DatabaseTTL(text string) (string, error) {
	t, err := ParseTTL(text)
	if err != nil {
		return "", err
	}
	if t.Instant {
		return "", errs.New(errs.InvalidArguments, "Failed to set ttl of a database to instant: only a table can "+
			"have it; set it on the tables, or choose a duration")
	}
	return t.String(), nil
}

// EffectiveTTL returns the ttl of a table with the given option texts: its own, otherwise its
// database's, otherwise forever. Unset texts are empty. A text that does not parse, which
// NormalizeOption would have refused, counts as forever, so that rows are kept.
func EffectiveTTL(table, database string) TTL {
	for _, text := range []string{table, database} {
		if text == "" {
			continue
		}
		if t, err := ParseTTL(text); err == nil {
			return t
		}
		return TTL{Forever: true}
	}
	return TTL{Forever: true}
}
