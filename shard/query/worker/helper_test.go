package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/memtable"
	"cordwood/shard/query"
	"cordwood/shard/query/engine"
)

const testBuild = "test"

// TestMain runs the child if the test program is started as one.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == Subcommand:
		os.Exit(run(testBuild, openDouble))
	case len(os.Args) > 1 && os.Args[1] == "parent":
		parent()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// double runs statements with the engine, and simulates statements that misbehave.
type double struct{ runner }

func openDouble(cfg engine.Config) (runner, error) {
	e, err := openEngine(cfg)
	return double{e}, err
}

func (d double) Query(ctx context.Context, req *query.Request, emit func([]byte) error) error {
	verb, arg, _ := strings.Cut(req.SQL, " ")
	switch verb {
	case "last": // runs for a given time and then answers
		_ = emit(make([]byte, holdBytes+1))
		d, err := time.ParseDuration(arg)
		if err != nil {
			return err
		}
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "hang": // does not stop when told
		_ = emit(make([]byte, holdBytes+1))
		select {}
	case "thaw": // stops some time after it was told
		_ = emit(make([]byte, holdBytes+1))
		d, err := time.ParseDuration(arg)
		if err != nil {
			return err
		}
		<-ctx.Done()
		time.Sleep(d)
		return context.Cause(ctx)
	case "wait": // stops when told
		_ = emit(make([]byte, holdBytes+1))
		<-ctx.Done()
		return context.Cause(ctx)
	case "endless": // returns rows without end
		piece := make([]byte, 1<<20)
		for {
			if err := errors.Join(emit(piece), context.Cause(ctx)); err != nil {
				return err
			}
		}
	case "allocate": // allocates more than the engine's own limit
		var all [][]byte
		for {
			b := make([]byte, 16<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			if all = append(all, b); len(all) > 1<<20 {
				return nil
			}
		}
	case "exhaust": // takes all memory of the process and keeps it, as fragmented memory would
		limit, err := dataLimit()
		used, serr := dataSize("/proc/self/status")
		if err = errors.Join(err, serr); err != nil {
			return err
		}
		if _, err := unix.Mmap(-1, 0, int(limit-used)-(64<<20), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE); err != nil {
			return err
		}
		return errs.New(errs.RuntimeResourcesExhausted, "no memory")
	case "segfault":
		_ = emit(make([]byte, holdBytes+1))
		*(*int)(nil) = 1
	case "exit":
		os.Exit(0)
	case "fail":
		return errs.New(errs.PlanQuery, "no plan").WithStatus(418).WithRetryAfter(3 * time.Second).WithReason(errs.TableGone)
	}
	return d.runner.Query(ctx, req, emit)
}

// dataLimit returns how much memory this process may have.
func dataLimit() (int64, error) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_DATA, &l)
	return int64(l.Cur), err
}

func (d double) Analyze(ctx context.Context, sql, database string) (*query.Analysis, error) {
	if sql == "hang" {
		select {}
	}
	if sql == "exhaust" {
		if limit, err := dataLimit(); err != nil || limit < 0 {
			return nil, err
		}
		return nil, d.Query(ctx, &query.Request{SQL: "exhaust"}, nil)
	}
	return d.runner.Analyze(ctx, sql, database)
}

// openWorker opens a Worker whose child is the test program.
func openWorker(t testing.TB, change ...func(*Config)) *Worker {
	t.Helper()
	cfg := Config{
		MemoryLimit: 256 << 20, Threads: 2, Concurrency: 8, TempDir: filepath.Join(t.TempDir(), "tmp"), Build: testBuild,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Grace: 200 * time.Millisecond, StartWait: 30 * time.Second,
	}
	for _, f := range change {
		f(&cfg)
	}
	w, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	// The machine that runs the test may be busy; queries that hang behave as if they had a CPU of their own.
	w.usedBy = func(*process) (time.Duration, bool) { return time.Since(began), true }
	t.Cleanup(func() {
		done := make(chan error)
		go func() { done <- w.Close() }()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the worker does not close")
		}
		if n := len(w.processes()); n != 0 {
			t.Errorf("%d processes after Close", n)
		}
	})
	return w
}

