package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// forever is a query that runs until it is stopped.
const forever = "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(100000) b"

// workers returns the query processes of the node.
func (n *Node) workers() []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var pids []int
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// The format is: pid (name) state parent.
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		if len(f) > 1 && f[0] != "Z" && f[1] == strconv.Itoa(n.cmd.Process.Pid) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// cpu returns the CPU time of a process, in ticks of 10 ms.
func cpu(pid int) (ticks int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	for _, f := range strings.Fields(rest)[11:13] {
		n, _ := strconv.Atoi(f)
		ticks += n
	}
	return ticks
}

// metric returns the value of a metric without labels.
func (n *Node) metric(t *testing.T, name string) float64 {
	t.Helper()
	a, err := n.Do("GET", "/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(a.Body)) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(Generous(20 * time.Second)); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %s", what, Generous(20*time.Second))
		}
	}
}

// later runs a statement concurrently with the test.
func (n *Node) later(t *testing.T, sql string) <-chan *Answer {
	c := make(chan *Answer, 1)
	go func() {
		a, err := n.Do("POST", "/v1/sql", strings.NewReader(sql), "Content-Type", "application/sql")
		if err != nil {
			t.Error(err)
		}
		c <- a
	}()
	return c
}

// wantFailure fails the test unless a is an error after which a retry makes sense.
func wantFailure(t *testing.T, a *Answer, status, code int, says string) {
	t.Helper()
	if a.Status != status || a.Header.Get("x-svc-err-code") != strconv.Itoa(code) ||
		!strings.Contains(string(a.Body), says) {
		t.Errorf("status %d, code %s: %s; want %d, %d, %q", a.Status, a.Header.Get("x-svc-err-code"), a.Body, status,
			code, says)
	}
	if status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

// TestQueryWorker kills the query process of a server, which must continue.
func TestQueryWorker(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	if w := n.workers(); len(w) != 0 {
		t.Errorf("processes %v before the first query", w)
	}
	if err := n.Ingest("app", []byte(`{"a":1}`+"\n"+`{"a":2}`)); err != nil {
		t.Fatal(err)
	}
	sum := 3
	check := func() {
		t.Helper()
		if got := fmt.Sprint(n.Rows(t, "SELECT sum(a) FROM app")); got != fmt.Sprintf("[[%d]]", sum) {
			t.Errorf("sum %s, want %d", got, sum)
		}
	}
	check()
	for range 3 {
		answer := n.later(t, forever)
		eventually(t, "the query to run", func() bool { return n.metric(t, "cordwood_query_running") == 1 })
		w := n.workers()
		if len(w) != 1 {
			t.Fatalf("processes %v", w)
		}
		// A query that has hardly started would be sent to the next process.
		before := cpu(w[0])
		eventually(t, "the query to work", func() bool { return cpu(w[0]) > before+30 })
		if err := syscall.Kill(w[0], syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		// Before the server notices the end, another query would fail in the same way.
		wantFailure(t, <-answer, 503, 1007, fmt.Sprintf("process %d", w[0]))
		check()
		t.Logf("next answer after %v", time.Since(begin))
		sum += 10
		if err := n.Ingest("app", []byte(`{"a":10}`)); err != nil {
			t.Errorf("ingestion was affected: %v", err)
		}
	}
	check()
	w := n.workers()
	n.Kill()
	for _, pid := range w {
		eventually(t, "the end of the orphan", func() bool { return syscall.Kill(pid, 0) != nil })
	}
}

// TestTempLimit runs a query that exceeds its limit for temporary files. It must fail with the reason, and other
// queries and the server must continue.
func TestTempLimit(t *testing.T) {
	t.Parallel()
	n := New(t, "--query-memory", "64MiB", "--query-temp-limit", "4MiB", "--query-threads", "1")
	n.Start()
	if err := n.Ingest("app", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	const spills = "SELECT max(h) FROM (SELECT hash(range) AS h, row_number() OVER (ORDER BY hash(range)) AS r FROM " +
		"range(20000000))"
	wantFailure(t, <-n.later(t, spills), 503, 6000, "--query-temp-limit")
	if got := fmt.Sprint(n.Rows(t, "SELECT a FROM app")); got != "[[1]]" {
		t.Errorf("rows %s afterwards", got)
	}
	var left []string
	_ = filepath.WalkDir(filepath.Join(n.Dir, "tmp"), func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("temporary files remain: %v", left)
	}
}

// leaving starts a query of a client that disconnects when leave is called.
func (n *Node) leaving(t *testing.T, sql string) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", n.HTTP+"/v1/sql?sql="+url.QueryEscape(sql), nil)
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	return func() { cancel(); <-gone }
}

// TestStopQueries ends queries by their time limit and by a client that disconnects.
func TestStopQueries(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	n.Rows(t, "SELECT 1")
	w := n.workers()
	a, err := n.Do("POST", "/v1/sql", strings.NewReader(forever), "Content-Type", "application/sql", "x-svc-timeout",
		"200ms")
	if err != nil {
		t.Fatal(err)
	}
	wantFailure(t, a, 408, 3005, "time was up")

	leave := n.leaving(t, forever)
	eventually(t, "the query to run", func() bool { return n.metric(t, "cordwood_query_running") == 1 })
	leave()
	eventually(t, "the query of the disconnected client to end", func() bool {
		return n.metric(t, "cordwood_query_running") == 0
	})
	if diff := cmp.Diff(w, n.workers()); diff != "" {
		t.Errorf("queries that stop on request ended their process: %s", diff)
	}
}

func TestTooManyQueries(t *testing.T) {
	t.Parallel()
	n := New(t, "--query-max-concurrent", "1", "--query-max-waiting", "1", "--query-max-wait", "1m", "--query-timeout",
		"2m")
	n.Start()
	n.Rows(t, "SELECT 1") // the query process may take long to start
	leave := n.leaving(t, forever)
	eventually(t, "the query to run", func() bool { return n.metric(t, "cordwood_query_running") == 1 })
	second := n.later(t, "SELECT 2")
	eventually(t, "the query to wait", func() bool { return n.metric(t, "cordwood_sql_waiting") == 1 })
	wantFailure(t, n.sql(t, "", "SELECT 3"), 503, 4009, "1 waits already")
	leave()
	if a := <-second; a.Status != 200 {
		t.Errorf("the query that waited: %d %s", a.Status, a.Body)
	}
}

// TestQueryInProcess runs queries without a query process. The answers must be the same.
func TestQueryInProcess(t *testing.T) {
	t.Parallel()
	n := New(t, "--query-in-process")
	n.Start()
	if err := n.Ingest("app", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(n.Rows(t, "SELECT sum(a) FROM app")); got != "[[1]]" {
		t.Errorf("sum %s", got)
	}
	if w := n.workers(); len(w) != 0 {
		t.Errorf("processes %v", w)
	}
	if !strings.Contains(n.Log(), "--query-in-process") {
		t.Error("the log does not warn")
	}
}
