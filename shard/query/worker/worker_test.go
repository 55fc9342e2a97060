package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/shard/memtable"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
	"cordwood/shard/segment"
)

// TestRows reads rows from shared memory, from the heap, and from empty tables.
func TestRows(t *testing.T) {
	pool := &memtable.Pool{}
	m := memtable.New(pool)
	defer m.Unref()
	var shared, heap []*column.Batch
	for i := range 20 {
		shared = append(shared, logBatch(t, m, 100*i, 100))
		heap = append(heap, logBatch(t, nil, 100*i, 100))
	}
	if _, ok := pool.Locate(shared[7].Mem); !ok {
		t.Skip("this system has no memory to share")
	}
	w := openWorker(t, func(c *Config) { c.Memory = pool })
	sql := "SELECT count(*), count(n), sum(n), max(msg) FROM logs WHERE ts < '1970-01-01 00:30:00'"
	want := []string{"1800|1620|1457460|message number 999 of the test"}
	for name, batches := range map[string][]*column.Batch{
		"shared": shared,
		"heap":   heap,
		"both":   append(shared[:10:10], heap[10:]...),
	} {
		if diff := cmp.Diff(want, mustAsk(t, w, sql, logTable(batches...))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff([]string{"0|0|NULL"},
		mustAsk(t, w, "SELECT count(*), count(n), coalesce(max(msg), 'NULL') FROM logs", logTable())); diff != "" {
		t.Error(diff)
	}
	// Memory that was freed and reused is read with its new contents.
	m2 := memtable.New(pool)
	defer m2.Unref()
	for i := range 50 {
		mustAsk(t, w, "SELECT count(*) FROM logs", logTable(logBatch(t, m2, i, 2000)))
	}
}

func TestAnalyze(t *testing.T) {
	w := openWorker(t)
	want := &query.Analysis{
		Tables:  []query.TableName{{Database: "public", Name: "logs"}, {Database: "x", Name: "y"}},
		Explain: true,
	}
	for range 2 { // the second is from the cache
		got, err := w.Analyze(deadline(t), "EXPLAIN SELECT * FROM logs, x.y", "public")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if got, _ := w.Analyze(deadline(t), "EXPLAIN SELECT * FROM logs, x.y", "other"); got.Tables[0].Database != "other" {
		t.Errorf("in another database: %v", got)
	}
	for range 2 {
		_, err := w.Analyze(deadline(t), "SELECT FROM WHERE", "public")
		wantError(t, err, errs.InvalidSyntax)
	}
}

// TestSplitsAreKept checks that the child is asked once for a statement, and again after its table has changed, for
// another limit, database and time zone, and after an error; and that a caller may change the result.
func TestSplitsAreKept(t *testing.T) {
	w := openWorker(t)
	req := func(change func(*query.Request)) *query.Request {
		r := &query.Request{SQL: "SELECT count(*) FROM logs WHERE ts < now()", Database: "public", Tables: []query.Table{
			logTable(),
		}}
		own := *r.Tables[0].Schema
		r.Tables[0].Schema = &own
		if change != nil {
			change(r)
		}
		return r
	}
	// Each different request is a new entry.
	for i, change := range []func(*query.Request){
		nil,
		func(r *query.Request) { r.Limit = 5 },
		func(r *query.Request) { r.Timezone = "Europe/Berlin" },
		func(r *query.Request) { r.Tables[0].Schema.Version++ },
		func(r *query.Request) { r.Tables[0].Schema.ID++ },
	} {
		if w.splits.get(splitKey(req(change))) != nil {
			t.Errorf("request %d is cached before its first use", i)
		}
		first, err := w.Split(deadline(t), req(change))
		if err != nil || first.Reason != "" {
			t.Fatalf("request %d: %v %+v", i, err, first)
		}
		if w.splits.get(splitKey(req(change))) == nil {
			t.Errorf("request %d is not kept", i)
		}
		first.Reason, first.Moment = "what a caller writes is not kept", "x"
		again, err := w.Split(deadline(t), req(change))
		if err != nil || again.Reason != "" || again.Worker == first.Worker || again.Final != first.Final {
			t.Errorf("request %d again: %v, %+v and before %+v", i, err, again, first)
		}
	}
	wrong := req(func(r *query.Request) { r.SQL = "SELECT nothing FROM logs" })
	for range 2 {
		_, err := w.Split(deadline(t), wrong)
		wantError(t, err, errs.ColumnNotFound)
	}
	if w.splits.get(splitKey(wrong)) != nil {
		t.Error("an error is kept")
	}
	// If a statement depends on the present day, its split is valid on that day only.
	day := req(func(r *query.Request) { r.SQL = "SELECT count(*) FROM logs WHERE ts < today()" })
	if _, err := w.Split(deadline(t), day); err != nil || w.splits.get(splitKey(day)) != nil {
		t.Errorf("a statement with today() is kept, or %v", err)
	}
}

// TestErrors checks that the engine's errors arrive unchanged.
func TestErrors(t *testing.T) {
	w := openWorker(t)
	_, err := ask(deadline(t), w, "fail")
	e := errs.From(err)
	if e.Code != errs.PlanQuery || e.Msg != "no plan" || e.HTTPStatus != 418 || e.RetryAfter != 3*time.Second ||
		e.Reason != errs.TableGone {
		t.Errorf("%+v", e)
	}
	_, err = ask(deadline(t), w, "SELECT * FROM nowhere")
	wantError(t, err, errs.TableNotFound, "nowhere")
	if _, err = ask(deadline(t), w, "SELECT * FROM read_text('/etc/passwd')"); err == nil {
		t.Error("a file was read")
	}
	if got := mustAsk(t, w, "SELECT 41 + 1"); got[0] != "42" {
		t.Errorf("after errors: %v", got)
	}
	failed := errors.New("the client is gone")
	err = w.Query(deadline(t), &query.Request{SQL: "endless", Database: "public"}, func([]byte) error { return failed })
	if !errors.Is(err, failed) {
		t.Errorf("error of emit came back as %v", err)
	}
	if got := restarts(t, w, reasonStuck); got != 0 {
		t.Errorf("%v processes replaced", got)
	}
}

// TestKill kills the child during queries, again and again.
func TestKill(t *testing.T) {
	w := openWorker(t)
	for range 3 {
		running := begin(deadline(t), t, w, "wait")
		pid := currentPID(w)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		// A query that is sent before the end is noticed would fail in the same way.
		err := await(t, running, "the query of the killed process")
		mustAsk(t, w, "SELECT 1")
		t.Logf("next answer after %v", time.Since(begin))
		wantError(t, err, errs.External, "ended while the query ran", "killed", "send the query again")
		if errs.From(err).RetryAfter == 0 || errs.From(err).Status() != 503 {
			t.Errorf("not to be retried: %+v", err)
		}
		if currentPID(w) == pid {
			t.Error("the process is the same")
		}
	}
	if got := restarts(t, w, reasonCrash); got != 3 {
		t.Errorf("%v restarts counted", got)
	}
}

// TestKillIdle checks that queries do not fail when an idle child is killed.
func TestKillIdle(t *testing.T) {
	w := openWorker(t)
	for range 5 {
		mustAsk(t, w, "SELECT 1")
		pid := currentPID(w)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of the process", func() bool { return currentPID(w) != pid })
	}
}

// TestKillUnderLoad kills the child while many queries run. Each query must get its rows or the
// error.
func TestKillUnderLoad(t *testing.T) {
	w := openWorker(t)
	batch := logBatch(t, nil, 0, 1000)
	ctx := deadline(t)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 6 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				rows, err := ask(ctx, w, "SELECT sum(n) FROM logs", logTable(batch))
				if err == nil && rows[0] != "449700" || err != nil && errs.CodeOf(err) != errs.External {
					t.Errorf("%v, %v", rows, err)
					return
				}
			}
		})
	}
	for range 5 {
		mustAsk(t, w, "SELECT 1")
		if pid := currentPID(w); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			eventually(t, "another process", func() bool { now := currentPID(w); return now != pid && now != 0 })
		}
	}
	close(stop)
	wg.Wait()
}

