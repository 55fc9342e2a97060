package engine

import (
	"strings"
	"testing"

	"cordwood/shard/query"
)

// TestReasonsHelp checks the reasons why statements are not split, and that what they suggest is split.
func TestReasonsHelp(t *testing.T) {
	dir := t.TempDir()
	tab, _ := webServerLogs(t, dir, 100)
	e := openEngine(t, dir)
	split := func(sql string) *query.Split {
		t.Helper()
		out, err := e.Split(t.Context(), &query.Request{SQL: sql, Database: "public", Tables: []query.Table{tab}})
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return out
	}
	for _, test := range []struct{ sql, reason, instead string }{
		{
			"SELECT host, max(COLUMNS(['status', 'bytes'])) FROM logs GROUP BY host", "an aggregate for each of them",
			"SELECT host, max(status), max(bytes) FROM logs GROUP BY host",
		},
		{"SELECT host FROM logs LIMIT 10%", "write the number of rows", "SELECT host FROM logs LIMIT 10"},
		{"SELECT host FROM logs LIMIT 1 + 2", "write the number", "SELECT host FROM logs LIMIT 3"},
		{"SELECT host FROM logs ORDER BY ts LIMIT 20000000", "leave out LIMIT and ORDER BY", "SELECT host FROM logs"},
		{
			"SELECT host FROM logs ORDER BY ts LIMIT 20000000", "write a smaller one",
			"SELECT host FROM logs ORDER BY ts LIMIT 9",
		},
		{
			"SELECT md5(host), count(*) FROM logs GROUP BY host", "add the call to GROUP BY",
			"SELECT md5(host), count(*) FROM logs GROUP BY host, md5(host)",
		},
		{
			"SELECT md5(max(host)) FROM logs", "apply it to the values of rows", "SELECT max(md5(host)) FROM logs",
		},
		{ // the aggregate alone would be split
			"SELECT host, md5(host), string_agg(path, ',' ORDER BY ts) FROM logs GROUP BY host", "the function md5",
			"SELECT host, md5(host), string_agg(path, ',' ORDER BY ts) FROM logs GROUP BY host, md5(host)",
		},
		{
			"SELECT json_extract(any_value(path), '$.[1]') FROM logs", "apply it to the values of rows",
			"SELECT any_value(json_extract(path, '$.[1]')) FROM logs",
		},
		{
			"SELECT host COLLATE NOCASE, count(*) FROM logs GROUP BY 1", "by lower(x)",
			"SELECT lower(host), count(*) FROM logs GROUP BY 1",
		},
		{
			"SELECT host, list_transform(list(bytes), lambda x: x + 1) FROM logs GROUP BY host",
			"for each row, before the aggregate",
			"SELECT host, list(bytes + 1) FROM logs GROUP BY host",
		},
		{
			"SELECT md5(host) FROM (SELECT host, count(*) FROM logs GROUP BY host)", "call it within that query",
			"SELECT m FROM (SELECT md5(host) AS m, count(*) FROM logs GROUP BY m)",
		},
		{"SELECT COLUMNS(c -> c LIKE 'h%') FROM logs LIMIT 3", "write the columns", "SELECT host FROM logs LIMIT 3"},
		{"SELECT avg(ts) FROM logs", "average epoch_ns(x)", "SELECT avg(epoch_ns(ts)) FROM logs"},
		{
			"SELECT count(DISTINCT (host, path)) FROM logs", "count the rows of SELECT DISTINCT",
			"SELECT count(*) FROM (SELECT DISTINCT host, path FROM logs)",
		},
		{
			"SELECT count(*) FROM logs, (VALUES (200), (404)) AS v(s) WHERE status = s", "write x IN (…)",
			"SELECT count(*) FROM logs WHERE status IN (200, 404)",
		},
		{
			"SELECT n, m, current_date FROM (SELECT count(*) AS n FROM logs) AS a, (SELECT max(host) AS m FROM logs) AS b",
			"use it within them",
			"SELECT * FROM (SELECT count(*) AS n FROM logs) AS a, (SELECT max(host) AS m, current_date FROM logs) AS b",
		},
		{
			"SELECT host FROM logs WHERE (host, path) IN (SELECT host, path FROM logs WHERE status = 200)",
			"select one column of numbers, texts or times", "SELECT host FROM logs WHERE path IN (SELECT path FROM logs)",
		},
		{
			"SELECT DISTINCT host, count(*) FROM logs GROUP BY host", "if all groups are selected, leave it out",
			"SELECT host, count(*) FROM logs GROUP BY host",
		},
	} {
		reason := split(test.sql).Reason
		if !strings.Contains(reason, test.reason) || strings.Contains(reason, "\n") {
			t.Errorf("%s: the reason is %q, want one with %q", test.sql, reason, test.reason)
		}
		if reason := split(test.instead).Reason; reason != "" {
			t.Errorf("%s is not split: %s", test.instead, reason)
		}
	}
}
