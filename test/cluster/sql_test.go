package cluster

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sql posts SQL text and returns the answer.
func (n *Node) sql(t *testing.T, params, sql string) *Answer {
	t.Helper()
	a, err := n.ask("/v1/sql?"+params, "application/sql", sql)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestLongLiterals finds doubles of 17 digits by the digits with which they were sent and are printed, in every kind
// of statement that has conditions.
func TestLongLiterals(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	must := func(sql string) string {
		t.Helper()
		a := n.sql(t, "", sql)
		if a.Status != 200 {
			t.Fatalf("%s: %d %s", sql, a.Status, a.Body)
		}
		return string(a.Body)
	}
	must(`CREATE TABLE f (ts TIMESTAMP(3) TIME INDEX, k DOUBLE, v DOUBLE, PRIMARY KEY (k))`)
	digits := []string{"0.21206708667586938", "0.8444218515250481", "123456.78901234567", "0.3333333333333333148"}
	for i, d := range digits {
		must(fmt.Sprintf(`INSERT INTO f VALUES (%d, %s, -%s), (%d, '-%s', '%s')`, 2*i+1, d, d, 2*i+2, d, d))
	}
	for i, d := range digits {
		for _, condition := range []string{
			"k = #", "k IN (#, 7)", "k BETWEEN # AND #", "v = -#", "v IN (7, -#)", "v BETWEEN -# AND -#", "NOT k <> #",
			"(k, v) = (#, -#)", "k >= # AND k <= #",
		} {
			condition = strings.ReplaceAll(condition, "#", d)
			if body := must("SELECT epoch_ms(ts) AS n FROM f WHERE " + condition); !strings.Contains(body,
				fmt.Sprintf(`"rows":[[%d]]`, 2*i+1)) {
				t.Errorf("%s: %s", condition, body)
			}
			if i > 1 {
				continue // the limit on tails of a client
			}
			lines := n.follow(t, "table=f&since=1000000h&where="+url.QueryEscape(condition))
			if !lines.Scan() || !strings.Contains(lines.Text(), fmt.Sprintf(`"ts":"1970-01-01T00:00:00.00%dZ"`, 2*i+1)) {
				t.Errorf("tail %s: %s", condition, lines.Text())
			}
		}
	}
	for i, condition := range []string{"k = #", "k IN (7, #)", "k BETWEEN # AND #", "NOT k <> #"} {
		condition = strings.ReplaceAll(condition, "#", digits[i])
		if body := must("DELETE FROM f WHERE " + condition); !strings.Contains(body, `"affectedrows":1`) {
			t.Errorf("DELETE %s: %s", condition, body)
		}
	}
}

// TestStatements runs statements in order on one server and checks each answer.
func TestStatements(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	for _, c := range []struct {
		sql, params string
		status      int    // default 200
		code        int    // the error code
		want        string // rows as JSON; "" for a statement without rows
	}{
		{sql: `SELECT 1 AS a, 'x' AS b, 1.5::DOUBLE AS c, NULL AS d, true AS e`, want: `[[1,"x",1.5,null,true]]`},
		{sql: `SHOW DATABASES LIKE 'pub%'`, want: `[["public"]]`},
		{sql: `CREATE DATABASE shop WITH (ttl='7d')`},
		{sql: `CREATE DATABASE shop`, status: 400, code: 4011},
		{sql: `CREATE DATABASE IF NOT EXISTS shop`},
		{
			sql: `CREATE TABLE orders (ts TIMESTAMP(3) NOT NULL, host STRING NULL, total DOUBLE NULL, n INT NULL ` +
				`DEFAULT 3, TIME INDEX (ts), PRIMARY KEY (host)) WITH ('append_mode'='true','ttl'='forever')`, params: "db=shop",
		},
		{sql: `CREATE TABLE orders (ts TIMESTAMP(3) TIME INDEX)`, params: "db=shop", status: 400, code: 4000},
		{sql: `SHOW TABLES FROM shop`, want: `[["orders"]]`},
		{
			sql: `DESC orders`, params: "db=shop",
			want: `[["ts","TimestampMillisecond","PRI","NO","","TIMESTAMP"],["host","String","PRI","YES","","TAG"],` +
				`["total","Float64","","YES","","FIELD"],["n","Int32","","YES","3","FIELD"]]`,
		},
		{
			sql:    `INSERT INTO orders (ts, host, total) VALUES (1700000000000, 'a', 1.5), ('2023-11-14T22:13:21Z', 'b', 2)`,
			params: "db=shop",
		},
		{
			sql:  `SELECT ts, host, total, n FROM shop.orders ORDER BY ts`,
			want: `[[1700000000000,"a",1.5,3],[1700000001000,"b",2,3]]`,
		},
		{sql: `SELECT o.host FROM shop.orders o JOIN shop.orders p ON o.host = p.host WHERE p.total > 1.6`, want: `[["b"]]`},
		{sql: `SELECT shop.orders.host FROM shop.orders WHERE orders.total < 2`, want: `[["a"]]`},
		{sql: `WITH x AS (SELECT * FROM orders) SELECT count(*) FROM x`, params: "db=shop", want: `[[2]]`},
		{sql: `ALTER TABLE orders ADD COLUMN note STRING`, params: "db=shop"},
		{sql: `SELECT note FROM orders LIMIT 1`, params: "db=shop", want: `[[null]]`},
		{sql: `ALTER TABLE orders DROP COLUMN ts`, params: "db=shop", status: 400, code: 1004},
		{sql: `ALTER TABLE orders SET 'ttl'='1d'`, params: "db=shop"},
		{sql: `SELECT count(*) FROM orders`, params: "db=shop", want: `[[0]]`},
		{sql: `ALTER TABLE orders UNSET 'ttl'`, params: "db=shop"},
		{sql: `SELECT count(*) FROM orders`, params: "db=shop", want: `[[0]]`},
		{sql: `ALTER TABLE orders SET 'ttl'='forever'`, params: "db=shop"},
		{sql: `SELECT count(*) FROM orders`, params: "db=shop", want: `[[2]]`},
		{sql: `SELECT * FROM missing`, status: 400, code: 4001},
		{sql: `SELECT * FROM nowhere.t`, status: 400, code: 4004},
		{sql: `SELECT nope FROM shop.orders`, status: 400, code: 4002},
		{sql: `SELEC 1`, status: 400, code: 2000},
		{sql: `SELECT * FROM`, status: 400, code: 2000},
		{sql: `DROP DATABASE shop`, status: 400, code: 1004},
		{sql: `TRUNCATE TABLE shop.orders`},
		{sql: `SELECT count(*) FROM shop.orders`, want: `[[0]]`},
		{sql: `DROP TABLE shop.orders`},
		{sql: `DROP TABLE shop.orders`, status: 400, code: 4001},
		{sql: `DROP TABLE IF EXISTS shop.orders`},
		{sql: `DROP DATABASE shop`},
		{
			sql:  `SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('public','shop')`,
			want: `[["public"]]`,
		},
	} {
		a := n.sql(t, c.params, c.sql)
		status := c.status
		if status == 0 {
			status = 200
		}
		if a.Status != status {
			t.Errorf("%s: status %d, want %d: %s", c.sql, a.Status, status, a.Body)
			continue
		}
		var answer struct {
			Code   int `json:"code"`
			Output []struct {
				AffectedRows *int `json:"affectedrows"`
				Records      *struct {
					Rows []any `json:"rows"`
				} `json:"records"`
			} `json:"output"`
		}
		if err := json.Unmarshal(a.Body, &answer); err != nil {
			t.Fatalf("%s: %v", a.Body, err)
		}
		switch {
		case answer.Code != c.code:
			t.Errorf("%s: code %d, want %d: %s", c.sql, answer.Code, c.code, a.Body)
		case status != 200:
		case c.want == "":
			if len(answer.Output) != 1 || answer.Output[0].AffectedRows == nil {
				t.Errorf("%s: answer %s, want affected rows", c.sql, a.Body)
			}
		case len(answer.Output) != 1 || answer.Output[0].Records == nil:
			t.Errorf("%s: answer %s, want rows", c.sql, a.Body)
		default:
			rows, err := json.Marshal(answer.Output[0].Records.Rows)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, c.want), decode(t, string(rows))); diff != "" {
				t.Errorf("%s: rows differ (-want +got):\n%s", c.sql, diff)
			}
		}
	}
}

