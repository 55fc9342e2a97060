package translate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/loki/logql"
)

// float writes a number in SQL.
func float(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "CAST(" + quote(strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))) + " AS DOUBLE)"
	}
	return "CAST(" + quote(strconv.FormatFloat(v, 'g', -1, 64)) + " AS DOUBLE)"
}

// numberOf returns the SQL number of a text, or null if the text is none.
func numberOf(text string, as logql.Kind) string {
	switch as {
	case logql.Duration:
		return durationOf(text)
	case logql.Bytes:
		return sizeOf(text)
	}
	return "CASE WHEN regexp_full_match(" + text + ", '[-+0-9.eE]+') THEN try_cast(" + text + " AS DOUBLE) END"
}

// durationOf returns the SQL seconds of a text such as 12ms or 1h30m. Intervals of the engine have microseconds.
func durationOf(text string) string {
	return "CASE WHEN regexp_full_match(" + text + ", " + quote(logql.SmallDuration) + ") THEN try_cast(regexp_extract(" +
		text + ", '^[0-9.]+') AS DOUBLE) * CASE WHEN suffix(" + text + ", 'ns') THEN 0.000000001 ELSE 0.000001 END " +
		"WHEN regexp_full_match(" + text + ", " + quote(logql.LargeDuration) + ") THEN epoch(try_cast(" + text +
		" AS INTERVAL)) END"
}

// sizeOf returns the SQL bytes of a text such as 10KB.
func sizeOf(text string) string {
	const re = `^([0-9.]+) *([A-Za-z]*)$`
	var units strings.Builder
	known := logql.SizeUnits()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&units, " WHEN %s THEN %s", quote(name), strconv.FormatFloat(known[name], 'f', -1, 64))
	}
	return "try_cast(regexp_extract(" + text + ", " + quote(re) + ", 1) AS DOUBLE) * CASE lower(regexp_extract(" + text +
		", " + quote(re) + ", 2))" + units.String() + " END"
}

// Unwrap returns the SQL number of the sample of an entry, null if its label is no number, and the condition for
// entries that have the label.
func (q *Query) Unwrap(u *logql.Unwrap) (value string, err error) {
	text := q.label(u.Name)
	as := logql.PlainNumber
	switch u.Convert {
	case "duration", "duration_seconds":
		as = logql.Duration
	case "bytes":
		as = logql.Bytes
	}
	value = q.bounded(numberOf(text, as))
	q.add(text + " <> ''")
	q.fail(value+" IS NULL", ExtractError)
	for _, f := range u.Filters {
		q.add(q.condition(f.Cond))
	}
	return value, q.err
}
