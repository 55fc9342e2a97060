package engine

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// TestIntegersAsTimes checks that an integer compared with a column of times is a moment in the
// column's unit.
func TestIntegersAsTimes(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for _, kind := range []schema.Type{
		schema.TimestampSecond, schema.TimestampMillisecond, schema.TimestampMicrosecond, schema.TimestampNanosecond,
	} {
		columns := []schema.Column{
			{ID: 1, Name: "ts", Type: kind, Semantic: schema.Timestamp},
			{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
			{ID: 3, Name: "at2", Type: kind, Semantic: schema.Field},
		}
		rows := [][]any{{-5, 1, 0}, {0, 2, 0}, {5, 3, nil}, {5_000_000, 4, 7}}
		for name, tab := range map[string]query.Table{
			"batch":    table("logs", columns, batch(t, columns, rows...)),
			"segments": table("logs", columns, fileOf(t, dir, 0, columns, rows[:2]...), fileOf(t, dir, 0, columns, rows[2:]...)),
		} {
			for sql, want := range map[string]string{
				"SELECT n FROM logs WHERE ts > 0 ORDER BY n":                                                       "3 4",
				"SELECT n FROM logs WHERE 0 >= ts ORDER BY n":                                                      "1 2",
				"SELECT n FROM logs WHERE ts = 5":                                                                  "3",
				"SELECT n FROM logs WHERE ts <> 5 AND NOT ts > 0 ORDER BY n":                                       "1 2",
				"SELECT n FROM logs WHERE ts > -5 AND ts < 5000000 ORDER BY n":                                     "2 3",
				"SELECT n FROM logs WHERE ts >= 5_000_000":                                                         "4",
				"SELECT n FROM logs WHERE ts BETWEEN -5 AND 4 ORDER BY n":                                          "1 2",
				"SELECT n FROM logs WHERE ts NOT BETWEEN -5 AND 4 ORDER BY n":                                      "3 4",
				"SELECT n FROM logs WHERE ts IN (5, -5, 6) ORDER BY n":                                             "1 3",
				"SELECT n FROM logs WHERE ts NOT IN (5, -5) ORDER BY n":                                            "2 4",
				"SELECT n FROM logs WHERE at2 < 7 OR ts = 5 ORDER BY n":                                            "1 2 3",
				"SELECT l.n FROM logs l JOIN logs r ON l.ts = r.ts AND r.ts > 0 WHERE l.ts < 6":                    "3",
				"WITH c AS (SELECT ts AS t, n FROM logs) SELECT n FROM c WHERE t > 0 ORDER BY t DESC":              "4 3",
				"SELECT m FROM (SELECT n, max(ts) AS t, n + 1 AS m FROM logs GROUP BY n) WHERE t > 5":              "5",
				"SELECT count(*) FROM logs WHERE ts > 0":                                                           "2",
				"SELECT n FROM logs WHERE ts > 0 ORDER BY ts DESC LIMIT 1":                                         "4",
				"SELECT count(*) FROM (SELECT epoch_ns(ts) AS ts FROM logs) WHERE ts > 0":                          "2",
				"SELECT count(*) FILTER (WHERE ts > 0), sum(CASE WHEN ts = 0 THEN 1 ELSE 0 END)::BIGINT FROM logs": "2|1",
				"SELECT n FROM logs WHERE ts < 9223372036854775807 AND ts > -9223372036854775807 ORDER BY n":       "1 2 3 4",
			} {
				if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
					t.Errorf("%s, %s: %s: got %s, want %s", kind, name, sql, got, want)
				}
			}
			a, err := ask(e, "SELECT ts > 5 FROM logs LIMIT 1", tab)
			if err != nil || a.schema.Field(0).Name != "ts > 5" {
				t.Errorf("%s: the column is called %v, %v", kind, a, err)
			}
			// If a function accepts microseconds but not its argument's unit, the statement still
			// gets an error with advice.
			if _, err := ask(e, "SELECT n FROM logs WHERE date_trunc('minute', ts) > 5", tab); err == nil ||
				!strings.Contains(err.Error(), "make_timestamp") {
				t.Errorf("%s: got error %v", kind, err)
			}
		}
		// Segments are excluded before they are opened.
		tab := table("logs", columns, fileOf(t, dir, 0, columns, rows[:2]...), fileOf(t, dir, 0, columns, rows[2:]...))
		explained := fmt.Sprint(mustQuery(t, e, "EXPLAIN SELECT n FROM logs WHERE ts > 4000000", tab))
		if kind != schema.TimestampNanosecond && !strings.Contains(explained, "1 of 2") {
			t.Errorf("%s: both segments are read: %s", kind, explained)
		}
	}
}
