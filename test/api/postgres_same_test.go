package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"cordwood/test/cluster"
)

// original starts a PostgreSQL server and connects to it. It skips the test if PostgreSQL is not installed.
func original(t *testing.T) *pgx.Conn {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // the pattern is valid
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "original")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := func(ctx context.Context, name string, args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, filepath.Join(bin, name), args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir)
		return c
	}
	ordinary := func(*exec.Cmd) {}
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Skip(err)
		}
		uid, _ := strconv.Atoi(nobody.Uid)
		gid, _ := strconv.Atoi(nobody.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		ordinary = func(c *exec.Cmd) {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		}
	}
	data := filepath.Join(dir, "data")
	initdb := run(t.Context(), "initdb", "-D", data, "-U", "svc", "-A", "trust", "-E", "UTF8", "--no-sync")
	ordinary(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	addr := cluster.FreeAddr(t)
	_, port, _ := strings.Cut(addr, ":")
	server := run(context.Background(), "postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir, "-F")
	ordinary(server)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT)
		_ = server.Wait()
	})
	deadline := time.Now().Add(60 * time.Second)
	for {
		c, err := pgx.Connect(t.Context(), "postgres://svc@"+addr+"/postgres?sslmode=disable")
		if err == nil {
			t.Cleanup(func() { _ = c.Close(context.Background()) })
			return c
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // until it accepts connections
	}
}

// pgAnswer is an answer with its columns, even if it has no rows.
type pgAnswer struct {
	fields []pgconn.FieldDescription
	rows   [][][]byte
}

// lastAnswer runs statements, and returns the last answer.
func lastAnswer(ctx context.Context, c *pgconn.PgConn, sql string, params [][]byte) (a pgAnswer, err error) {
	read := func(r *pgconn.ResultReader) {
		a = pgAnswer{fields: slices.Clone(r.FieldDescriptions())}
		for i := range a.fields {
			a.fields[i].Name = strings.Clone(a.fields[i].Name)
		}
		a.rows = r.Read().Rows
	}
	if params != nil {
		r := c.ExecParams(ctx, sql, params, nil, nil, nil)
		read(r)
		_, err = r.Close()
		return a, err
	}
	r := c.Exec(ctx, sql)
	for r.NextResult() {
		read(r.ResultReader())
	}
	return a, r.Close()
}

// differs lists the intended differences from PostgreSQL, by the number of a statement and the name of a column, or
// "rows" for whether there are rows.
var differs = map[string]string{
	"@201 version":         "/ divides with a fraction",
	"@206 time":            "fractions are float8",
	"@207 time":            "fractions are float8",
	"@284 time":            "fractions are float8",
	"@215 role":            "a NULL of a subquery is a number",
	"@221 week":            "times are in UTC and reported as timestamptz",
	"@226 reltuples":       "counts of rows are integers",
	"@233 elemtypoid":      "a number of 64 bits holds every OID",
	"@236 array_oid":       "a number of 64 bits holds every OID",
	"@34 rows":             "no parameter differs from its default",
	"@37 rows":             "there are no casts by functions",
	"@38 rows":             "there are no languages for functions",
	"@50 table_cat":        "a NULL of a subquery is a number",
	"@50 key_seq":          "positions are of 64 bits",
	"@54 table_cat":        "a NULL of a subquery is a number",
	"@54 index_qualifier":  "a NULL of a subquery is a number",
	"@54 ordinal_position": "positions are of 64 bits",
	"@54 cardinality":      "counts of rows are integers",
	"@107 rows":            "tables have no types of their own",
	"@108 rows":            "tables have no types of their own",
	"@114 rows":            "tables have no types of their own",
	"@115 rows":            "tables have no types of their own",
	"@52 key_seq":          "positions are of 64 bits",
	"@53 key_seq":          "positions are of 64 bits",
	"@64 rows":             "tables have no types of their own",
	"@82 rows":             "there are no domains",
	"@94 generate_series":  "numbers of a series are of 64 bits",
	"@313 rows":            "operators have no classes",
	"@314 rows":            "operators have no classes",
	"@315 rows":            "operators have no classes",
	"@316 rows":            "operators have no classes",
	"@320 rows":            "there are no casts by functions",
	"@338 rows":            "there is no text search",
	"@339 rows":            "there is no text search",
	"@340 rows":            "there is no text search",
	"@341 rows":            "there is no text search",
	"@342 rows":            "there is no text search",
	"@343 rows":            "there is no text search",
	"@345 rows":            "there is no text search",
	"@346 rows":            "there is no text search",
	"@350 rows":            "there are no languages for functions",
	"@370 rows":            "the extension has no objects",
	"* indnkeyatts":        "small integers of an aggregate are of 32 bits",
	"@415 rows":            "operators have no classes",
	"@470 contype":         "a cast keeps the type of the column",
	"@353 Function":        "there are no operators",
	"@100 case":            "a number of 64 bits holds every OID",
}

