package engine

import (
	"fmt"
	"slices"
	"testing"

	"cordwood/shard/query"
)

// TestWeighted checks that a statement for nodes whose rows can be counted is answered from their numbers although no
// partial results are kept: the only segment lies across the border of its time condition. If rows have to be read,
// the statement runs over all rows.
func TestWeighted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	columns := cols("ts:TimestampSecond", "status:Int64", "host:String")
	var rows [][]any
	for i := range 40_000 { // more rows than are read by the page index
		var status any = i % 3
		if i%7 == 0 {
			status = nil
		}
		rows = append(rows, []any{i, status, fmt.Sprint("host-", i%5)})
	}
	tab := table("t", columns)
	tab.Schema.ID = 1
	tab.Segments = indexed(t, dir, columns, 5000, batch(t, columns, rows...)).Segments
	plain, e := openEngine(t, dir), openKeeping(t, dir)
	e.off("all") // only special executors answer
	for sql, weighted := range map[string]bool{
		"SELECT status AS g, count(*) AS n FROM t WHERE ts >= '1970-01-01 02:00:00' GROUP BY 1":    true,
		"SELECT count(status) AS n, min(status) AS m FROM t WHERE ts < '1970-01-01 02:00:00'":      true,
		"SELECT count(*) FILTER (WHERE status > 0) AS n FROM t WHERE ts < '1970-01-01 00:00:10'":   true,
		"SELECT status AS g, sum(status) AS n FROM t WHERE ts >= '1970-01-01 02:00:00' GROUP BY 1": false,
		"SELECT host AS g, count(status) AS n FROM t WHERE ts >= '1970-01-01 02:00:00' GROUP BY 1": false,
		"SELECT status AS g, count(ts) AS n FROM t WHERE ts >= '1970-01-01 02:00:00' GROUP BY 1":   false,
	} {
		want := mustQuery(t, plain, sql, tab)
		got, err := request(t.Context(), e, &query.Request{
			SQL: sql, Database: "public", Tables: []query.Table{tab}, Part: true,
		})
		if !weighted {
			if err == nil {
				t.Errorf("%s: a special executor returned %v", sql, got.rows)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		slices.Sort(got.rows)
		slices.Sort(want)
		if !slices.Equal(got.rows, want) {
			t.Errorf("%s: %v, want %v", sql, got.rows, want)
		}
	}
}
