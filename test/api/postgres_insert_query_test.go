package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cordwood/test/cluster"
)

// TestPostgresInsertQuery checks INSERT with a query over PostgreSQL's protocol.
func TestPostgresInsertQuery(t *testing.T) {
	t.Parallel()
	c := postgres(t)
	ctx := t.Context()
	exec := func(sql string, args ...any) (string, error) {
		tag, err := c.Exec(ctx, sql, args...)
		return tag.String(), err
	}
	must := func(want, sql string, args ...any) {
		t.Helper()
		if got, err := exec(sql, args...); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", sql, got, err, want)
		}
	}
	count := func(sql string) (n int64) {
		t.Helper()
		if err := c.QueryRow(ctx, sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	must("CREATE TABLE", `CREATE TABLE a (ts TIMESTAMP(9) TIME INDEX, host TEXT, n BIGINT, d DOUBLE PRECISION, j JSON,
		b BYTEA, ok BOOLEAN, i INT DEFAULT 7) WITH (append_mode='true')`)
	must("INSERT 0 25000", `INSERT INTO a SELECT timestamptz '2026-01-01' + x * interval '1 second', 'é''' || x, x,
		x / 4.0, json_build_object('a', x), '\x00ff'::bytea, x % 2 = 0, x FROM generate_series(1, 25000) x`)
	// The table is copied into itself once, with values of all types.
	must("INSERT 0 25000", "insert into public.a (select * from a) on conflict do nothing")
	if n := count("SELECT count(*) FROM (SELECT ts, host, n, d, j::text, b, ok, i FROM a GROUP BY ALL " +
		"HAVING count(*) = 2 AND n = i AND host = 'é''' || n AND d = n / 4.0)"); n != 25_000 {
		t.Errorf("%d rows are there twice", n)
	}
	// Parameters have the types of the columns, or of the query.
	described, err := c.Prepare(ctx, "p",
		"/* $1 */ INSERT INTO a (ts, host, n) SELECT $1, $2, n + $3::bigint FROM a WHERE n = $4 LIMIT 1")
	if err != nil || fmt.Sprint(described.ParamOIDs) != "[1184 25 20 20]" || len(described.Fields) != 0 {
		t.Errorf("%+v, %v", described, err)
	}
	must("INSERT 0 1", "p", "2026-02-01 00:00:00Z", "new", 5, 7)
	if n := count("SELECT n * 10 + i FROM a WHERE host = 'new'"); n != 127 {
		t.Errorf("n and the default are %d", n)
	}
	must("INSERT 0 0", "INSERT INTO a (ts) SELECT ts FROM a WHERE false")
	must("INSERT 0 2", "INSERT INTO a (ts, host) (VALUES (now(), 'v'), (now(), 'w'))")
	must("INSERT 0 1", "INSERT INTO a (ts, d) WITH w AS (SELECT 2::numeric(5,2) AS x) SELECT now(), x FROM w")
	// Errors have their positions in the statement, and name the rows that stay.
	before := count("SELECT count(*) FROM a")
	for sql, want := range map[string]string{
		"INSERT INTO a (ts, host) SELECT now(), nosuch FROM a":             `42703 40 there is no column "nosuch"`,
		"INSERT INTO a (ts, host) SELECT now(), 'x' FROM nosuch":           "42P01 49 table public.nosuch does not exist",
		"INSERT INTO a (ts, host) SELECT now()":                            "42601 0 the query of INSERT has 1 column for 2",
		"INSERT INTO a (ts, nosuch) SELECT now(), 1":                       "42703",
		"INSERT INTO a (ts, host) SELECT now(), b FROM a":                  `42804 0 INSERT INTO public.a: column "host"`,
		"INSERT INTO a (ts) SELECT now() RETURNING n":                      "0A000",
		"WITH w AS (SELECT 1) INSERT INTO a (ts) SELECT now() FROM w":      "0A000",
		"EXPLAIN INSERT INTO a SELECT * FROM a":                            "0A000",
		"INSERT INTO pg_catalog.pg_class SELECT 1":                         "0A000",
		"INSERT INTO a (ts, n) SELECT now(), 1.5":                          "22023",
		"INSERT INTO a (ts, n) SELECT now(), * FROM read_csv('/etc/x')":    "0A000",
		"INSERT INTO a (ts, n) SELECT now(), 1; SELECT 1/'x'":              "",
		"INSERT INTO a (ts, i) SELECT ts, n * 100000 FROM a ORDER BY n, n": "22003 0 40000 rows were stored and will remain",
	} {
		_, err := c.PgConn().Exec(ctx, sql).ReadAll()
		var told *pgconn.PgError
		if !errors.As(err, &told) ||
			!strings.HasPrefix(fmt.Sprintf("%s %d %s", told.Code, told.Position, told.Message), want) {
			t.Errorf("%s: %+v, want %s", sql, told, want)
		}
	}
	if n := count("SELECT count(*) FROM a"); n != before+40_001 {
		t.Errorf("%d rows were stored by statements that failed", n-before)
	}
	// A read-only transaction stores nothing.
	if _, err := c.PgConn().Exec(ctx, "BEGIN READ ONLY").ReadAll(); err != nil {
		t.Fatal(err)
	}
	if _, err := exec("INSERT INTO a SELECT * FROM a", pgx.QueryExecModeSimpleProtocol); err == nil ||
		!strings.Contains(err.Error(), "25006") {
		t.Error(err)
	}
}

// TestInsertQueryOverHTTP checks INSERT with a query at /v1/sql.
func TestInsertQueryOverHTTP(t *testing.T) {
	t.Parallel()
	n := cluster.New(t)
	n.Start()
	for _, step := range []struct {
		sql, key string
		status   int
		want     string
	}{
		{sql: "CREATE TABLE q (ts TIMESTAMP(3) TIME INDEX, n INT) WITH (append_mode='true')", status: 200},
		{sql: "INSERT INTO q SELECT now(), i FROM generate_series(1, 12000) t(i)", status: 200, want: `"affectedrows":12000`},
		{sql: "INSERT INTO q SELECT * FROM q", status: 200, want: `"affectedrows":12000`},
		{
			sql:    "INSERT INTO q SELECT now(), i * 200000 FROM generate_series(1, 12000) t(i)",
			status: 400, want: "10000 rows were",
		},
		{sql: "INSERT INTO q SELECT now(), 1", key: "k", status: 400, want: "Idempotency-Key"},
		{sql: "SELECT count(*) FROM q", status: 200, want: "34000"},
	} {
		header := []string{"Content-Type", "application/sql"}
		if step.key != "" {
			header = append(header, "Idempotency-Key", step.key)
		}
		a, err := n.Do("POST", "/v1/sql?limit=1", strings.NewReader(step.sql), header...)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != step.status || !strings.Contains(string(a.Body), step.want) {
			t.Errorf("%s: %d %s", step.sql, a.Status, a.Body)
		}
	}
}

// TestPostgresInsertQueryCancelled checks that a statement that the client cancels, or whose time is up, says how many
// rows stay.
func TestPostgresInsertQueryCancelled(t *testing.T) {
	t.Parallel()
	c := postgres(t)
	ctx := t.Context()
	const table = "CREATE TABLE a (ts TIMESTAMP(9) TIME INDEX, n BIGINT) WITH (append_mode='true')"
	if _, err := c.Exec(ctx, table); err != nil {
		t.Fatal(err)
	}
	watcher, err := pgx.ConnectConfig(ctx, c.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watcher.Close(ctx) }()
	count := func() (n int64) {
		if err := watcher.QueryRow(ctx, "SELECT count(*) FROM a").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const endless = "INSERT INTO a SELECT now(), x FROM generate_series(1, 1000000000) x"
	for name, stop := range map[string]func(before int64){
		"canceling statement due to user request": func(before int64) {
			for count() == before { // until it has stored rows
			}
			if err := c.PgConn().CancelRequest(ctx); err != nil {
				t.Error(err)
			}
		},
		"canceling statement due to statement timeout": func(int64) {},
	} {
		before := count()
		sql := endless
		if strings.HasSuffix(name, "timeout") {
			sql = "SET statement_timeout = '2s'; " + sql
		}
		done := make(chan error, 1)
		go func() {
			_, err := c.PgConn().Exec(ctx, sql).ReadAll()
			done <- err
		}()
		stop(before)
		var told *pgconn.PgError
		if err := <-done; !errors.As(err, &told) || told.Code != "57014" || told.Message != name ||
			!strings.Contains(told.Detail, fmt.Sprint(count()-before)) {
			t.Errorf("%s: %s: %s, but %d rows were stored", name, told, told.Detail, count()-before)
		}
		if _, err := c.Exec(ctx, "SET statement_timeout = 0"); err != nil {
			t.Error(err)
		}
	}
}