// TestHostileQueries sends statements that must not access the host.
func TestHostileQueries(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	if err := n.Ingest("t", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`COPY (SELECT 1) TO '/tmp/x.csv'`, `COPY t FROM '/etc/passwd'`, `INSTALL httpfs`, `LOAD httpfs`,
		`SET memory_limit='1TB'`, `RESET threads`, `PRAGMA database_list`, `ATTACH '/tmp/x.db'`, `DETACH memory`,
		`EXPORT DATABASE '/tmp/x'`, `IMPORT DATABASE '/tmp/x'`, `CALL pragma_version()`, `CHECKPOINT`, `VACUUM`,
		`SELECT * FROM read_csv('/etc/passwd')`, `SELECT * FROM read_text('/etc/passwd')`,
		`SELECT * FROM read_blob('/etc/*')`,
		`SELECT * FROM glob('/etc/*')`, `SELECT * FROM '/etc/passwd'`, `SELECT * FROM "/etc/passwd.csv"`,
		`SELECT * FROM read_parquet('` + n.Dir + `/shards/1/segments/*.parquet')`, `SELECT getenv('HOME')`,
		`SELECT * FROM 'https://example.invalid/x.parquet'`, `SELECT * FROM duckdb_settings()`,
		`SELECT * FROM query('SELECT 1')`,
		`SELECT * FROM query_table('t')`, `SELECT * FROM sniff_csv('/etc/passwd')`,
		`SELECT current_setting('temp_directory')`,
		`WITH x AS (SELECT * FROM read_csv('/etc/passwd')) SELECT * FROM x`, `SELECT (SELECT count(*) FROM glob('/*'))`,
		`EXPLAIN ANALYZE COPY t TO '/tmp/x'`, `EXPLAIN SELECT * FROM read_text('/etc/passwd')`,
		`CREATE MACRO m() AS TABLE SELECT * FROM glob('/*')`,
		`SELECT 1; COPY (SELECT 1) TO '/tmp/x'`, `/* SELECT */ COPY (SELECT 1) TO '/tmp/x'`, `FROM read_text('/etc/passwd')`,
		`FROM glob('/*') SELECT count(*)`, `DELETE FROM t`, `DELETE FROM t WHERE true`, `UPDATE t SET a = 2`,
		`CREATE VIEW v AS SELECT 1`, `PREPARE p AS SELECT 1`,
	} {
		a := n.sql(t, "", sql)
		if a.Status != 400 {
			t.Errorf("%s: status %d, want 400: %.200s", sql, a.Status, a.Body)
		}
	}
	if got := fmt.Sprint(n.Rows(t, `SELECT a FROM t`)); got != "[[1]]" {
		t.Errorf("after these statements the table has %s, want [[1]]", got)
	}
}

