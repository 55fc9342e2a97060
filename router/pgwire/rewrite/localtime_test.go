package rewrite

import (
	"fmt"
	"testing"
)

// TestAtTimeZone checks the meaning of AT TIME ZONE: of what clients see as timestamptz, it is the local time in the
// zone, and of a timestamp, the time for which it is the local time.
func TestAtTimeZone(t *testing.T) {
	const (
		toLocal   = "timezone('Asia/Tokyo', timezone('UTC', CAST(%s AS TIMESTAMP)))"
		day       = "TIMESTAMP_NS '2026-01-05 00:00:00'"
		fromLocal = "timezone('UTC', timezone('Asia/Tokyo', CAST(%s AS TIMESTAMP)))"
	)
	for in, want := range map[string]string{
		"ts AT TIME ZONE 'Asia/Tokyo'":                              fmt.Sprintf(toLocal, "ts"),
		"l.ts AT TIME ZONE 'Asia/Tokyo'":                            fmt.Sprintf(toLocal, "l.ts"),
		"now() AT TIME ZONE 'Asia/Tokyo'":                           fmt.Sprintf(toLocal, "now()"),
		"'2026-01-05' AT TIME ZONE 'Asia/Tokyo'":                    fmt.Sprintf(toLocal, day),
		"(ts - INTERVAL '1 day') AT TIME ZONE 'Asia/Tokyo'":         fmt.Sprintf(toLocal, "(ts - INTERVAL '1 day')"),
		"max(ts) AT TIME ZONE 'Asia/Tokyo'":                         fmt.Sprintf(toLocal, "max(ts)"),
		"timezone('Asia/Tokyo', ts)":                                fmt.Sprintf(toLocal, "ts"),
		"pg_catalog.timezone('Asia/Tokyo', ts)":                     fmt.Sprintf(toLocal, "ts"),
		"pg_typeof(ts AT TIME ZONE 'UTC')":                          "'timestamp without time zone'",
		"ts::timestamptz AT TIME ZONE 'Asia/Tokyo'":                 fmt.Sprintf(toLocal, "ts::TIMESTAMP"),
		"localtimestamp AT TIME ZONE 'Asia/Tokyo'":                  fmt.Sprintf(fromLocal, "localtimestamp"),
		"ts::timestamp AT TIME ZONE 'Asia/Tokyo'":                   fmt.Sprintf(fromLocal, "ts::TIMESTAMP"),
		"CAST(ts AS timestamp) AT TIME ZONE 'Asia/Tokyo'":           fmt.Sprintf(fromLocal, "ts::TIMESTAMP"),
		"ts::timestamp without time zone AT TIME ZONE 'Asia/Tokyo'": fmt.Sprintf(fromLocal, "ts::TIMESTAMP"),
		"'2026-01-05'::timestamp AT TIME ZONE 'Asia/Tokyo'":         fmt.Sprintf(fromLocal, day),
		"TIMESTAMP '2026-01-05' AT TIME ZONE 'Asia/Tokyo'":          fmt.Sprintf(fromLocal, "TIMESTAMP '2026-01-05'"),
		"ts AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Tokyo'":           fmt.Sprintf(fromLocal, "CAST(ts AS TIMESTAMP)"),
		"timezone('Asia/Tokyo', timezone('UTC', ts))":               fmt.Sprintf(fromLocal, "CAST(ts AS TIMESTAMP)"),
		"date_trunc('day', ts AT TIME ZONE 'UTC') AT TIME ZONE 'Asia/Tokyo'": fmt.Sprintf(fromLocal,
			"date_trunc('day', CAST(ts AS TIMESTAMP))"),
		"(ts AT TIME ZONE 'UTC' + INTERVAL '1 day') AT TIME ZONE 'Asia/Tokyo'": fmt.Sprintf(fromLocal,
			"(CAST(ts AS TIMESTAMP) + INTERVAL '1 day')"),
		"ts AT TIME ZONE 'UTC'":     "CAST(ts AS TIMESTAMP)",
		"ts AT TIME ZONE z.name":    "timezone(z.name, timezone('UTC', CAST(ts AS TIMESTAMP)))",
		"ts AT TIME ZONE lower($1)": "timezone(lower($1), timezone('UTC', CAST(ts AS TIMESTAMP)))",
		"ts AT TIME ZONE $1::text":  "timezone($1::VARCHAR, timezone('UTC', CAST(ts AS TIMESTAMP)))",
		// The engine changes the zone of a time of day as PostgreSQL does.
		"'10:00+02'::timetz AT TIME ZONE 'UTC'": "CAST('10:00:00+02:00' AS TIME WITH TIME ZONE) AT TIME ZONE 'UTC'",
	} {
		got, err := Rewrite("SELECT x WHERE a = 1 OR "+in+" < b", session())
		if err != nil || got.Text != "SELECT x WHERE a = 1 OR "+want+" < b" {
			t.Errorf("%s:\n got %s, %v\nwant SELECT x WHERE a = 1 OR %s < b", in, got.Text, err, want)
		}
	}
	for _, text := range []string{
		"SELECT ts AT TIME ZONE $", "SELECT ts AT TIME ZONE", "SELECT AT TIME ZONE 'UTC'", "SELECT ) AT TIME ZONE 'UTC'",
		"SELECT timezone('UTC',)", "SELECT ts AT TIME ZONE 'UTC'::", "SELECT ::timestamp AT TIME ZONE 'UTC'",
	} {
		if _, err := Rewrite(text, session()); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Rewrite("SELECT 'noon' AT TIME ZONE 'UTC'", session()); err == nil {
		t.Error("a text that is no time is accepted")
	}
}

// TestLocalItems checks which expressions of a select list clients see as timestamp.
func TestLocalItems(t *testing.T) {
	for text, want := range map[string]bool{
		"ts": false, "ts AT TIME ZONE 'UTC'": true, "ts AT TIME ZONE 'UTC' AS local": true, "timezone('UTC', ts)": true,
		"pg_catalog.timezone('UTC', ts)": true, "public.timezone": false,
		"ts AT TIME ZONE 'UTC' AT TIME ZONE 'UTC'": false, "date_trunc('day', ts AT TIME ZONE 'UTC')": true,
		"date_trunc('day', ts)": false, "now() AT TIME ZONE 'UTC' - INTERVAL '1 day'": true, "'2026-01-05'::timestamp": true,
		"TIMESTAMP '2026-01-05'": true, "TIMESTAMPTZ '2026-01-05'": false, "'2026-01-05'::timestamptz": false,
		"localtimestamp": true, "ts::timestamp": false, "$1::timestamp": false, "ts::timestamp AT TIME ZONE 'UTC'": false,
		"max(ts AT TIME ZONE 'UTC')": true, "coalesce(NULL, ts AT TIME ZONE 'UTC')": true,
	} {
		if items := Items("SELECT " + text + " FROM logs"); len(items) != 1 || items[0].Local != want {
			t.Errorf("%s: %+v", text, items)
		}
	}
}

// TestUser checks that user is the user, unless a table of the statement has a column of this name.
func TestUser(t *testing.T) {
	own := session()
	own.HasColumn = func(_ int64, name string) bool { return name == "user" }
	for text, want := range map[string][2]string{
		"SELECT user":           {"SELECT 'ann'", "SELECT 'ann'"},
		"SELECT user FROM logs": {"SELECT 'ann' FROM logs", "SELECT user FROM logs"},
		"WITH q AS (SELECT * FROM logs) SELECT user FROM q": {
			"WITH q AS (SELECT * FROM logs) SELECT 'ann' FROM q", "WITH q AS (SELECT * FROM logs) SELECT user FROM q",
		},
		"SELECT user FROM (SELECT 1 AS user)": {"SELECT user FROM (SELECT 1 AS user)", "SELECT user FROM (SELECT 1 AS user)"},
		"SELECT user FROM other":              {"SELECT user FROM other", "SELECT user FROM other"},
	} {
		for i, s := range []*Session{session(), own} {
			if got, err := Rewrite(text, s); err != nil || got.Text != want[i] {
				t.Errorf("%s: %s, %v", text, got.Text, err)
			}
		}
	}
}