func TestSegfault(t *testing.T) {
	w := openWorker(t)
	_, err := ask(deadline(t), w, "segfault")
	wantError(t, err, errs.External, "ended while the query ran")
	_, err = ask(deadline(t), w, "exit")
	wantError(t, err, errs.External, "it ended by itself")
	mustAsk(t, w, "SELECT 1")
}

// TestCancel ends queries by their contexts: queries that stop, and one that does not.
func TestCancel(t *testing.T) {
	w := openWorker(t)
	ctx, cancel := context.WithCancel(deadline(t))
	running := begin(ctx, t, w, "wait")
	pid := currentPID(w)
	cancel()
	wantError(t, await(t, running, "cancelled query"), errs.Cancelled)

	ctx, cancel = context.WithTimeout(deadline(t), 50*time.Millisecond)
	defer cancel()
	running = begin(ctx, t, w, "endless")
	wantError(t, await(t, running, "query past its deadline"), errs.QueryTimeout)

	ctx, cancel = context.WithTimeout(deadline(t), 50*time.Millisecond)
	defer cancel()
	_, err := ask(ctx, w, "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(100000) b")
	wantError(t, err, errs.QueryTimeout)
	if currentPID(w) != pid {
		t.Error("the process ended although its query stopped when it was told to")
	}
	cancelled, cancel := context.WithCancel(deadline(t))
	cancel()
	_, err = ask(cancelled, w, "SELECT 1")
	wantError(t, err, errs.Cancelled)
	for range 100 { // the end of one request must not affect the next
		ctx, cancel := context.WithCancel(deadline(t))
		done := make(chan struct{})
		go func() { cancel(); close(done) }()
		_, _ = ask(ctx, w, "SELECT 1")
		<-done
		mustAsk(t, w, "SELECT 2")
	}
	if currentPID(w) != pid {
		t.Error("another process")
	}
}

