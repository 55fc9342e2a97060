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

// durationUnits are the units of durations in seconds, as expressions. The common ones come first.
var durationUnits = []struct{ name, seconds string }{
	{"ms", "0.001"},
	{"s", "1"},
	{"(?:us|µs|μs)", "0.000001"},
	{"ns", "0.000000001"},
	{"m", "60"},
	{"h", "3600"},
	{"d", "86400"},
	{"w", "604800"},
	{"y", "31536000"},
}

// durationOf returns the SQL seconds of a text such as 12ms or 1h30m. Texts of one unit are the usual ones.
func durationOf(text string) string {
	var whole, sum strings.Builder
	names := make([]string, 0, len(durationUnits))
	for i, u := range durationUnits {
		names = append(names, u.name)
		part := func(re string) string {
			return "try_cast(regexp_extract(" + text + ", " + quote(re) + ", 1) AS DOUBLE)"
		}
		if i < 3 {
			re := `([0-9.]+)` + u.name
			fmt.Fprintf(&whole, " WHEN regexp_full_match(%s, %s) THEN %s * %s", text, quote(re), part(`^([0-9.]+)`), u.seconds)
		}
		if i > 0 {
			sum.WriteString(" + ")
		}
		fmt.Fprintf(&sum, "CASE WHEN regexp_matches(%s, %s) THEN %s * %s ELSE 0 END", text,
			quote(`[0-9.]`+u.name+`(?:[0-9.]|$)`), part(`([0-9.]+)`+u.name+`(?:[0-9.]|$)`), u.seconds)
	}
	all := `-?(?:[0-9.]+(?:` + strings.Join(names, "|") + `))+`
	return fmt.Sprintf("CASE%s WHEN regexp_full_match(%s, %s) THEN "+
		"(CASE WHEN starts_with(%s, '-') THEN -1 ELSE 1 END) * (%s) END",
		whole.String(), text, quote(all), text, sum.String())
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
