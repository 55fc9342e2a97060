package cluster

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// TestObjectStorage has a server move its rows to a bucket. The local files are removed then, and the answers come from
// the bucket. While it does not answer, only queries that need it fail.
func TestObjectStorage(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	proxy := buckettest.NewProxy(t, endpoint, nil)
	n := New(t, "--shards", "1", "--object-storage-url", "s3://"+name+"/prod", "--object-storage-endpoint", proxy.URL,
		"--object-storage-upload-after", "1s", "--object-storage-cache-bytes", "64MiB", "--shard-flush-age", "1s",
		"--query-max-concurrent", "2")
	n.Start()
	// Tables with a physical_table share files with no others, so that the test can remove these.
	for table, options := range map[string]string{
		"app": "physical_table='x'", "small": "physical_table='x'", "kept": "cold='false'",
	} {
		sql := "CREATE TABLE " + table + " (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT, level STRING, text STRING) " +
			"WITH (append_mode='true', " + options + ")"
		if a, err := n.ask("/v1/sql", "application/x-www-form-urlencoded", "sql="+url.QueryEscape(sql)); err != nil ||
			a.Status != 200 {
			t.Fatalf("%s: %v, %v", sql, a, err)
		}
	}
	if got := fmt.Sprint(n.Rows(t, "SHOW CREATE TABLE kept")); !strings.Contains(got, "cold='false'") {
		t.Errorf("SHOW CREATE TABLE: %s", got)
	}
	for i := range 50 {
		for _, table := range []string{"app", "small"} {
			if err := n.Ingest(table, fmt.Appendf(nil, `{"n":%d,"level":"%s","text":"%s row %d"}`, i,
				[]string{"info", "error"}[i%2], table, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	statements := []string{
		"SELECT count(*), sum(n) FROM app WHERE n < 50",
		"SELECT level, count(*) FROM app WHERE n < 50 GROUP BY level ORDER BY level",
		"SELECT text FROM small WHERE text LIKE '%row 4%' ORDER BY n",
	}
	want := map[string]string{}
	for _, sql := range statements {
		want[sql] = fmt.Sprint(n.Rows(t, sql))
	}
	Eventually(t, time.Minute, func() error { return n.moved() })
	status := mustCommand(t, "cluster", "status", "--server", n.HTTP)
	if at := "object storage s3://" + name + "/prod: ok; last upload "; !strings.Contains(status, at) {
		t.Errorf("cluster status:\n%s\nwant %s", status, at)
	}
	// The flush at the stop, which needs a row, writes the set to the manifest.
	if err := n.Ingest("app", []byte(`{"n":99,"level":"info","text":"later"}`)); err != nil {
		t.Fatal(err)
	}
	n.Stop()
	if got := n.dropTwins(t); got == 0 {
		t.Fatal("no rows were moved to the bucket")
	}
	n.Start()
	if err := n.Ingest("app", []byte(`{"n":100,"level":"info","text":"hot"}`)); err != nil {
		t.Fatal(err)
	}
	for _, sql := range statements {
		if got := fmt.Sprint(n.Rows(t, sql)); got != want[sql] {
			t.Errorf("%s: %s from the bucket, %s before", sql, got, want[sql])
		}
	}
	out := mustCommand(t, "inspect", filepath.Join(n.Dir, "shards", "1", "MANIFEST"))
	if !strings.Contains(out, "data/") {
		t.Errorf("inspect shows no objects:\n%s", out)
	}
	n.Stop()
	if err := os.RemoveAll(filepath.Join(n.Dir, "cache")); err != nil {
		t.Fatal(err)
	}
	n.Start()
	Eventually(t, time.Minute, func() error { // else the check of the new process fails, and this is what is said
		a, err := n.Do("GET", "/v1/cluster", nil)
		if err == nil && !strings.Contains(string(a.Body), `"locations":["s3://`+name+`/prod"],"state":"ok"`) {
			err = fmt.Errorf("/v1/cluster says %s", a.Body)
		}
		return err
	})
	proxy.SetPlan(buckettest.Always(buckettest.Reset))
	_, err := n.Query("SELECT max(length(text)) FROM app")
	if err == nil || !strings.Contains(err.Error(), "4012") ||
		!strings.Contains(err.Error(), "object storage does not answer") {
		t.Errorf("a query that needs the bucket: %v", err)
	}
	// The end of the object may be in the cache by now.
	if got := fmt.Sprint(n.Rows(t, "EXPLAIN SELECT max(length(text)) FROM app")); !strings.Contains(got, "[cold ") {
		t.Errorf("EXPLAIN of it: %s", got)
	}
	if got := fmt.Sprint(n.Rows(t, "SELECT text FROM app ORDER BY svc_timestamp DESC LIMIT 1")); got != "[[hot]]" {
		t.Errorf("a query of hot rows: %s", got)
	}
	if err := n.Ingest("app", []byte(`{"n":101,"level":"info","text":"hot"}`)); err != nil {
		t.Errorf("a write: %v", err)
	}
	Eventually(t, time.Minute, func() error {
		if _, err := n.Query("SELECT max(length(text)) FROM app"); err == nil {
			return errors.New("the query has an answer")
		}
		a, err := n.Do("GET", "/v1/cluster", nil)
		if err == nil && !strings.Contains(string(a.Body), `"state":"failing","nodes":["`) {
			return fmt.Errorf("/v1/cluster says %s", a.Body)
		}
		for _, path := range []string{"/ready", "/v1/cluster"} {
			a, err := n.Do("GET", path, nil)
			if err == nil && !strings.Contains(string(a.Body), "has not answered since") {
				err = fmt.Errorf("%s says %s", path, a.Body)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	// Programs that repeat a query for 30 seconds do not repeat one to which the bucket refuses access.
	proxy.SetPlan(buckettest.Always(buckettest.Forbid))
	Eventually(t, time.Minute, func() error {
		_, err := command(t, "sql", "--server", n.HTTP, "SELECT max(length(text)) FROM app")
		text := fmt.Sprint(err)
		if !strings.Contains(text, "object storage refuses access") {
			return fmt.Errorf("cordwood sql: %s", text)
		}
		if !strings.Contains(text, "until then, the query fails again (server answered 500, code 4012)") {
			t.Errorf("cordwood sql: %s", text)
		}
		return nil
	})
	proxy.SetPlan(nil)
	Eventually(t, time.Minute, func() error {
		_, err := n.Query("SELECT max(length(text)) FROM app")
		return err
	})
	n.hotGoOn(t, proxy)
}

// hotGoOn has more queries than may run wait for a bucket that takes requests and does not answer. Queries of hot rows
// are answered meanwhile.
func (n *Node) hotGoOn(t *testing.T, proxy *buckettest.Proxy) {
	t.Helper()
	n.Stop()
	if err := os.RemoveAll(filepath.Join(n.Dir, "cache")); err != nil {
		t.Fatal(err)
	}
	proxy.SetDelay(time.Hour)
	n.Start()
	proxy.SetPlan(buckettest.Always(buckettest.Delay))
	before := proxy.Counts().Faults[buckettest.Delay]
	ended := make(chan error, 2)
	var queries sync.WaitGroup
	for i := range 2 {
		queries.Go(func() {
			_, err := n.Query(fmt.Sprintf("SELECT max(length(text)) + %d FROM app", i))
			ended <- err
		})
	}
	Eventually(t, time.Minute, func() error {
		if proxy.Counts().Faults[buckettest.Delay] == before {
			return errors.New("no query waits for the bucket")
		}
		return nil
	})
	for range 5 {
		if got := fmt.Sprint(n.Rows(t, "SELECT text FROM app ORDER BY svc_timestamp DESC LIMIT 1")); got != "[[hot]]" {
			t.Errorf("a query of hot rows: %s", got)
		}
	}
	select {
	case err := <-ended:
		t.Errorf("a query did not wait for the bucket as long as queries of hot rows took: %v", err)
	default:
	}
	proxy.SetPlan(nil)
	queries.Wait()
}

// moved returns an error unless objects have as many rows as two tables of the test.
func (n *Node) moved() error {
	a, err := n.Do("GET", "/metrics", nil)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(a.Body)) {
		if v, ok := strings.CutPrefix(line, `cordwood_cold_rows{shard="1"} `); ok {
			if rows, err := strconv.Atoi(strings.TrimSpace(v)); err != nil || rows < 100 {
				return fmt.Errorf("objects have %q rows, %w", v, err)
			}
			return nil
		}
	}
	return errors.New("there is no metric of rows in object storage")
}

// dropTwins removes the local files of all rows that are in objects, of the stopped node, and returns their number.
func (n *Node) dropTwins(t *testing.T) int {
	t.Helper()
	m, err := manifest.Open(manifest.Config{FS: vfs.OS, Dir: filepath.Join(n.Dir, "shards", "1"), ShardID: 1})
	if err != nil {
		t.Fatal(err)
	}
	st := m.State()
	ends := map[uint64]uint64{} // by table: where the last cut with a set ends
	for _, o := range st.CutOrders {
		if slices.ContainsFunc(st.Sets, func(s manifest.Set) bool { return s.Number == o.Number }) {
			ends[o.TableID] = max(ends[o.TableID], o.Order)
		}
	}
	edit := &manifest.Edit{}
	for i := range st.Segments {
		s := &st.Segments[i]
		tables := s.Tables
		if !s.Shared() {
			tables = []segment.TableSpan{{TableID: s.TableID}}
		}
		if !slices.ContainsFunc(tables, func(t segment.TableSpan) bool { return s.Order >= ends[t.TableID] }) {
			edit.Remove = append(edit.Remove, s.ID)
		}
	}
	if err := errors.Join(m.Commit(edit), m.Close()); err != nil {
		t.Fatal(err)
	}
	return len(edit.Remove)
}
