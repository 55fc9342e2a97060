package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/turns"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// lazyFile is a Fetcher for one object. It makes all of the object available at the first request.
type lazyFile struct {
	from, to string
	bare     []byte

	mu    sync.Mutex // guards the fields below
	wants []query.Want
	fail  error
	hang  chan struct{} // closed when a request hangs
}

func (l *lazyFile) Fetch(ctx context.Context, wants []query.Want) error {
	l.mu.Lock()
	l.wants = append(l.wants, wants...)
	fail, hang := l.fail, l.hang
	l.mu.Unlock()
	if hang != nil {
		close(hang)
		<-ctx.Done()
		return ctx.Err()
	}
	if fail != nil {
		return fail
	}
	b, err := os.ReadFile(l.from)
	if err != nil {
		return err
	}
	return os.WriteFile(l.to, append(b, l.bare...), 0o600)
}

// Have says that only the end of the object is there.
func (l *lazyFile) Have(_ context.Context, wants []query.Want) (have []bool, err error) {
	for _, w := range wants {
		have = append(have, len(w.Units) == 0)
	}
	return have, nil
}

// Cost returns the number of wants as requests.
func (l *lazyFile) Cost(_ context.Context, wants []query.Want) (done, more query.Traffic, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done = query.Traffic{Objects: 1, Requests: len(l.wants), Bytes: 5}
	return done, query.Traffic{Requests: len(wants), Cached: 7}, nil
}

// coldTable returns a table with one cold segment of 100 rows, and its Fetcher.
func coldTable(t *testing.T, dir string) (query.Table, *lazyFile) {
	t.Helper()
	table, id := logTable(), uint64(0)
	metas, err := segment.Write(segment.Config{
		FS: vfs.OS, Dir: dir, RowGroupRows: 10, NextID: func() uint64 { id++; return id },
	}, table.Schema, []*column.Batch{logBatch(t, nil, 0, 100)})
	if err != nil {
		t.Fatal(err)
	}
	l := &lazyFile{from: filepath.Join(dir, "striped"), to: filepath.Join(dir, "cold.parquet")}
	m, err := segment.Stripe(vfs.OS, filepath.Join(dir, metas[0].FileName()), &metas[0], l.from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(l.from)
	if err != nil {
		t.Fatal(err)
	}
	tail, err := segment.ReadTail("x", b, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.bare = tail.Bare
	s := query.Segment{Path: l.to, CRC: m.FileCRC, Cold: m.Bytes, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}
	for _, c := range m.Columns {
		s.Columns = append(s.Columns, query.SegmentColumn{ID: c.ID, FieldID: c.FieldID, Name: c.Name, Type: c.Type})
	}
	table.Segments = []query.Segment{s}
	return table, l
}

// TestCold has the child ask for parts of a cold segment.
func TestCold(t *testing.T) {
	dir := t.TempDir()
	table, l := coldTable(t, dir)
	w := openWorker(t, func(c *Config) { c.Dirs = []string{dir} })
	ctx := query.WithFetcher(deadline(t), l)
	const sql = "SELECT count(*), sum(n) FROM logs WHERE msg LIKE '%number 4%'"
	for range 2 {
		got, err := ask(ctx, w, sql, table)
		if diff := cmp.Diff([]string{"11|406"}, got); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
	}
	if len(l.wants) < 2 || len(l.wants[0].Units) != 0 || len(l.wants[len(l.wants)-1].Units) == 0 {
		t.Errorf("it asked for %v, want the end of the object and then some units", l.wants)
	}
	wants := len(l.wants)
	got, err := ask(ctx, w, "EXPLAIN "+sql, table)
	if want := fmt.Sprintf("cold|1 of 1 object, 1 request, 0 bytes to fetch, 7 bytes cached; to plan, %d requests, 5 "+
		"bytes fetched, 0 bytes cached", wants+1); err != nil || len(got) < 2 || got[1] != want {
		t.Errorf("EXPLAIN: %q, %v, want %q", got, err, want)
	}
	l.fail = errs.New(errs.ObjectStorageUnavailable, "object storage does not answer")
	_, err = ask(ctx, w, sql, table)
	wantError(t, err, errs.ObjectStorageUnavailable, "object storage does not answer")
	_, err = ask(deadline(t), w, sql, table)
	wantError(t, err, errs.Internal)
	// An EXPLAIN asks for what is there instead.
	got, err = ask(ctx, w, "EXPLAIN "+sql, table)
	if err != nil || len(got) < 2 || !strings.HasSuffix(got[1], "; filters or values that would leave out rows could "+
		"not be read: object storage does not answer") {
		t.Errorf("EXPLAIN while object storage does not answer: %q, %v", got, err)
	}
	// A query that waits for the bucket is cancelled, and the connection serves the next one.
	l.fail, l.hang = nil, make(chan struct{})
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := ask(waiting, w, sql, table)
		ended <- err
	}()
	await(t, l.hang, "the request for a part")
	pid := currentPID(w)
	cancel()
	wantError(t, await(t, ended, "the end of the query"), errs.Cancelled)
	l.mu.Lock()
	l.hang = nil
	l.mu.Unlock()
	if got, err := ask(ctx, w, sql, table); err != nil || len(got) != 1 || currentPID(w) != pid {
		t.Errorf("after a cancelled query: %v, %v, process %d and before %d", got, err, currentPID(w), pid)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("it took too long")
	}
}

// hanging is a Fetcher of a bucket that does not answer.
type hanging chan struct{}

func (h hanging) Fetch(ctx context.Context, _ []query.Want) error {
	h <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (h hanging) Have(context.Context, []query.Want) (have []bool, err error) {
	return nil, nil
}

func (h hanging) Cost(context.Context, []query.Want) (done, more query.Traffic, err error) {
	return done, more, nil
}

// TestColdLendsSlots has as many queries as may run wait for a bucket that does not answer. Other queries run
// meanwhile, and further ones that would wait are refused.
func TestColdLendsSlots(t *testing.T) {
	dir := t.TempDir()
	table, _ := coldTable(t, dir)
	w := openWorker(t, func(c *Config) { c.Dirs, c.Concurrency, c.PerUser = []string{dir}, 2, 2 })
	const most = 8 // four times as many as may run
	hang := make(hanging, most+1)
	ctx, cancel := context.WithCancel(query.WithFetcher(deadline(t), hang))
	defer cancel()
	told := make(chan struct{}, most)
	waits := turns.WithWaits(ctx, func() error { told <- struct{}{}; return nil })
	ended := make(chan error, most)
	for range most {
		go func() {
			_, err := ask(waits, w, "SELECT count(*) FROM logs WHERE msg LIKE '%number 4%'", table)
			ended <- err
		}()
	}
	for range most {
		await(t, hang, "a query that waits for the bucket")
		await(t, told, "the news that it waits")
	}
	for range 3 {
		if got, err := ask(deadline(t), w, "SELECT 42"); err != nil || len(got) != 1 || got[0] != "42" {
			t.Fatalf("a query of nothing cold: %v, %v", got, err)
		}
	}
	_, err := ask(ctx, w, "SELECT count(*) FROM logs WHERE msg LIKE '%number 5%'", table)
	wantError(t, err, errs.ShardBusy, "wait for object storage already")
	cancel()
	for range most {
		wantError(t, await(t, ended, "the end of a query"), errs.Cancelled)
	}
	if running, waiting := w.queries.Counts(); running != 0 || waiting != 0 {
		t.Errorf("%d queries run, %d wait", running, waiting)
	}
}