// TestAsPostgreSQL sends the recorded statements to PostgreSQL and to this server, over the same tables. It compares
// the names and types of columns, and whether there are rows.
func TestAsPostgreSQL(t *testing.T) {
	t.Parallel()
	theirs, ours := original(t), postgres(t)
	setUp := func(c *pgx.Conn, sql string) {
		t.Helper()
		if _, err := c.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	setUp(theirs, "CREATE TABLE logs (ts timestamptz NOT NULL, host text, status bigint, took double precision, "+
		"message text, extra json); CREATE TABLE k (ts timestamptz NOT NULL, id bigint DEFAULT 5, v text, "+
		"PRIMARY KEY (id, ts)); COMMENT ON TABLE k IS 'a table'")
	setUp(ours, recordedTables)
	for _, c := range []*pgx.Conn{theirs, ours} {
		setUp(c, "INSERT INTO logs (ts, host, status, took, message) VALUES ('2026-01-05 10:00:10.5+00', 'a', 200, 0.25, "+
			"'error one'), ('2026-01-05 10:00:50+00', 'a', 500, 0.75, NULL), ('2026-01-05 10:59:59.999999+00', 'b', 404, 3, "+
			"'Error two'), ('2026-01-05 12:00:00+00', 'b', NULL, NULL, 'fine'); SET TimeZone = 'UTC'")
	}
	number := func(c *pgx.Conn, name string) string {
		var oid int64
		if err := c.QueryRow(t.Context(), "SELECT '"+name+"'::regclass::oid::int8").Scan(&oid); err != nil {
			t.Fatal(err)
		}
		return strconv.FormatInt(oid, 10)
	}
	numbers := func(c *pgx.Conn) *strings.Replacer {
		return strings.NewReplacer("16384", number(c, "logs"), "16389", number(c, "k"))
	}
	inTheirs, inOurs := numbers(theirs), numbers(ours)
	unused := maps.Clone(differs)
	for _, s := range recordedStatements(t) {
		name := "@" + s.number
		want, err := lastAnswer(t.Context(), theirs.PgConn(), inTheirs.Replace(s.sql), s.params)
		if err != nil {
			setUp(theirs, "ROLLBACK")
			t.Logf("PostgreSQL fails: %s: %v", name, err)
			continue // it refers to tables of the recorded server
		}
		got, err := lastAnswer(t.Context(), ours.PgConn(), inOurs.Replace(s.sql), s.params)
		if err != nil {
			t.Errorf("%s %s: %v", name, s.client, err)
			continue
		}
		differences := compare(want, got)
		if ofRows.MatchString(s.sql) {
			differences = append(differences, compareRows(want, got)...)
		}
		for _, d := range differences {
			column, _, _ := strings.Cut(d, ":")
			if differs[name+" "+column] != "" || differs["* "+column] != "" {
				delete(unused, name+" "+column)
				delete(unused, "* "+column)
				continue
			}
			t.Errorf("%s %s: %s", name, s.client, d)
		}
	}
	for what := range unused {
		t.Errorf("%s no longer differs", what)
	}
}

// ofRows matches statements that return rows of a table, which are the same on both servers.
var ofRows = regexp.MustCompile(`(?i)FROM ("?public"?\.)?"?logs"?`)

// compareRows compares values as texts.
func compareRows(want, got pgAnswer) (differences []string) {
	for i := range min(len(want.rows), len(got.rows)) {
		for k := range min(len(want.rows[i]), len(got.rows[i])) {
			if w, g := want.rows[i][k], got.rows[i][k]; string(w) != string(g) {
				differences = append(differences, fmt.Sprintf("%s: row %d is %q, not %q", want.fields[k].Name, i+1, g, w))
			}
		}
	}
	if len(want.rows) != len(got.rows) {
		differences = append(differences, fmt.Sprintf("rows: %d, not %d", len(got.rows), len(want.rows)))
	}
	return differences
}

// compare lists the differences of an answer from PostgreSQL's, each as the column, a colon, and the difference.
func compare(want, got pgAnswer) (differences []string) {
	add := func(column, format string, args ...any) {
		differences = append(differences, column+": "+fmt.Sprintf(format, args...))
	}
	for i, w := range want.fields {
		switch {
		case i >= len(got.fields):
			add(w.Name, "is missing")
		case got.fields[i].Name != w.Name:
			add(w.Name, "is called %s", got.fields[i].Name)
		case !sameType(w.DataTypeOID, got.fields[i].DataTypeOID):
			add(w.Name, "is of type %d, not %d", got.fields[i].DataTypeOID, w.DataTypeOID)
		}
	}
	if (len(want.rows) > 0) != (len(got.rows) > 0) {
		add("rows", "%d, not %d", len(got.rows), len(want.rows))
	}
	return differences
}

// sameType reports whether values of the two types have the same text form. The names, single characters and domains
// of PostgreSQL's catalog are texts, and so are its references to functions.
func sameType(want, got uint32) bool {
	texts, lists := []uint32{18, 19, 24, 25, 194, 869, 1043, 2202, 2204, 2205, 2277, 3220}, []uint32{1003, 1034}
	return want == got || got == 20 && want == 28 || got == 25 && slices.Contains(texts, want) ||
		got == 1009 && slices.Contains(lists, want)
}

// recordedStatement is an entry of testdata/postgres/statements.sql.
type recordedStatement struct {
	number, client, sql string
	params              [][]byte
}

// recordedTables are the tables over which the statements are sent.
const recordedTables = "CREATE TABLE logs (ts TIMESTAMP(9) TIME INDEX, host TEXT, status BIGINT, took DOUBLE, " +
	"message TEXT, extra JSON) WITH (append_mode='true'); CREATE TABLE k (ts TIMESTAMP(9) TIME INDEX, " +
	"id BIGINT DEFAULT 5, v TEXT, PRIMARY KEY (id)) WITH (comment='a table')"

func recordedStatements(t *testing.T) (list []recordedStatement) {
	t.Helper()
	text, err := os.ReadFile("testdata/postgres/statements.sql")
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(text[strings.Index(string(text), "-- @"):]), "\n;;\n") {
		m := statementHead.FindStringSubmatch(entry)
		if m == nil {
			continue
		}
		s := recordedStatement{number: m[1], client: m[2], sql: entry[len(m[0]):]}
		if strings.HasPrefix(s.sql, "DECLARE") {
			s.sql = "BEGIN;" + s.sql // like the client
		}
		if strings.HasPrefix(s.sql, "CLOSE") {
			s.sql += ";COMMIT"
		}
		if m[3] != "" {
			var values []string
			if err := json.Unmarshal([]byte(m[3]), &values); err != nil {
				t.Fatal(err)
			}
			s.params = make([][]byte, len(values))
			for i, v := range values {
				s.params[i] = []byte(v)
			}
		}
		list = append(list, s)
	}
	return list
}
