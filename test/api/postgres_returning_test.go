package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresReturning checks INSERT with RETURNING and ON CONFLICT over PostgreSQL's protocol.
func TestPostgresReturning(t *testing.T) {
	t.Parallel()
	c := postgres(t)
	ctx := t.Context()
	if _, err := c.PgConn().Exec(ctx, `CREATE TABLE k (ts TIMESTAMP(6) TIME INDEX, id BIGINT, v TEXT, n INT DEFAULT 3,
		PRIMARY KEY (id)); CREATE TABLE "Log" (ts TIMESTAMP(9) TIME INDEX DEFAULT now(), s TEXT, d DOUBLE, j JSON)
		WITH (append_mode='true')`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	// Parameters, the types of the columns, and where they come from.
	described, err := c.Prepare(ctx, "p", `INSERT INTO "public"."Log" (s, d) VALUES ($1, $2) ON CONFLICT DO NOTHING
		RETURNING "public"."Log"."s", d * 2, j, upper(s) AS u`)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range described.Fields {
		names = append(names, fmt.Sprintf("%s:%d:%d", f.Name, f.DataTypeOID, f.TableAttributeNumber))
	}
	if got := strings.Join(names, " "); got != "s:25:2 ?column?:701:0 j:114:4 u:25:0" {
		t.Error(got)
	}
	var s, u string
	var d float64
	var j *string
	err = c.QueryRow(ctx, "p", "é'", 1.5).Scan(&s, &d, &j, &u)
	if err != nil || s != "é'" || d != 3 || j != nil || u != "É'" {
		t.Error(s, d, j, u, err)
	}
	// The tag counts the rows. A fetch in parts, and COMMIT, change nothing.
	rows, err := c.Query(ctx, `INSERT INTO "Log" (s) VALUES ('a'), ('b'), ('c')
		RETURNING ts > now() - INTERVAL '1 hour' AS recent, s`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		var recent bool
		var s string
		err := r.Scan(&recent, &s)
		return fmt.Sprint(recent, s), err
	})
	if err != nil || strings.Join(got, " ") != "truea trueb truec" || rows.CommandTag().String() != "INSERT 0 3" {
		t.Error(got, rows.CommandTag(), err)
	}
	// Many rows keep their order.
	const many = 20_000
	var b strings.Builder
	b.WriteString(`INSERT INTO "Log" (d) VALUES (0)`)
	for i := range many {
		fmt.Fprintf(&b, ", (%d)", i+1)
	}
	rows, err = c.Query(ctx, b.String()+" RETURNING d", pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	values, err := pgx.CollectRows(rows, pgx.RowTo[float64])
	for i, v := range values {
		if v != float64(i) {
			t.Fatalf("row %d is %v", i, v)
		}
	}
	if err != nil || len(values) != many+1 {
		t.Error(len(values), err)
	}
	upsert := func(v string) {
		t.Helper()
		tag, err := c.Exec(ctx, "INSERT INTO k (ts, id, v) VALUES ('2026-01-05', 1, $1) ON CONFLICT (id, ts) DO UPDATE "+
			`SET v = excluded.v, "n" = "excluded"."n"`, v)
		if err != nil || tag.RowsAffected() != 1 {
			t.Error(tag, err)
		}
	}
	upsert("old")
	upsert("new")
	stored, err := lastAnswer(ctx, c.PgConn(), "SELECT v, n FROM k", nil)
	if err != nil || len(stored.rows) != 1 || string(stored.rows[0][0]) != "new" {
		t.Errorf("%q %v", stored.rows, err)
	}
	for sql, want := range map[string]string{
		"INSERT INTO k (id) VALUES (1) RETURNING count(*)":                         "42803",
		"INSERT INTO k (id) VALUES (7) RETURNING id, nope":                         "42703 at 45",
		"INSERT INTO k (id) VALUES (7) RETURNING CAST('x' || id AS INT)":           "22P02",
		"INSERT INTO k (id) VALUES (7) RETURNING (SELECT 1)":                       "0A000",
		"INSERT INTO k (id) VALUES (7) RETURNING unnest([1, 2])":                   "0A000",
		"INSERT INTO k (id) VALUES (7) ON CONFLICT DO NOTHING":                     "0A000",
		"INSERT INTO k (id) VALUES (7) ON CONFLICT (id) DO NOTHING":                "42P10",
		"INSERT INTO k (id) VALUES (7) ON CONFLICT (id, ts) DO UPDATE SET v = 'x'": "0A000",
		`INSERT INTO "Log" (s) VALUES ('x') ON CONFLICT (ts) DO NOTHING`:           "42P10",
		`INSERT INTO k (ts, id) VALUES ('2026-01-05', 7), ('2026-01-05', 7) ON CONFLICT (id, ts) DO UPDATE ` +
			`SET v = excluded.v, n = excluded.n`: "21000",
	} {
		for mode, ask := range map[string]func() error{
			"simple": func() error { _, err := c.PgConn().Exec(ctx, sql).ReadAll(); return err },
			"extended": func() error {
				return c.PgConn().ExecParams(ctx, sql, nil, nil, nil, nil).Read().Err
			},
		} {
			var failed *pgconn.PgError
			if err := ask(); !errors.As(err, &failed) {
				t.Errorf("%s, %s: %v", sql, mode, err)
				continue
			}
			got := failed.Code
			if failed.Position > 0 && strings.Contains(want, " at ") {
				got += fmt.Sprintf(" at %d", failed.Position)
			}
			if got != want {
				t.Errorf("%s, %s: %s (%s), want %s", sql, mode, got, failed.Message, want)
			}
		}
	}
	left, err := lastAnswer(ctx, c.PgConn(), "SELECT 1 FROM k WHERE id = 7", nil)
	if err != nil || len(left.rows) > 0 {
		t.Errorf("a statement that failed stored %d rows (%v)", len(left.rows), err)
	}
}
