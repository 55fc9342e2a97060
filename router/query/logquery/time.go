package logquery

import (
	"math"
	"time"

	"cordwood/proto/schema"
)

// timeFilter is the time of the rows: two of start, end and span, or one that is enough.
type timeFilter struct {
	Start *string `json:"start"`
	End   *string `json:"end"`
	Span  *uint64 `json:"span"` // seconds
}

// period is the time that a text denotes: a moment, or a year, a month or a day.
type period struct {
	from, to time.Time // equal for a moment
}

func (p *period) isMoment() bool { return p.from.Equal(p.to) }

// parsePeriod parses a moment in RFC 3339, or YYYY, YYYY-MM or YYYY-MM-DD in UTC.
func parsePeriod(name, text string) (period, error) {
	for _, form := range []struct {
		layout              string
		years, months, days int
	}{{"2006", 1, 0, 0}, {"2006-01", 0, 1, 0}, {"2006-01-02", 0, 0, 1}, {time.RFC3339Nano, 0, 0, 0}} {
		if t, err := time.Parse(form.layout, text); err == nil {
			return period{t.UTC(), t.UTC().AddDate(form.years, form.months, form.days)}, nil
		}
	}
	return period{}, invalid("time_filter.%s is %q: write it as 2026-01-05T10:00:00Z, or 2026, 2026-01 or 2026-01-05",
		name, clip(text))
}

// givenPeriod is parsePeriod for a text that may be missing.
func givenPeriod(name string, text *string) (*period, error) {
	if text == nil {
		return nil, nil
	}
	p, err := parsePeriod(name, *text)
	return &p, err
}

// bounds returns the time of the rows, without its end.
func (f *timeFilter) bounds(now time.Time) (from, to time.Time, err error) {
	start, err := givenPeriod("start", f.Start)
	if err != nil {
		return from, to, err
	}
	end, err := givenPeriod("end", f.End)
	if err != nil {
		return from, to, err
	}
	var span time.Duration
	if f.Span != nil {
		if *f.Span > uint64(math.MaxInt64/time.Second) {
			return from, to, invalid("time_filter.span is %d: it must be a number of seconds, at most %d", *f.Span,
				uint64(math.MaxInt64/time.Second))
		}
		span = time.Duration(*f.Span) * time.Second //nolint:gosec // its size is checked
	}
	switch {
	case start != nil && end != nil && f.Span != nil:
		return from, to, invalid("time_filter has start, end and span: leave one of them out")
	case start != nil && end != nil:
		from, to = start.from, end.to
	case start != nil && f.Span != nil:
		from, to = start.from, start.from.Add(span)
	case end != nil && f.Span != nil:
		from, to = end.to.Add(-span), end.to
	case f.Span != nil:
		from, to = now.Add(-span), now
	case start != nil && !start.isMoment():
		from, to = start.from, start.to
	default:
		return from, to, invalid("time_filter needs start and end, or one of them and span, or span alone, which ends now, " +
			"or a date alone as start")
	}
	if to.Before(from) {
		return from, to, invalid("time_filter ends at %s, before it starts at %s", to.UTC().Format(time.RFC3339Nano),
			from.UTC().Format(time.RFC3339Nano))
	}
	return from, to, nil
}

// timeCondition returns the conditions on the time of the rows.
func (c *compiler) timeCondition(f *timeFilter, now time.Time) ([]string, error) {
	if f == nil {
		return nil, invalid(`the query has no time_filter: write "time_filter":{"span":3600} for the last hour`)
	}
	from, to, err := f.bounds(now)
	if err != nil {
		return nil, err
	}
	column := c.table.TimeIndex()
	name := schema.QuoteIdent(column.Name)
	first, last := rangeOf(column.Type)
	switch {
	case from.After(last) || !to.After(first):
		return []string{"FALSE"}, nil // no row can have such a time
	case !from.Before(first) && !to.After(last):
		return []string{name + " >= " + literal(from), name + " < " + literal(to)}, nil
	case !from.Before(first):
		return []string{name + " >= " + literal(from)}, nil
	case !to.After(last):
		return []string{name + " < " + literal(to)}, nil
	}
	return nil, nil
}

// rangeOf returns the first and the last time, in whole seconds, that both a column and SQL text can express.
func rangeOf(t schema.Type) (first, last time.Time) {
	first = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if t == schema.TimestampNanosecond {
		const most = math.MaxInt64 / int64(time.Second)
		first, last = time.Unix(-most+1, 0).UTC(), time.Unix(most, 0).UTC()
	}
	return first, last
}

// literal returns a moment as SQL text.
func literal(t time.Time) string {
	return schema.QuoteLiteral(t.UTC().Format("2006-01-02T15:04:05.999999999Z"))
}
