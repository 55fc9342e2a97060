package api

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestNamesOfEveryCharacter uses a database, a table and a column whose names contain every allowed character,
// wherever the API accepts a name.
func TestNamesOfEveryCharacter(t *testing.T) {
	t.Parallel()
	s := start(t)
	const database, table, column = "d_.-9.x", "t_:-.@#9", `c "."; -- ä'`
	quoted := `"` + database + `"."` + table + `"`
	sql := func(text, want string) {
		t.Helper()
		a := s.send(t, request{
			method: "POST", path: "/v1/sql", body: text, header: []string{"Content-Type", "application/sql"},
		})
		if a.status != 200 || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %d %s, want %q", text, a.status, a.body, want)
		}
	}
	send := func(r request, want string) {
		t.Helper()
		if a := s.send(t, r); a.status != 200 || !strings.Contains(string(a.body), want) {
			t.Errorf("%s %s: %d %s, want %q", r.method, r.path, a.status, a.body, want)
		}
	}
	name := "db=" + url.QueryEscape(database) + "&table=" + url.QueryEscape(table)
	c := `"` + strings.ReplaceAll(column, `"`, `""`) + `"`
	sql(`CREATE DATABASE "`+database+`"`, "")
	sql(`CREATE TABLE `+quoted+` (at TIMESTAMP(3) TIME INDEX, host STRING, `+c+
		` BIGINT, PRIMARY KEY (host)) WITH ('append_mode'='false')`, "")
	send(request{
		method: "POST", path: "/v1/ingest?pipeline_name=svc_identity&custom_time_index=at;epoch;ms&" + name,
		header: []string{"Content-Type", asJSON},
		body:   `[{"at":1700000000000,"host":"a","c \".\"; -- ä'":1},{"at":1700000000001,"host":"b","c \".\"; -- ä'":2}]`,
	}, "")
	sql(`INSERT INTO `+quoted+` (at, host, `+c+`) VALUES (1700000000002, 'c', 3)`, `"affectedrows":1`)
	sql(`SELECT sum(`+c+`) AS s FROM `+quoted+` WHERE `+c+` > 1`, `[[5]]`)
	sql(`SELECT sum("`+table+`".`+c+`) AS s FROM `+quoted, `[[6]]`)
	sql(`SELECT x.`+c+` FROM `+quoted+` AS x ORDER BY at DESC LIMIT 1`, `[[3]]`)
	sql(`SHOW TABLES FROM "`+database+`"`, table)
	sql(`DESCRIBE `+quoted, `; -- ä'`)
	sql(`SHOW CREATE TABLE `+quoted, `; -- ä'`)
	sql(`SELECT count(*) FROM information_schema.columns WHERE table_schema = '`+database+`' AND table_name = '`+table+
		`'`, `[[3]]`)
	send(request{
		method: "GET", path: "/v1/sql?sql=" + url.QueryEscape(`SELECT count(*) AS n FROM "`+table+`"`) + "&db=" +
			url.QueryEscape(database),
	}, `[[3]]`)
	send(request{
		method: "GET", path: "/v1/tail?since=100000h&" + name + "&where=" + url.QueryEscape(c+" = 2"),
		header: []string{"x-svc-timeout", "2s"},
	}, `"host":"b"`)
	sql(`ALTER TABLE `+quoted+` ADD COLUMN "`+table+`" STRING`, "")
	sql(`DELETE FROM `+quoted+` WHERE host = 'a'`, `"affectedrows":1`)
	a := s.send(t, request{
		method: "POST", path: "/v1/cluster/operations",
		body:   `{"kind":"table-partition","table":` + strconv.Quote(quoted) + `,"partitions":2}`,
		header: []string{"Content-Type", asJSON},
	})
	if a.status != 200 {
		t.Errorf("table-partition: %d %s", a.status, a.body)
	}
	sql(`SELECT count(*) FROM `+quoted, `[[2]]`)
	sql(`TRUNCATE TABLE `+quoted, "")
	sql(`DROP TABLE `+quoted, "")
	sql(`DROP DATABASE "`+database+`"`, "")
}
