package engine

import (
	"strings"
	"testing"

	"cordwood/shard/query"
)

// TestTimezone checks that texts of times without a zone are in the zone of the request, and that
// nothing else is changed.
func TestTimezone(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampMillisecond", "n:Int64", "s:String")
	const hour, summer = 3_600_000, 1_782_864_000_000 // 2026-07-01 00:00 UTC
	tab := table("logs", columns, batch(t, columns, []any{0, 1, "1970-01-01 00:00:00"}, []any{hour, 2, "x"},
		[]any{summer, 3, "x"}))
	for sql, want := range map[string]string{
		"SELECT n FROM logs WHERE ts = '1970-01-01 01:00:00'":                                 "1",
		"SELECT n FROM logs WHERE '1970-01-01T02:00' = ts":                                    "2",
		"SELECT n FROM logs WHERE ts >= '2026-07-01 02:00:00.000'":                            "3",
		"SELECT n FROM logs WHERE ts > '2026-07-01 02:00:00' OR ts < '1970-01-01 01:30:00'":   "1",
		"SELECT n FROM logs WHERE ts = '1970-01-01 00:00:00Z'":                                "1",
		"SELECT n FROM logs WHERE ts = '1970-01-01 02:00:00+02:00'":                           "1",
		"SELECT n FROM logs WHERE ts >= '2026-07-01' AND ts < '2026-07-02'":                   "3",
		"SELECT n FROM logs WHERE ts BETWEEN '1970-01-01 01:00:00' AND '1970-01-01 01:59:59'": "1",
		"SELECT n FROM logs WHERE ts IN ('1970-01-01 02:00:00')":                              "2",
		"SELECT n FROM logs WHERE s = '1970-01-01 00:00:00'":                                  "1",
		"SELECT n FROM logs WHERE lower(s) = '1970-01-01 00:00:00'":                           "1",
		"SELECT n FROM logs WHERE ts = TIMESTAMP '1970-01-01 01:00:00'":                       "1",
		"SELECT n FROM logs WHERE ts = '1970-01-01 02:00:00'::TIMESTAMP_MS":                   "2",
		"SELECT n FROM logs WHERE date_trunc('hour', ts) = '1970-01-01 02:00:00'":             "2",
		"SELECT m FROM (SELECT max(ts) AS m FROM logs) WHERE m = '2026-07-01 02:00:00'":       "2026-07-01T00:00:00",
		"SELECT date_diff('minute', '1970-01-01 01:00:00', ts) FROM logs WHERE n = 2":         "60",
		"SELECT n FROM logs WHERE ts > '1970-01-01 01:00:00' ORDER BY ts DESC LIMIT 1":        "3",
		"SELECT count(*) FROM logs WHERE ts < '1970-01-01 02:00:00'":                          "1",
	} {
		a, err := request(t.Context(), e, &query.Request{
			SQL: sql, Database: "public", Tables: []query.Table{tab}, Timezone: "Europe/Berlin",
		})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
		} else if got := strings.Join(a.rows, " "); got != want {
			t.Errorf("%s: got %s, want %s", sql, got, want)
		}
	}
	for sql, want := range map[string]string{
		"SELECT n FROM logs WHERE json_extract('{}', " +
			"'$.a') = '2026-01-01 00:00:00'": "the statement does not show it: write '2026-01-01 00:00:00'::TIMESTAMP",
		"SELECT n FROM (SELECT epoch_ms(ts) AS ts, n FROM logs) WHERE ts = '2026-01-01'": "the statement does not show it",
	} {
		if _, err := request(t.Context(), e, &query.Request{
			SQL: sql, Database: "public", Tables: []query.Table{tab}, Timezone: "+02:00",
		}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", sql, err)
		}
	}
	if _, err := request(t.Context(), e, &query.Request{SQL: "SELECT 1", Timezone: "Europe/Atlantis"}); err == nil ||
		!strings.Contains(err.Error(), "is not known") {
		t.Errorf("got %v", err)
	}
	needs, err := e.Needs(t.Context(), &query.Request{
		SQL: "SELECT n FROM logs WHERE ts < '1970-01-01 02:00:00'", Database: "public", Tables: []query.Table{tab},
		Timezone: "Europe/Berlin",
	})
	utc, uerr := e.Needs(t.Context(), &query.Request{
		SQL:      "SELECT n FROM logs WHERE ts < '1970-01-01 01:00:00'",
		Database: "public",
		Tables:   []query.Table{tab},
	})
	if err != nil || uerr != nil || needs[0].Where != utc[0].Where {
		t.Errorf("needs %v, %v; in UTC %v, %v", needs, err, utc, uerr)
	}
}

// TestOffsets checks that the offset of a text applies next to times of any unit, even if the
// request has no time zone.
func TestOffsets(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, unit := range []string{"Second", "Millisecond", "Microsecond", "Nanosecond"} {
		columns := cols("ts:Timestamp"+unit, "n:Int64", "s:String")
		tab := table("logs", columns, batch(t, columns, []any{0, 1, "1970-01-01 02:00:00+02:00"}))
		for _, zone := range []string{"", "America/New_York"} {
			for _, sql := range []string{
				"SELECT n FROM logs WHERE ts = '1970-01-01 02:00:00+02:00'",
				"SELECT n FROM logs WHERE ts = '1970-01-01T02:00:00 +02'",
				"SELECT n FROM logs WHERE ts >= '1970-01-01T01:59:59.5+0200' AND ts < '1970-01-01 00:00:00.5Z'",
				"SELECT n FROM logs WHERE ts IN ('1969-12-31 16:30:00-07:30')",
				"SELECT n FROM logs WHERE ts = '1970-01-01 02:00:00+02:00'::TIMESTAMP",
				"SELECT n FROM logs WHERE s = '1970-01-01 02:00:00+02:00'",
			} {
				a, err := request(t.Context(), e, &query.Request{
					SQL: sql, Database: "public", Tables: []query.Table{tab}, Timezone: zone,
				})
				if err != nil || len(a.rows) != 1 {
					t.Errorf("%s, zone %q: %s: %v, %v", unit, zone, sql, a, err)
				}
			}
		}
	}
}

// TestBlanksAroundTimes checks that blanks at the ends of a text do not matter next to times, whether a row reaches the
// comparison or not. DuckDB refuses a date with blanks behind it.
func TestBlanksAroundTimes(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for _, unit := range []string{"Second", "Millisecond", "Microsecond", "Nanosecond"} {
		columns := cols("ts:Timestamp"+unit, "n:Int64")
		tab := table("logs", columns, batch(t, columns, []any{0, 1}))
		for _, zone := range []string{"", "UTC", "America/New_York"} {
			for _, sql := range []string{
				"SELECT n FROM logs WHERE ts < '2026-11-14  '",
				"SELECT count(*) FROM logs WHERE ts < '\t2026-11-14 '",
				"SELECT x.n FROM logs x JOIN logs y USING (n) WHERE x.ts < '2026-11-14 ' AND y.ts > '1969-11-14\n'",
				"SELECT n FROM logs WHERE ts BETWEEN ' 1969-11-14' AND '2026-11-14 10:00:00  '",
				"SELECT n FROM logs WHERE ts < '2026-11-14 '::TIMESTAMP",
			} {
				a, err := request(t.Context(), e, &query.Request{
					SQL: sql, Database: "public", Tables: []query.Table{tab}, Timezone: zone,
				})
				if err != nil || strings.Join(a.rows, " ") != "1" {
					t.Errorf("%s, zone %q: %s: %v, %v", unit, zone, sql, a, err)
				}
			}
		}
	}
}
