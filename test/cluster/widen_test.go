package cluster

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestNumbersWiden sends integers and fractions of one field as clients do: in one body, in several, and in many
// concurrent ones that race for a new table and its columns. The rows must be unchanged after a handoff to other
// shards, a restart and a restore.
func TestNumbersWiden(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "3")
	n.Start()
	const ingest = "/v1/ingest?pipeline_name=svc_identity&table="
	jsonBody := []string{"Content-Type", "application/json"}
	must(t, n, "POST", ingest+"one", `[{"took":1},{"took":1.5}]`, jsonBody...)
	sameRows(t, n, "SELECT took FROM one ORDER BY took", `[[1.0],[1.5]]`)

	// This is a widened and renamed column in a table that merges rows.
	for _, sql := range []string{
		"CREATE TABLE m (ts TIMESTAMP TIME INDEX, k STRING, n BIGINT, PRIMARY KEY (k)) WITH (append_mode='false')",
		"INSERT INTO m VALUES (1, 'a', 1), (2, 'b', 2)",
	} {
		if a := n.sql(t, "", sql); a.Status != 200 {
			t.Fatalf("%s: %s", sql, a.Body)
		}
	}
	a := must(t, n, "POST", ingest+"m&custom_time_index=ts;epoch;ms", `[{"ts":3,"k":"c","n":0.5}]`, jsonBody...)
	if warnings := strings.Join(a.Header["X-Svc-Warnings"], "\n"); !strings.Contains(warnings,
		"column n of table public.m became Float64") {
		t.Errorf("warnings %q", warnings)
	}
	if a := n.sql(t, "", "ALTER TABLE m RENAME COLUMN n TO num"); a.Status != 200 {
		t.Fatalf("%s", a.Body)
	}
	must(t, n, "POST", ingest+"m&custom_time_index=ts;epoch;ms", `[{"ts":1,"k":"a","num":9}]`, jsonBody...)
	cli(t, n, "", "table", "set", "m", "partitions=3")
	const merged, want = "SELECT k, num FROM m ORDER BY k", `[["a",9.0],["b",2.0],["c",0.5]]`
	sameRows(t, n, merged, want)

	// Many requests at once.
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			v := "1"
			if i%3 == 0 {
				v = "1.5"
			}
			a, err := n.Do("POST", ingest+"many", strings.NewReader(fmt.Sprintf(`[{"took":%s,"f%d":%s}]`, v, i%4, v)),
				jsonBody...)
			if err != nil || a.Status != 200 {
				t.Errorf("request %d: %v %+v", i, err, a)
			}
		})
	}
	group.Wait()
	const sums = "SELECT count(*), sum(took), sum(f0) + sum(f1) + sum(f2) + sum(f3) FROM many"
	sameRows(t, n, sums, `[[64,75.0,75.0]]`)

	n.Stop()
	n.Start()
	sameRows(t, n, merged, want)
	repository := filepath.Join(t.TempDir(), "backups")
	cli(t, n, "", "backup", "create", repository)
	cli(t, n, "", "restore", repository, "--replace", "--table", "m", "--table", "many", "--table", "one")
	sameRows(t, n, merged, want)
	sameRows(t, n, sums, `[[64,75.0,75.0]]`)

	// A column that was never widened can still be widened, also after a restore.
	must(t, n, "POST", ingest+"later", `[{"n":1}]`, jsonBody...)
	must(t, n, "POST", ingest+"wide", `[{"n":9007199254740993}]`, jsonBody...)
	cli(t, n, "", "backup", "create", repository)
	cli(t, n, "", "restore", repository, "--replace", "--table", "later", "--table", "wide")
	must(t, n, "POST", ingest+"later", `[{"n":1.5}]`, jsonBody...)
	sameRows(t, n, "SELECT n FROM later ORDER BY n", `[[1.0],[1.5]]`)
	refuse(t, n, 400, "POST", ingest+"wide", `[{"n":1.5}]`, jsonBody...)
	if a := n.sql(t, "", "ALTER TABLE wide MODIFY COLUMN n DOUBLE"); a.Status != 400 ||
		!strings.Contains(string(a.Body), "9007199254740993") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
