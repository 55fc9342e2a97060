package api

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"cordwood/test/cluster"
)

var updateShapes = flag.Bool("update-shapes", false, "update testdata/postgres/shapes.txt")

// postgres starts a server with a port for PostgreSQL clients, and connects to it.
func postgres(t *testing.T) *pgx.Conn {
	t.Helper()
	addr := cluster.FreeAddr(t)
	n := cluster.New(t, "--pg-addr", addr)
	n.Start()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, "postgres://svc@"+addr+"/public?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

var statementHead = regexp.MustCompile(`^-- @(\d+) ([^\n]*?)(?: \| (\[.*\]))?\n`)

// TestRecordedStatements sends statements that PostgreSQL clients send by themselves. It compares the names and types
// of columns, and whether there are rows, with the expected ones.
func TestRecordedStatements(t *testing.T) {
	t.Parallel()
	c := postgres(t)
	pc := c.PgConn()
	if _, err := pc.Exec(t.Context(), recordedTables).ReadAll(); err != nil {
		t.Fatal(err)
	}
	oid := func(name string) string {
		a, err := lastAnswer(t.Context(), pc, "SELECT '"+name+"'::regclass::oid", nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(a.rows[0][0])
	}
	replace := strings.NewReplacer("16384", oid("logs"), "16389", oid("k"))
	var got strings.Builder
	for _, s := range recordedStatements(t) {
		last, err := lastAnswer(t.Context(), pc, replace.Replace(s.sql), s.params)
		fmt.Fprintf(&got, "@%s %s: %s\n", s.number, s.client, shape(last, err))
	}
	const golden = "testdata/postgres/shapes.txt"
	if *updateShapes {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// shape describes the form of an answer.
func shape(r pgAnswer, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var columns []string
	for _, f := range r.fields {
		columns = append(columns, fmt.Sprintf("%s:%d", f.Name, f.DataTypeOID))
	}
	rows := "no rows"
	if len(r.rows) > 0 {
		rows = "rows"
	}
	return strings.TrimSpace(rows + " " + strings.Join(columns, " "))
}

// TestPostgresTypes writes rows with each method, and reads them back.
func TestPostgresTypes(t *testing.T) {
	t.Parallel()
	c := postgres(t)
	ctx := t.Context()
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(ctx, sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec("CREATE TABLE v (ts TIMESTAMP(9) TIME INDEX, i BIGINT, f DOUBLE, s TEXT, b BOOLEAN, r BLOB, u BIGINT UNSIGNED) " +
		"WITH (append_mode='true')")
	moment := time.Date(2026, 1, 5, 10, 0, 0, 123456000, time.UTC)
	exec("INSERT INTO v VALUES ($1, $2, $3, $4, $5, $6, $7)", moment, int64(9223372036854775807), 0.1, "it's", true,
		[]byte{0, 255}, "18446744073709551615")
	n, err := c.CopyFrom(ctx, pgx.Identifier{"v"}, []string{"ts", "i", "s"}, pgx.CopyFromRows([][]any{
		{moment.Add(time.Second), int64(-1), "a\tb\\"}, {moment.Add(2 * time.Second), nil, nil},
	}))
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	described, err := c.Prepare(ctx, "", "SELECT i, ts AS t, i + 1 FROM v WHERE i > $1")
	if err != nil {
		t.Fatal(err)
	}
	for k, number := range []uint16{2, 1, 0} {
		if f := described.Fields[k]; f.TableAttributeNumber != number || (f.TableOID != 0) != (number != 0) {
			t.Errorf("%s: column %d of table %d", f.Name, f.TableAttributeNumber, f.TableOID)
		}
	}
	var at time.Time
	var i int64
	var f float64
	var s string
	var b bool
	var r []byte
	var u uint64
	if err := c.QueryRow(ctx, "SELECT * FROM v WHERE ts = $1 AND i = ANY($2)", moment, []int64{1, 9223372036854775807}).
		Scan(&at, &i, &f, &s, &b, &r, &u); err != nil {
		t.Fatal(err)
	}
	if !at.Equal(moment) || i != 9223372036854775807 || f != 0.1 || s != "it's" || !b || string(r) != "\x00\xff" ||
		u != 18446744073709551615 {
		t.Error(at, i, f, s, b, r, u)
	}
	var out strings.Builder
	if _, err := c.PgConn().CopyTo(ctx, &out, "COPY (SELECT i, s FROM v ORDER BY ts OFFSET 1) TO STDOUT"); err != nil ||
		out.String() != "-1\ta\\tb\\\\\n\\N\t\\N\n" {
		t.Errorf("%q %v", out.String(), err)
	}
	var list []string
	var id [16]byte
	var span time.Duration
	if err := c.QueryRow(ctx, "SELECT ['a', NULL, 'b,c'][3:3], uuid '2d89ebe6-1e13-47e5-803a-b81c87660b66', "+
		"INTERVAL 90 SECOND").
		Scan(&list, &id, &span); err != nil || list[0] != "b,c" || id[0] != 0x2d || span != 90*time.Second {
		t.Error(list, id, span, err)
	}
	// Fetch many rows step by step in a transaction.
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "DECLARE c CURSOR FOR SELECT * FROM range(100000) AS t(n)"); err != nil {
		t.Fatal(err)
	}
	sum, count := int64(0), 0
	for {
		rows, err := tx.Query(ctx, "FETCH 30000 FROM c")
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for rows.Next() {
			var n int64
			if err := rows.Scan(&n); err != nil {
				t.Fatal(err)
			}
			sum += n
			got++
		}
		if rows.Err() != nil {
			t.Fatal(rows.Err())
		}
		if count += got; got == 0 {
			break
		}
	}
	if count != 100000 || sum != 4999950000 {
		t.Error(count, sum)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
}
