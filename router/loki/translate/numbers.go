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

// float formats a number as SQL.
func float(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "CAST(" + quote(strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))) + " AS DOUBLE)"
	}
	return "CAST(" + quote(strconv.FormatFloat(v, 'g', -1, 64)) + " AS DOUBLE)"
}

// numberOf returns SQL that converts a text to a number, or to null if the text is not a number.
func numberOf(text string, as logql.Kind) string {
	switch as {
	case logql.Duration:
		return durationOf(text)
	case logql.Bytes:
		return sizeOf(text)
	}
	return "CASE WHEN regexp_full_match(" + text + ", '[-+0-9.eE]+') THEN try_cast(" + text + " AS DOUBLE) END"
}

// durationOf returns SQL that converts a text such as 12ms or 1h30m to seconds. The engine's intervals have a precision
// of microseconds.
func durationOf(text string) string {
	return "CASE WHEN regexp_full_match(" + text + ", " + quote(logql.SmallDuration) + ") THEN try_cast(regexp_extract(" +
		text + ", '^[0-9.]+') AS DOUBLE) * CASE WHEN suffix(" + text + ", 'ns') THEN 0.000000001 ELSE 0.000001 END " +
		"WHEN regexp_full_match(" + text + ", " + quote(logql.LargeDuration) + ") THEN epoch(try_cast(" + text +
		" AS INTERVAL)) END"
}

// sizeOf returns SQL that converts a text such as 10KB to whole bytes.
func sizeOf(text string) string {
	const re = `^([0-9.]+) *([A-Za-z]*)$`
	var units strings.Builder
	known := logql.SizeUnits()
	for _, name := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&units, " WHEN %s THEN %s", quote(name), strconv.FormatFloat(known[name], 'f', -1, 64))
	}
	return "floor(try_cast(regexp_extract(" + text + ", " + quote(re) + ", 1) AS DOUBLE) * CASE lower(regexp_extract(" +
		text + ", " + quote(re) + ", 2))" + units.String() + " END)"
}

// Unwrap returns SQL for the sample of an entry: null if the label is not a number. It restricts the query to entries
// that have the label.
func (q *Query) Unwrap(u *logql.Unwrap) (value string, err error) {
	q.useLabel(u.Name)
	text := q.numericLabel(u.Name)
	value = q.bounded(numberOf(text, u.As()))
	q.add(text + " <> ''")
	q.fail(value+" IS NULL", ExtractError)
	for _, f := range u.Filters {
		q.add(q.condition(f.Cond))
	}
	return value, q.err
}
