package scope

import (
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// Range is a time range that includes From but not To. A zero From means the time of the first row.
type Range struct{ From, To time.Time }

// The first and the last time that SQL text can express.
var (
	earliest = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// parseRange parses both ends.
func parseRange(from, to *string, now time.Time) (Range, error) {
	r := Range{To: now.UTC()}
	var err error
	if from != nil && *from != "" {
		if r.From, err = parseMoment("from", *from, now); err != nil {
			return r, err
		}
	}
	if to != nil && *to != "" {
		if r.To, err = parseMoment("to", *to, now); err != nil {
			return r, err
		}
	}
	if r.To.Before(r.From) {
		return r, errs.New(errs.InvalidArguments, "the range ends at %s, before its start at %s",
			r.To.Format(time.RFC3339Nano), r.From.Format(time.RFC3339Nano))
	}
	return r, nil
}

func parseMoment(name, text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now.UTC(), nil
	}
	if t, ok := ParseTime(text); ok {
		return t, nil
	}
	if strings.HasPrefix(text, "-") {
		if d, ok := parseDuration(text[1:]); ok {
			return now.Add(-d).UTC(), nil
		}
	}
	return time.Time{}, errs.New(errs.InvalidArguments,
		"%s is %.60q: write a time like 2026-01-05T10:00:00Z, or a duration before now like -1h, of at most 200 years",
		name, text)
}

// ParseTime parses a time in RFC 3339 in the years 1 to 9999.
func ParseTime(text string) (time.Time, bool) {
	const most = 60
	if len(text) > most {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	return t, err == nil && !t.Before(earliest) && !t.After(latest)
}

// parseDuration parses durations such as 90m and 1h30m, and also the form of a table's ttl, such as 7d. The
// duration stands for a time before now.
func parseDuration(text string) (time.Duration, bool) {
	const most = 200 * 365 * 24 * time.Hour
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && d <= most {
		return d, true
	}
	ttl, err := schema.ParseTTL(text)
	return ttl.D, err == nil && ttl.D > 0 && ttl.D <= most
}

// ParseSpan parses a duration such as 90m, 1h30m or 7d.
func ParseSpan(text string) (time.Duration, bool) { return parseDuration(text) }

// Ceil returns the first time at or after t that a timestamp type can express.
func Ceil(t time.Time, typ schema.Type) time.Time {
	unit := time.Second / time.Duration(typ.UnitsPerSecond())
	if low := t.Truncate(unit); low.Before(t) {
		return low.Add(unit)
	}
	return t
}

// holds reports whether a column of nanoseconds can express t. Other columns can express every time.
func holds(t time.Time, typ schema.Type) bool {
	return typ != schema.TimestampNanosecond || t.Year() >= 1678 && t.Year() <= 2261
}

// Literal returns a time as an SQL literal.
func Literal(t time.Time) string {
	return schema.QuoteLiteral(t.UTC().Format("2006-01-02 15:04:05.999999999"))
}

// Compare returns an SQL condition that compares the time index of a table with t, even if its type cannot
// express t. op is <, <=, >, >= or =.
func (t *Table) Compare(op string, at time.Time) string {
	column := t.Def.TimeIndex()
	if !holds(at, column.Type) {
		if (op[0] == '<') == (at.Year() > 2000) && op != "=" {
			return "TRUE"
		}
		return "FALSE"
	}
	up := Ceil(at, column.Type)
	exact := up.Equal(at)
	switch {
	case exact:
	case op == "=":
		return "FALSE"
	case op == "<=":
		op = "<"
	case op == ">":
		op = ">="
	}
	return Ident(column.Name) + " " + op + " " + Literal(up)
}

// TimeOf returns the time for a value in the unit of the type.
func TimeOf(v int64, typ schema.Type) time.Time {
	per := typ.UnitsPerSecond()
	sec, rest := v/per, v%per
	if rest < 0 {
		sec, rest = sec-1, rest+per
	}
	return time.Unix(sec, rest*(1e9/per)).UTC()
}
