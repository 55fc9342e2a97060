package cluster

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"cordwood/shard/cold/iceberg"
)

// icebergFolder returns the folder of the only Iceberg table with a number of commits, among those of a bucket.
func icebergFolder(t *testing.T, n *Node, bucket, table string) string {
	t.Helper()
	id := fmt.Sprint(n.Rows(t, "SELECT table_id FROM information_schema.tables WHERE table_name = '"+table+"'"))
	found, err := filepath.Glob(filepath.Join(bucket, "*", "iceberg"))
	if err != nil || len(found) != 1 {
		t.Fatalf("folders %v, %v", found, err)
	}
	return filepath.Join(found[0], strings.Trim(id, "[]"), "metadata")
}

// icebergState reads the state to which version-hint.text points.
func icebergState(folder string) (*iceberg.State, error) {
	hint, err := os.ReadFile(filepath.Join(folder, "version-hint.text"))
	if err != nil {
		return nil, err
	}
	return iceberg.Load("file://"+filepath.Join(folder, "v"+string(hint)+".metadata.json"),
		func(location string) ([]byte, error) { return os.ReadFile(strings.TrimPrefix(location, "file://")) })
}

// askIceberg runs a query of the rows that a state shows, as the table t. DuckDB reads the files by the ids of fields.
func askIceberg(t *testing.T, st *iceberg.State, query string) string {
	t.Helper()
	types := map[string]string{
		"long": "BIGINT", "int": "INTEGER", "string": "VARCHAR", "timestamp": "TIMESTAMP", "timestamp_ns": "TIMESTAMP_NS",
		"decimal(20, 0)": "DECIMAL(20,0)", "double": "DOUBLE",
	}
	var files, fields []string
	for path := range st.Shown() {
		files = append(files, "'"+strings.TrimPrefix(path, "file://")+"'")
	}
	for _, s := range st.Metadata.Schemas {
		for _, f := range s.Fields {
			if s.ID == st.Metadata.Schema {
				fields = append(fields, fmt.Sprintf("%d: {name: '%s', type: '%s', default_value: NULL}", f.ID, f.Name,
					types[f.Type]))
			}
		}
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got string
	err = db.QueryRow(fmt.Sprintf("WITH t AS (FROM read_parquet([%s], schema=MAP {%s})) SELECT (%s)::VARCHAR",
		strings.Join(files, ","), strings.Join(fields, ","), query)).Scan(&got)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestIceberg has a server show two tables as Iceberg, in both versions of the format. Their rows are compared while
// columns are added, renamed and dropped, after a restart that found an unfinished commit, and when a table is dropped.
func TestIceberg(t *testing.T) {
	bucket := t.TempDir()
	n := New(t, "--shards", "1", "--object-storage-url", "file://"+bucket, "--object-storage-upload-after", "1s",
		"--object-storage-iceberg-every", "1s", "--object-storage-cache-bytes", "64MiB", "--shard-flush-age", "1s")
	n.Start()
	for options, want := range map[string]string{
		"iceberg='v1', append_mode='true'":               "want v2, v3 or daily",
		"iceberg='daily', append_mode='true'":            "daily is for tables that merge rows",
		"iceberg='v2', append_mode='false'":              "without append_mode: true",
		"iceberg='v2', append_mode='true', cold='false'": "with cold: false",
	} {
		_, err := n.Query("CREATE TABLE bad (ts TIMESTAMP(9) TIME INDEX) WITH (" + options + ")")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", options, err)
		}
	}
	day := time.Now().UTC().Truncate(24 * time.Hour).UnixNano()
	rows := 0
	insert := func(columns, values string) {
		for _, table := range []string{"t2", "t3"} {
			n.mustQuery(t, "INSERT INTO "+table+" (ts, "+columns+") VALUES "+values)
		}
	}
	for _, v := range []string{"2", "3"} {
		n.mustQuery(t, "CREATE TABLE t"+v+" (ts TIMESTAMP(9) TIME INDEX, n BIGINT, big BIGINT UNSIGNED, u INT UNSIGNED, "+
			"text STRING, \"a.b\" STRING) WITH (append_mode='true', iceberg='v"+v+"', iceberg_names='underscore')")
	}
	for i := range 20 {
		insert(`n, big, u, text, "a.b"`, fmt.Sprintf("(%d, %d, %d, 4294967290, 'row %d', 'x')",
			day-int64(i%2)*86400e9+int64(i)*1e9+123456789, i, uint64(1<<63)+uint64(i), i))
		rows++
	}
	same := func(queries map[string]string) {
		t.Helper()
		for _, table := range []string{"t2", "t3"} {
			folder := ""
			var st *iceberg.State
			Eventually(t, 2*time.Minute, func() (err error) {
				if folder == "" {
					if found, err := filepath.Glob(filepath.Join(bucket, "*", "iceberg")); err != nil || len(found) == 0 {
						return fmt.Errorf("no folder: %w", err)
					}
					folder = icebergFolder(t, n, bucket, table)
				}
				if st, err = icebergState(folder); err != nil {
					return err
				}
				shown := int64(0)
				for _, f := range st.Shown() {
					shown += f.Rows
				}
				if shown != int64(rows) {
					return fmt.Errorf("%s shows %d of %d rows", table, shown, rows)
				}
				return nil
			})
			for theirs, ours := range queries {
				want := strings.Trim(fmt.Sprint(n.Rows(t, strings.ReplaceAll(ours, "FROM t", "FROM "+table))), "[]")
				if got := askIceberg(t, st, theirs); got != want {
					t.Errorf("%s: %s is %s, want %s", table, theirs, got, want)
				}
			}
		}
	}
	same(map[string]string{
		"SELECT sum(n) FROM t":                 "SELECT sum(n)::BIGINT FROM t",
		"SELECT sum(u) FROM t":                 "SELECT sum(u)::BIGINT FROM t",
		"SELECT max(big) FROM t":               "SELECT max(big)::VARCHAR FROM t",
		"SELECT count(DISTINCT text) FROM t":   "SELECT count(DISTINCT text) FROM t",
		"SELECT count(a_b) FROM t":             `SELECT count("a.b") FROM t`,
		"SELECT sum(epoch_us(ts) // 1) FROM t": "SELECT sum(epoch_us(ts))::BIGINT FROM t",
	})
	for _, table := range []string{"t2", "t3"} {
		n.mustQuery(t, "ALTER TABLE "+table+" RENAME COLUMN n TO number")
		n.mustQuery(t, "ALTER TABLE "+table+" DROP COLUMN text")
		n.mustQuery(t, "ALTER TABLE "+table+" ADD COLUMN text BIGINT")
	}
	insert("number, text", fmt.Sprintf("(%d, 1000, 7)", day))
	rows++
	after := map[string]string{
		"SELECT sum(number) FROM t": "SELECT sum(number)::BIGINT FROM t",
		"SELECT sum(text) FROM t":   "SELECT sum(text)::BIGINT FROM t",
	}
	same(after)
	// A server that was killed before it stored the hint does so at its start.
	hint := filepath.Join(icebergFolder(t, n, bucket, "t2"), "version-hint.text")
	n.Stop()
	if err := os.Remove(hint); err != nil {
		t.Fatal(err)
	}
	n.Start()
	same(after)
	n.mustQuery(t, "DROP TABLE t2")
	Eventually(t, time.Minute, func() error {
		a, err := n.Do("GET", "/metrics", nil)
		if err == nil && !strings.Contains(string(a.Body), "\ncordwood_iceberg_tables 1\n") {
			err = fmt.Errorf("the metric of tables is not 1")
		}
		return err
	})
}
