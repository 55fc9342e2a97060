package engine

import (
	"strings"
	"testing"
)

// TestNamesOfExpressions has columns without an alias named as the client wrote them, wherever their rows lie.
func TestNamesOfExpressions(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	columns := cols("ts:TimestampSecond", "n:Int64", "msg:String")
	tab := table("t", columns, fileOf(t, dir, 10, columns, []any{1, 2, "a"}), batch(t, columns, []any{2, 3, "b"}))
	for sql, want := range map[string]string{
		"SELECT (SELECT count(*) FROM t)  -\n(SELECT " +
			"max(n) FROM t)": "(SELECT count(*) FROM t) - (SELECT max(n) FROM t)",
		"SELECT n, n IN (SELECT n FROM t) FROM t":                                       "n|n IN (SELECT n FROM t)",
		"WITH c AS (SELECT n FROM t) SELECT DISTINCT exists(SELECT 1 FROM t), n FROM c": "exists(SELECT 1 FROM t)|n",
		"SELECT n IS DISTINCT FROM (SELECT max(n) FROM t), 'a, " +
			"from' FROM t": "n IS DISTINCT FROM (SELECT max(n) FROM t)|'a, from'",
		"SELECT (SELECT max(n) FROM t) + 1 UNION ALL SELECT 2": "(SELECT max(n) FROM t) + 1",
		"SELECT *, (SELECT max(n) FROM t) + 1 FROM t":          "ts|n|msg|column_4",
		"SELECT (SELECT max(n) FROM t) + 1 AS x FROM t":        "x",
		"SELECT (SELECT max(n) FROM t WHERE msg = '" + strings.Repeat("x", 300) +
			"') + 1": "(SELECT max(n) FROM t WHERE msg = '" + strings.Repeat("x",
			200-len("(SELECT max(n) FROM t WHERE msg = '")) + "…",
	} {
		a, err := ask(e, sql, tab)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var names []string
		for _, f := range a.schema.Fields() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, "|"); got != want {
			t.Errorf("%.80s: columns\n%s, want\n%s", sql, got, want)
		}
	}
}