// TestStuck checks that a query that does not stop ends its process, but no other query.
func TestStuck(t *testing.T) {
	w := openWorker(t)
	other, stopOther := context.WithCancel(deadline(t))
	innocent := begin(other, t, w, "wait")
	ctx, cancel := context.WithCancel(deadline(t))
	stuck := begin(ctx, t, w, "hang")
	pid := currentPID(w)
	cancel()
	eventually(t, "another process", func() bool { now := currentPID(w); return now != pid && now != 0 })
	mustAsk(t, w, "SELECT 1")
	select {
	case err := <-innocent:
		t.Fatalf("the other query of the process ended with %v", err)
	case err := <-stuck:
		t.Fatalf("Query returned %v before the process was dead", err)
	default:
	}
	stopOther()
	wantError(t, await(t, innocent, "the other query"), errs.Cancelled)
	wantError(t, await(t, stuck, "the query that does not stop"), errs.Cancelled)
	if !dead(pid) {
		t.Error("Query returned while its process lives")
	}
	if got := restarts(t, w, reasonStuck); got != 1 {
		t.Errorf("%v restarts counted", got)
	}
}

// TestDrain checks that a process with a stuck query is killed after the drain time of the other
// queries.
func TestDrain(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Drain = 300 * time.Millisecond })
	innocent := begin(deadline(t), t, w, "wait")
	ctx, cancel := context.WithCancel(deadline(t))
	stuck := begin(ctx, t, w, "hang")
	cancel()
	wantError(t, await(t, stuck, "the query that does not stop"), errs.Cancelled)
	wantError(t, await(t, innocent, "the other query"), errs.External, "another query could not be stopped")
	mustAsk(t, w, "SELECT 1")
}

// TestSlowReader checks that a client that does not read does not hold up others.
func TestSlowReader(t *testing.T) {
	w := openWorker(t)
	ctx, cancel := context.WithCancel(deadline(t))
	reading, release := make(chan struct{}), make(chan struct{})
	slow := make(chan error, 1)
	var once sync.Once
	go func() {
		slow <- w.Query(ctx, &query.Request{SQL: "endless", Database: "public"}, func([]byte) error {
			once.Do(func() { close(reading) })
			<-release
			return ctx.Err()
		})
	}()
	await(t, reading, "the first rows")
	pid := currentPID(w)
	size := func() int64 {
		n, err := statusField("/proc/"+itoa(pid)+"/status", "RssAnon")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	mustAsk(t, w, "SELECT 1")
	before := size()
	for range 50 {
		mustAsk(t, w, "SELECT count(*) FROM range(1000)")
	}
	if grown := size() - before; grown > 64<<20 {
		t.Errorf("the child has grown by %d bytes", grown)
	}
	cancel()
	// This is longer than the grace period: a slow client is not a fault of the query.
	for end := time.Now().Add(2 * w.cfg.Grace); time.Now().Before(end); {
		mustAsk(t, w, "SELECT 1")
	}
	close(release)
	if err := await(t, slow, "the slow query"); !errors.Is(err, context.Canceled) {
		t.Errorf("slow query: %v", err)
	}
	if currentPID(w) != pid {
		t.Error("the process ended because of a slow client")
	}
}

func TestQueueFull(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Concurrency, c.Waiting = 1, 1 })
	ctx, cancel := context.WithCancel(deadline(t))
	running := begin(ctx, t, w, "wait")
	waiting := make(chan error, 1)
	go func() {
		_, err := ask(deadline(t), w, "SELECT 1")
		waiting <- err
	}()
	eventually(t, "a query that waits", func() bool { return waitingNow(w) == 1 })
	_, err := ask(deadline(t), w, "SELECT 1")
	wantError(t, err, errs.ShardBusy, "of this user, 1 query is running and 1 waits already")
	if e := errs.From(err); e.RetryAfter == 0 || e.Status() != 503 {
		t.Errorf("not to be retried: %+v", e)
	}
	cancel()
	wantError(t, await(t, running, "the query that ran"), errs.Cancelled)
	if err := await(t, waiting, "the query that waited"); err != nil {
		t.Error(err)
	}

	short := openWorker(t, func(c *Config) { c.Concurrency, c.MaxWait = 1, time.Millisecond })
	ctx, cancel = context.WithCancel(deadline(t))
	defer cancel()
	running = begin(ctx, t, short, "wait")
	_, err = ask(deadline(t), short, "SELECT 1")
	wantError(t, err, errs.ShardBusy, "none made room for this one within")
	cancel()
	wantError(t, await(t, running, "the query that ran"), errs.Cancelled)
}

