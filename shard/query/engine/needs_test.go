package engine

import (
	"testing"

	"cordwood/shard/query"
)

// TestNeededRows checks which conditions the rows that another node sends must meet: comparisons of columns with
// literals, also in joins and behind BETWEEN, but none that a row without a match in an outer join need not meet.
func TestNeededRows(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampNanosecond", "n:Int64", "f:Float64", "s:String")
	logs, hosts := table("logs", columns), table("hosts", columns)
	for sql, want := range map[string]string{
		"SELECT s FROM logs WHERE n > 5":                                                    `"n" > 5`,
		"SELECT s FROM logs WHERE 5 > n AND s <= 'it''s'":                                   `"n" < 5 AND "s" <= 'it''s'`,
		"SELECT s FROM logs WHERE f BETWEEN 0.25 AND 2":                                     `"f" >= 0.25 AND "f" <= 2`,
		"SELECT s FROM logs WHERE n NOT BETWEEN 1 AND 2":                                    "",
		"SELECT s FROM logs WHERE NOT n < 5":                                                `"n" >= 5`,
		"SELECT s FROM logs WHERE n < 5 OR n > 9":                                           "",
		"SELECT s FROM logs WHERE n < f AND n < 300.5 AND n <> 7":                           "",
		"SELECT l.s FROM logs l JOIN hosts h ON l.s = h.s WHERE l.n >= 5":                   `"n" >= 5`,
		"SELECT l.s FROM hosts h LEFT JOIN logs l ON l.s = h.s AND l.n >= 5":                "",
		"SELECT h.s FROM hosts h LEFT JOIN logs l ON l.s = h.s WHERE coalesce(l.n, 9) >= 5": "",
	} {
		needs, err := e.Needs(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{logs, hosts}})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		for _, n := range needs {
			if n.Name.Name == "logs" && n.Where != want {
				t.Errorf("%s: the rows meet %q, want %q", sql, n.Where, want)
			}
			if n.Name.Name == "hosts" && n.Where != "" {
				t.Errorf("%s: the rows of the other table meet %q", sql, n.Where)
			}
		}
	}
}
