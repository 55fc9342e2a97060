package engine

import (
	"slices"
	"strings"
	"testing"

	"cordwood/shard/query"
)

// TestColumnAt checks that a column may be called "at", and that positions of errors refer to the
// client's text.
func TestColumnAt(t *testing.T) {
	e := openEngine(t, t.TempDir())
	c := cols("at:TimestampSecond", "a:Int64")
	tab := table("t", c, batch(t, c, []any{5, 1}, []any{6, 2}))
	for sql, want := range map[string]string{
		"SELECT at, a FROM t WHERE a = 2":             "",
		"SELECT max(at) FROM t GROUP BY at":           "",
		"SELECT at, nope FROM t":                      "(position 11)",
		"SELECT at FROM t WHERE at = nope":            "(position 28)",
		"SELECT at FROM t WHERE":                      "position",
		"SELECT at AT TIME ZONE 'UTC' FROM t LIMIT 1": "",
	} {
		_, err := request(t.Context(), e, &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", sql, err, want)
		}
	}
}

// TestColumnsThatDifferInCase checks that columns whose names differ only in case are distinguished
// by their exact names.
func TestColumnsThatDifferInCase(t *testing.T) {
	e := openEngine(t, t.TempDir())
	c := cols("ts:TimestampSecond", "A:Int64", "a:String")
	b := cols("ts:TimestampSecond", "b:Int64")
	tables := []query.Table{
		table("t", c, batch(t, c, []any{5, 1, "x"}, []any{6, 2, "y"})), table("u", b, batch(t, b, []any{5, 7})),
	}
	for sql, want := range map[string][]string{
		`SELECT "A", "a" FROM t ORDER BY ts`:                   {"1|x", "2|y"},
		`SELECT A, a FROM t WHERE a = 'y'`:                     {"2|y"},
		`SELECT t.a, public.t.a, t . "a" FROM t WHERE t.A = 1`: {"x|x|x"},
		`SELECT count(a), max(t.A) FROM t`:                     {"2|2"},
		`SELECT t.a, u.b FROM t JOIN u USING (ts)`:             {"x|7"},
	} {
		if got := mustQuery(t, e, sql, tables...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
}