// TestRunaway runs a query that needs more memory than there is. It fails or ends the child, and
// the next query works.
func TestRunaway(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory would count")
	}
	w := openWorker(t, func(c *Config) { c.MemoryLimit, c.TempLimit = 64<<20, 64<<20 })
	mustAsk(t, w, "SELECT 1")
	for name, sql := range map[string]string{
		"a text that doubles": "WITH RECURSIVE t(s, n) AS (SELECT 'xxxxxxxxxxxxxxxx', 0 UNION ALL SELECT s || s, " +
			"n + 1 FROM t WHERE n < 40) SELECT max(length(s)) FROM t",
		"a list of everything": "SELECT length(list(md5(range::VARCHAR))) FROM range(1000000000)",
		"a wide sort":          "SELECT * FROM range(1000000000) ORDER BY md5(range::VARCHAR)",
		"past the engine":      "allocate",
	} {
		ctx, cancel := context.WithTimeout(deadline(t), 20*time.Second)
		begin := time.Now()
		_, err := ask(ctx, w, sql)
		cancel()
		t.Logf("%s: %v, after %v", name, err, time.Since(begin))
		wantError(t, err, errs.RuntimeResourcesExhausted, "memory")
		begin = time.Now()
		mustAsk(t, w, "SELECT 1")
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s: the next query took %v", name, took)
		}
	}
}

// TestCannotStart checks that the error contains the reason, and that processes are not started
// without a pause.
func TestCannotStart(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"no such program", func(c *Config) { c.Command = []string{filepath.Join(t.TempDir(), "nothing")} }, "no such file"},
		{"another program", func(c *Config) { c.Command = []string{"/bin/sh", "-c", "echo not me >&2"} }, "not me"},
		{
			"another build", func(c *Config) { c.Build = "a later one" },
			`was built from "a later one" and the worker from "test"`,
		},
		{"bad settings", func(c *Config) { c.TempLimit = 1; c.Dirs = []string{"a\x00b"} }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := openWorker(t, test.change, func(c *Config) { c.StartWait = 3 * time.Second })
			ctx := deadline(t)
			asked, failed := 0, 0.0
			for failed == 0 && ctx.Err() == nil { // a slow machine may need longer than StartWait to fail
				_, err := ask(ctx, w, "SELECT 1")
				asked, failed = asked+1, restarts(t, w, reasonStart)
				if failed > 0 {
					wantError(t, err, errs.External, test.says)
				} else {
					wantError(t, err, errs.External, "")
				}
			}
			if failed < 1 || failed > float64(6*asked) {
				t.Errorf("%v attempts within %d times 3 s", failed, asked)
			}
		})
	}
}

// TestHello checks that a server of another version is refused.
func TestHello(t *testing.T) {
	good := newHello(hello{Types: messageTypes(), Build: "b"})
	if _, err := parseHello(good, "b"); err != nil {
		t.Fatal(err)
	}
	later := append([]byte(nil), good...)
	later[headerSize+len(helloMagic)]++
	for _, test := range []struct {
		hello []byte
		says  string
	}{
		{later, "speaks version 7 of the protocol and the worker version 6"},
		{newHello(hello{Types: messageTypes() + 1, Build: "b"}), "sends requests of form"},
		{newHello(hello{Types: messageTypes(), Build: "c"}), `was built from "c" and the worker from "b"`},
		{good[:12], "not from a cordwood server"},
		{[]byte("GET / HTTP/1.1\r\n\r\n"), "not from a cordwood server"},
		{good[:len(good)-3], "settings"},
	} {
		if _, err := parseHello(test.hello, "b"); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("error %v does not say %q", err, test.says)
		}
	}
}

