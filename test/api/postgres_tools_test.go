package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestStatementsOfTools sends statements of ORMs and BI tools that were refused, or that changed what the user had not
// asked to change.
func TestStatementsOfTools(t *testing.T) {
	t.Parallel()
	c := postgres(t).PgConn()
	answer := func(sql string) string {
		t.Helper()
		results, err := c.Exec(t.Context(), sql).ReadAll()
		if err != nil {
			var e *pgconn.PgError
			if errors.As(err, &e) {
				return e.Code
			}
			t.Fatal(err)
		}
		var rows []string
		for _, r := range results {
			for _, row := range r.Rows {
				rows = append(rows, string(row[0]))
			}
		}
		return strings.Join(rows, " ")
	}
	user := answer("SELECT current_user")
	for _, tt := range [][3]string{
		{"TypeORM", `CREATE TABLE ev (ts timestamptz NOT NULL, id bigint NOT NULL, name varchar(20), seen timestamptz,
			PRIMARY KEY (ts, id)); INSERT INTO ev (ts, id, name) VALUES ('2026-01-05 00:00:00Z', 1, 'precious')`, ""},
		{
			"TypeORM's synchronize", `BEGIN; ALTER TABLE "ev" DROP COLUMN "name"; ALTER TABLE "ev" ADD "name" varchar(20);
			COMMIT`, "25001",
		},
		{"TypeORM", "ROLLBACK; SELECT name FROM ev", "precious"},
		{"asyncpg's pool", "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *; RESET ALL;", ""},
		{`psql's \password`, "SHOW password_encryption", "scram-sha-256"},
		{"Grafana", "SELECT user", user},
		{"Superset", "SELECT sum(count) AS c FROM (SELECT id, count(*), max(ts) AS m FROM ev GROUP BY id) AS v", "1"},
		{"Superset", "WITH a AS (SELECT lower(name) FROM ev GROUP BY lower(name)) SELECT lower FROM a", "precious"},
		{
			"Grafana", "SELECT count(*) FROM generate_series('2026-01-05 08:00:00Z'::timestamptz, '2026-01-05 08:05:00Z', " +
				"'1 minute') g", "6",
		},
		{
			"PostgreSQL's manual", "SELECT date_bin('5 minutes', ts, '2026-01-01 00:01Z') FROM ev",
			"2026-01-04 23:56:00+00",
		},
		{"knex", `ALTER TABLE "ev" RENAME "name" TO "called"; SELECT called FROM ev`, "precious"},
		{"knex", `TRUNCATE "ev" RESTART IDENTITY; SELECT count(*) FROM ev`, "0"},
		{"alone", `ALTER TABLE "ev" DROP COLUMN "called"; SELECT count(*) FROM ev`, "0"},
		{
			"a column", `CREATE TABLE o (ts timestamptz, "user" text); INSERT INTO o VALUES ('2026-01-05 00:00:00Z', 'u');
			SELECT user FROM o`, "u",
		},
	} {
		if got := answer(tt[1]); strings.TrimSpace(got) != tt[2] {
			t.Errorf("%s: %s: %q, want %q", tt[0], tt[1], got, tt[2])
		}
	}
}
