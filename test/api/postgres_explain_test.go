package api

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresExplain checks EXPLAIN with PostgreSQL's options, and of prepared statements as sqlx for Rust sends it.
func TestPostgresExplain(t *testing.T) {
	t.Parallel()
	pc := postgres(t).PgConn()
	ctx := t.Context()
	ask := func(sql string) (pgAnswer, error) { return lastAnswer(ctx, pc, sql, nil) }
	if _, err := pc.Exec(ctx, "CREATE TABLE k (ts TIMESTAMP(6) TIME INDEX, id BIGINT, v TEXT) WITH (append_mode='true')").
		ReadAll(); err != nil {
		t.Fatal(err)
	}
	for name, sql := range map[string]string{
		"sqlx_s_1": "SELECT id AS a, v FROM k WHERE id > $1 AND v = $2",
		"sqlx_s_2": "INSERT INTO k (id, v) VALUES ($1, $2) RETURNING v, id + 1",
	} {
		if _, err := pc.Prepare(ctx, name, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	for sql, output := range map[string]string{
		"EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE sqlx_s_1(NULL, NULL)":                "a v",
		"EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE sqlx_s_2(NULL, NULL)":                "v ?column?",
		"EXPLAIN (FORMAT JSON) SELECT count(*), max(v) AS m FROM k":                  "count m",
		"EXPLAIN (ANALYZE true, COSTS off, FORMAT JSON) SELECT count(*) AS n FROM k": "n",
	} {
		a, err := ask(sql)
		var plans []struct {
			Plan struct {
				NodeType string `json:"Node Type"`
				Output   []string
			}
		}
		if err != nil || len(a.rows) != 1 || a.fields[0].DataTypeOID != 114 || a.fields[0].Name != "QUERY PLAN" ||
			json.Unmarshal(a.rows[0][0], &plans) != nil || len(plans) != 1 {
			t.Errorf("%s: %q %v", sql, a.rows, err)
			continue
		}
		if got := strings.Join(plans[0].Plan.Output, " "); got != output || plans[0].Plan.NodeType == "" {
			t.Errorf("%s: columns %q, want %q, in %s", sql, got, output, a.rows[0][0])
		}
	}
	for _, sql := range []string{
		"EXPLAIN SELECT 1", "EXPLAIN VERBOSE SELECT 1", "EXPLAIN ANALYZE VERBOSE SELECT 1", "EXPLAIN (SELECT 1)",
		"EXPLAIN (ANALYZE, BUFFERS, TIMING off) SELECT 1", "EXPLAIN EXECUTE sqlx_s_1(1, 'x')",
		"EXPLAIN INSERT INTO k (id) VALUES (1)",
	} {
		if a, err := ask(sql); err != nil || len(a.rows) == 0 || a.fields[0].DataTypeOID != 25 {
			t.Errorf("%s: %q %v", sql, a.rows, err)
		}
	}
	for sql, want := range map[string]string{
		"EXPLAIN (FORMAT XML) SELECT 1":               "0A000",
		"EXPLAIN (NOPE) SELECT 1":                     "42601",
		"EXPLAIN (ANALYZE maybe) SELECT 1":            "42601",
		"EXPLAIN":                                     "42601",
		"EXPLAIN (ANALYZE":                            "42601",
		"EXPLAIN EXECUTE nope":                        "26000",
		"EXPLAIN ANALYZE INSERT INTO k VALUES (1)":    "0A000",
		"EXPLAIN DELETE FROM k WHERE id = 1":          "0A000",
		"EXPLAIN (COSTS off, VERBOSE) SELECT nope, 1": "42703",
	} {
		var failed *pgconn.PgError
		if _, err := ask(sql); !errors.As(err, &failed) || failed.Code != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		} else if want == "42703" && failed.Position != 37 {
			t.Errorf("%s: position %d", sql, failed.Position)
		}
	}
	if a, err := ask("SELECT count(*) FROM k"); err != nil || string(a.rows[0][0]) != "0" {
		t.Errorf("EXPLAIN stored %q rows (%v)", a.rows, err)
	}
}
