package sql

import (
	"errors"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/nearest"
	"cordwood/shard/query"
)

// This file contains names that other systems use, and what to write here instead.

// elsewhere maps functions of other systems, in lower case, to what to write here instead.
var elsewhere = map[string]string{
	// Times.
	"date_histogram":       "time_bucket(INTERVAL '5 minutes', ts)",
	"date_bin":             "time_bucket(INTERVAL '5 minutes', ts)",
	"bucket":               "time_bucket(INTERVAL '5 minutes', ts)",
	"tostartofinterval":    "time_bucket(INTERVAL '5 minutes', ts)",
	"tostartoffiveminutes": "time_bucket(INTERVAL '5 minutes', ts)",
	"tostartofminute":      "date_trunc('minute', ts)",
	"tostartofhour":        "date_trunc('hour', ts)",
	"tostartofday":         "date_trunc('day', ts)",
	"tostartofweek":        "date_trunc('week', ts)",
	"tostartofmonth":       "date_trunc('month', ts)",
	"todate":               "ts::DATE",
	"todatetime":           "text::TIMESTAMP, or to_timestamp(seconds)",
	"date_format":          "strftime(ts, '%Y-%m-%d %H:%M')",
	"formatdatetime":       "strftime(ts, '%Y-%m-%d %H:%M')",
	"to_char":              "strftime(ts, '%Y-%m-%d %H:%M')",
	"from_unixtime":        "to_timestamp(seconds)",
	"unix_timestamp":       "epoch(ts)",
	"tounixtimestamp":      "epoch(ts)",
	"getdate":              "now()",
	// Quantiles and counts.
	"percentile":        "quantile_cont(x, 0.99), whose second argument is 0 to 1",
	"percentiles":       "quantile_cont(x, [0.5, 0.99])",
	"percentile_cont":   "quantile_cont(x, 0.99), or percentile_cont(0.99) WITHIN GROUP (ORDER BY x)",
	"percentile_disc":   "quantile_disc(x, 0.99), or percentile_disc(0.99) WITHIN GROUP (ORDER BY x)",
	"approx_percentile": "approx_quantile(x, 0.99)",
	"p50":               "quantile_cont(x, 0.5)",
	"p90":               "quantile_cont(x, 0.9)",
	"p95":               "quantile_cont(x, 0.95)",
	"p99":               "quantile_cont(x, 0.99)",
	"uniq":              "approx_count_distinct(x)",
	"uniqexact":         "count(DISTINCT x)",
	"count_distinct":    "count(DISTINCT x)",
	"dcount":            "approx_count_distinct(x)",
	"cardinality":       "approx_count_distinct(x)",
	"sumif":             "sum(x) FILTER (WHERE condition)",
	"avgif":             "avg(x) FILTER (WHERE condition)",
	"rate":              "count(*) of each time_bucket, divided by its seconds",
	"count_over_time":   "count(*) with GROUP BY time_bucket(INTERVAL '5 minutes', ts)",
	// Texts.
	"hastoken":                "matches_term(column, 'word')",
	"match_phrase":            "matches(column, '\"the phrase\"')",
	"query_string":            "matches(column, 'query')",
	"multisearchany":          "matches(column, 'a OR b')",
	"positioncaseinsensitive": "column ILIKE '%text%'",
	"locate":                  "strpos(text, part)",
	"tostring":                "x::VARCHAR",
	"splitbychar":             "string_split(text, ',')",
	"json_extract_scalar":     "json_extract_string(x, '$.key')",
	"multiif":                 "CASE WHEN a THEN x WHEN b THEN y ELSE z END",
}

// suggestion returns the end of an error text about a function that does not exist.
func suggestion(name string) string {
	if write, ok := elsewhere[strings.ToLower(name)]; ok {
		return "; write " + write
	}
	return nearest.DidYouMean("; ", name, callable)
}

// missingName matches DuckDB's errors for a qualified name whose first or second part is unknown.
var missingName = lazyregexp.New(`^Referenced table ".*" not found|does not have a column named`)

// DottedName returns the end of an error text about a.b if there is a column "a.b". Ingestion
// creates such columns from JSON objects.
func DottedName(err error, r *Rewritten, tables []query.Table) string {
	e := (*EngineError)(nil)
	if r == nil || !errors.As(err, &e) || !missingName.MatchString(e.Message) {
		return ""
	}
	at, perr := strconv.Atoi(e.Position)
	if perr != nil {
		return ""
	}
	at, ok := r.clientPosition(at)
	if !ok || at > len(r.st.client) {
		return ""
	}
	parts, _ := namePath(r.st.client, at, maxNamePath)
	for first := range parts {
		for end := len(parts); end > first+1; end-- {
			name := strings.Join(parts[first:end], ".")
			for i := range tables {
				if tables[i].Schema.Column(name) != nil {
					return "; the column is one name: write " + QuoteName(name)
				}
			}
		}
	}
	return ""
}

// maxNamePath is the maximum number of parts of a name that dottedName examines.
const maxNamePath = 16
