package engine

import (
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// TestFarTimes checks that queries do not fail because of rows with times that DuckDB cannot
// compare. Earlier versions could store such rows.
func TestFarTimes(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for _, kind := range []schema.Type{schema.TimestampMillisecond, schema.TimestampSecond} {
		columns := []schema.Column{
			{ID: 1, Name: "ts", Type: kind, Semantic: schema.Timestamp},
			{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
		}
		unit := int(kind.UnitsPerSecond())
		far := 9_200_000_000_001 * unit
		near := [][]any{{1000 * unit, 1}, {2000 * unit, 2}}
		for name, tab := range map[string]query.Table{
			"batch": table("logs", columns, batch(t, columns, append(near, []any{far, 3}, []any{-far, 4})...)),
			"segments": table("logs", columns, fileOf(t, dir, 0, columns, near...), fileOf(t, dir, 0, columns, []any{-far, 4}),
				fileOf(t, dir, 0, columns, []any{far, 3})),
		} {
			for sql, want := range map[string]string{
				"SELECT n FROM logs WHERE ts > '1970-01-01' ORDER BY n":                               "1 2 3",
				"SELECT n FROM logs WHERE ts < '1970-01-01 00:20:00' ORDER BY n":                      "1 4",
				"SELECT n FROM logs ORDER BY ts DESC LIMIT 3":                                         "3 2 1",
				"SELECT count(*) FROM logs WHERE date_trunc('minute', ts) < '1971-01-01'":             "3",
				"SELECT count(*) FROM logs WHERE ts BETWEEN '1970-01-01' AND '2000-01-01'":            "2",
				"SELECT year(max(ts)) > 290000 FROM logs":                                             "true",
				"SELECT count(*) FROM logs":                                                           "4",
				"SELECT count(*) FROM (SELECT date_trunc('hour', ts), count(*) FROM logs GROUP BY 1)": "3",
			} {
				if got := strings.Join(mustQuery(t, e, sql, tab), " "); got != want {
					t.Errorf("%s, %s: %s: got %s, want %s", kind, name, sql, got, want)
				}
			}
		}
	}
}