func TestTempDir(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, tempPrefix+"77")
	if err := os.MkdirAll(filepath.Join(old, "spilled"), 0o750); err != nil {
		t.Fatal(err)
	}
	w := openWorker(t, func(c *Config) { c.TempDir = dir })
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("what a killed process left is still there: %v", err)
	}
	mustAsk(t, w, "SELECT 1")
	pid := currentPID(w)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another process", func() bool { now := currentPID(w); return now != pid && now != 0 })
	eventually(t, "its folder to go", func() bool {
		_, err := os.Stat(filepath.Join(dir, tempPrefix+"1"))
		return os.IsNotExist(err)
	})
}

func TestClose(t *testing.T) {
	w := openWorker(t)
	mustAsk(t, w, "SELECT 1")
	pid := currentPID(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if !dead(pid) {
		t.Error("the process lives after Close")
	}
	_, err := ask(deadline(t), w, "SELECT 1")
	wantError(t, err, errs.ShardNotReady) // another node may run it
	if currentPID(w) != 0 {
		t.Error("a process was started after Close")
	}
}

// TestIdle checks that an idle process is stopped, and that the next query starts a new one.
func TestIdle(t *testing.T) {
	w := openWorker(t, func(c *Config) { c.Idle = 50 * time.Millisecond })
	if currentPID(w) != 0 {
		t.Error("a process without a query")
	}
	ctx, cancel := context.WithCancel(deadline(t))
	running := begin(ctx, t, w, "wait")
	pid := currentPID(w)
	for end := time.Now().Add(2 * w.cfg.Idle); time.Now().Before(end); {
		mustAsk(t, w, "SELECT 1")
	}
	if currentPID(w) != pid || dead(pid) {
		t.Error("a process ended though it has a query")
	}
	cancel()
	wantError(t, await(t, running, "the query"), errs.Cancelled)
	eventually(t, "the end of the process", func() bool { return dead(pid) })
	mustAsk(t, w, "SELECT 1")
	for _, reason := range []string{reasonCrash, reasonMemory, reasonStuck, reasonStart} {
		if n := restarts(t, w, reason); n != 0 {
			t.Errorf("%v restarts for %s", n, reason)
		}
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	w := openWorker(t, func(c *Config) { c.Registerer = reg })
	ctx, cancel := context.WithCancel(deadline(t))
	running := begin(ctx, t, w, "wait")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		if g := f.Metric[0].Gauge; g != nil {
			got[f.GetName()] = g.GetValue()
		}
	}
	if got["cordwood_query_running"] != 1 || got["cordwood_query_waiting"] != 0 ||
		got["cordwood_query_worker_processes"] != 1 {
		t.Errorf("%v", got)
	}
	if r, p := got["cordwood_query_worker_resident_bytes"], got["cordwood_query_worker_private_bytes"]; p < 1<<20 ||
		r < p {
		t.Errorf("memory: resident %v, private %v", r, p)
	}
	cancel()
	wantError(t, await(t, running, "the query"), errs.Cancelled)
}

// TestPageMetrics checks that the cache counters of several processes are added up, even if the
// report of an older query arrives later.
func TestPageMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	w := openWorker(t, func(c *Config) { c.Registerer = reg })
	mustAsk(t, w, "SELECT 1")
	p := w.processes()[0]
	for _, e := range []ended{
		{segment.CacheStats{Hits: 5, Misses: 3, Evictions: 1, Bytes: 700}, partial.Stats{Hits: 2, Misses: 1, Bytes: 40}},
		{segment.CacheStats{Hits: 9, Misses: 4, Evictions: 2, Bytes: 800}, partial.Stats{Hits: 7, Misses: 3, Bytes: 60}},
		{segment.CacheStats{Hits: 6, Misses: 3, Evictions: 1, Bytes: 900}, partial.Stats{Hits: 3, Misses: 2, Bytes: 50}},
	} {
		p.report(e)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			label := ""
			for _, l := range m.Label {
				label += " " + l.GetValue()
			}
			got[f.GetName()+label] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"cordwood_query_page_cache_requests_total hit": 9, "cordwood_query_page_cache_requests_total miss": 4,
		"cordwood_query_page_cache_evictions_total": 2, "cordwood_query_page_cache_bytes": 800,
		"cordwood_query_kept_partials_total hit": 7, "cordwood_query_kept_partials_total miss": 3,
		"cordwood_query_kept_partials_bytes": 60,
	} {
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
}

func TestValidate(t *testing.T) {
	err := Config{MemoryLimit: 1, Threads: -1, TempLimit: -1, Nice: 20, Grace: -1}.Validate()
	for _, word := range []string{"memory limit", "threads", "temporary space", "niceness", "waiting times"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not mention %s", err, word)
		}
	}
}