// TestFormats requests one result in every format.
func TestFormats(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	if err := n.Ingest("f", []byte(`{"a":1,"s":"x,\"y\"","f":0.5}`+"\n"+`{"a":2}`)); err != nil {
		t.Fatal(err)
	}
	q := `SELECT a, s, f FROM f ORDER BY a`
	for format, want := range map[string]string{
		"ndjson":               `{"a":1,"s":"x,\"y\"","f":0.5}` + "\n" + `{"a":2,"s":null,"f":null}` + "\n",
		"csv":                  "1,\"x,\"\"y\"\"\",0.5\r\n2,,\r\n",
		"csvWithNames":         "a,s,f\r\n1,\"x,\"\"y\"\"\",0.5\r\n2,,\r\n",
		"csvWithNamesAndTypes": "a,s,f\r\nInt64,String,Float64\r\n1,\"x,\"\"y\"\"\",0.5\r\n2,,\r\n",
	} {
		a := n.sql(t, "format="+format, q)
		if string(a.Body) != want || a.Status != 200 {
			t.Errorf("%s: %d %q, want %q", format, a.Status, a.Body, want)
		}
	}
	if a := n.sql(t, "format=parquet", q); a.Status != 200 || !strings.HasPrefix(string(a.Body), "PAR1") {
		t.Errorf("parquet: %d %.40q", a.Status, a.Body)
	}
	if a := n.sql(t, "format=arrow", q); a.Status != 200 || len(a.Body) < 100 {
		t.Errorf("arrow: %d, %d bytes", a.Status, len(a.Body))
	}
	if a := n.sql(t, "format=table", q); a.Status != 200 || !strings.Contains(string(a.Body), "0.5") {
		t.Errorf("table: %d %q", a.Status, a.Body)
	}
	if a := n.sql(t, "format=xml", q); a.Status != 400 {
		t.Errorf("xml: %d %q", a.Status, a.Body)
	}
	if a := n.sql(t, "limit=1", q); !strings.Contains(string(a.Body), `"total_rows":1`) {
		t.Errorf("limit=1: %s", a.Body)
	}
	a, err := n.Do("GET", "/v1/sql?sql="+url.QueryEscape("SELECT 1;SELECT 2"), nil)
	if err != nil || strings.Count(string(a.Body), `"records"`) != 2 {
		t.Errorf("two statements: %v %s", err, a.Body)
	}
}