// ask runs a statement and returns its rows, values separated by |.
func ask(ctx context.Context, w *Worker, sql string, tables ...query.Table) ([]string, error) {
	var stream bytes.Buffer
	err := w.Query(ctx, &query.Request{SQL: sql, Database: "public", Tables: tables}, func(b []byte) error {
		stream.Write(b)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	var rows []string
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			values := make([]string, rec.NumCols())
			for c := range values {
				values[c] = rec.Column(c).ValueStr(row)
			}
			rows = append(rows, strings.Join(values, "|"))
		}
	}
	return rows, r.Err()
}

func mustAsk(t testing.TB, w *Worker, sql string, tables ...query.Table) []string {
	t.Helper()
	rows, err := ask(deadline(t), w, sql, tables...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

// deadline returns a context with a timeout that no test should reach.
func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// begin starts a statement and returns when its first bytes have arrived.
func begin(ctx context.Context, t testing.TB, w *Worker, sql string) (result chan error) {
	t.Helper()
	started := make(chan struct{})
	result = make(chan error, 1)
	go func() {
		first := true
		result <- w.Query(ctx, &query.Request{SQL: sql, Database: "public"}, func([]byte) error {
			if first {
				close(started)
				first = false
			}
			return nil
		})
	}()
	select {
	case <-started:
	case err := <-result:
		t.Fatalf("%s: ended with %v before it began", sql, err)
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: does not begin", sql)
	}
	return result
}

// await returns the next value of a channel, or fails the test if none comes.
func await[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nothing comes", what)
		panic("not reached")
	}
}

// currentPID returns the process that takes queries.
func currentPID(w *Worker) int {
	w.mu.Lock()
	p := w.main.current
	w.mu.Unlock()
	if p == nil {
		return 0
	}
	return p.processID()
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// wantError fails the test unless err has the code and contains the words.
func wantError(t testing.TB, err error, code errs.Code, words ...string) {
	t.Helper()
	if errs.CodeOf(err) != code {
		t.Errorf("error %v of code %d, want code %d", err, errs.CodeOf(err), code)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

// restarts returns how many processes were replaced for a reason.
func restarts(t testing.TB, w *Worker, reason string) float64 {
	t.Helper()
	return counted(t, w.metrics.restarts, reason)
}

// counted returns the value of a counter with one label.
func counted(t testing.TB, vec *prometheus.CounterVec, label string) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(vec)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range families[0].Metric {
		if m.Label[0].GetValue() == label {
			return m.Counter.GetValue()
		}
	}
	t.Fatalf("none is counted as %q", label)
	return 0
}

var logColumns = []schema.Column{
	{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
	{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
	{ID: 3, Name: "msg", Type: schema.String, Semantic: schema.Field},
}

func logTable(batches ...*column.Batch) query.Table {
	s := &schema.Table{ID: 9, Database: "public", Name: "logs", Columns: logColumns}
	return query.Table{Database: "public", Name: "logs", Schema: s.Index(), Batches: batches}
}

// logBatch makes a batch of rows numbered from from, in the memory of m, or of the
// heap if m is nil.
func logBatch(t testing.TB, m *memtable.Memtable, from, rows int) *column.Batch {
	t.Helper()
	b := &column.Builder{}
	var cols []*column.Col
	for _, c := range logColumns {
		cols = append(cols, b.Add(c))
	}
	for i := range rows {
		n := from + i
		cols[0].SetInt(i, int64(n)*1e9)
		if n%10 == 3 {
			cols[1].SetNull(i)
		} else {
			cols[1].SetInt(i, int64(n))
		}
		cols[2].SetString(i, fmt.Sprintf("message number %d of the test", n))
		b.EndRow()
	}
	src := b.Encode(nil, column.Header{TableID: 9, Seq: uint64(from)})
	var mem []byte
	if m != nil {
		size, err := column.InflatedSize(src)
		if err != nil {
			t.Fatal(err)
		}
		if mem, err = m.Alloc(size); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := column.Decode(src, mem)
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// waitingNow returns how many queries wait for their turn.
func waitingNow(w *Worker) int {
	_, waiting := w.queries.Counts()
	return waiting
}
