package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// TestWaits checks which answers end while answers that wait for their clients have more than the budget together.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWaits(Config{MemoryLimit: waitingPart * 100, Concurrency: 4})
		answers := make([]*wait, 4)
		ctxs := make([]context.Context, 4)
		for i := range answers {
			ctx, stop := context.WithCancelCause(t.Context())
			ctxs[i], answers[i] = ctx, &wait{bytes: 60, stop: stop}
		}
		stopped := func() (list []int) {
			synctest.Wait()
			for i, ctx := range ctxs {
				if ctx.Err() != nil {
					list = append(list, i)
				}
			}
			return list
		}
		w.begin(answers[0])
		time.Sleep(10 * patience)
		if got := stopped(); len(got) != 0 {
			t.Fatalf("an answer alone is stopped: %v", got)
		}
		w.end(answers[0])
		w.begin(answers[0])
		time.Sleep(patience / 2)
		w.begin(answers[1])
		if got := stopped(); len(got) != 0 {
			t.Fatalf("an answer is stopped before it has waited: %v", got)
		}
		time.Sleep(patience/2 + time.Second)
		if got := stopped(); len(got) != 1 || got[0] != 0 {
			t.Fatalf("stopped %v, want the one that waited longest", got)
		}
		if err := context.Cause(ctxs[0]); errs.CodeOf(err) != errs.RuntimeResourcesExhausted {
			t.Errorf("it is stopped with %v", err)
		}
		w.end(answers[0])
		// A client that reads from time to time is not stopped.
		w.end(answers[1])
		w.begin(answers[1])
		w.begin(answers[2])
		for range 10 {
			time.Sleep(patience - time.Second)
			w.end(answers[1])
			w.end(answers[2])
			w.begin(answers[1])
			w.begin(answers[2])
		}
		if got := stopped(); len(got) != 1 {
			t.Errorf("stopped %v, although all clients read", got)
		}
		w.end(answers[1])
		w.end(answers[2])
		if w.bytes != 0 || len(w.waiting) != 0 {
			t.Errorf("%d bytes of %d answers remain", w.bytes, len(w.waiting))
		}
	})
}

// TestWideAnswersThatWait runs two queries with wide rows, of which the first has a client that reads nothing. It ends,
// and its memory is free before the client reads on.
func TestWideAnswersThatWait(t *testing.T) {
	e := openEngine(t, t.TempDir())
	e.waits.budget, e.waits.patience = 1, 0
	release := make(chan struct{})
	waits := make(chan struct{})
	first, second := make(chan error, 1), make(chan error, 1)
	sql := "SELECT '" + strings.Repeat("x", 10_000) + "' || i AS a FROM range(100000) t(i)"
	go func() {
		first <- e.Query(t.Context(), &query.Request{SQL: sql, Database: "public"}, func([]byte) error {
			close(waits)
			<-release
			return nil
		})
	}()
	select {
	case <-waits:
	case err := <-first:
		t.Fatalf("the first query ended before it had rows: %v", err)
	}
	go func() {
		pieces := 0
		second <- e.Query(t.Context(), &query.Request{SQL: sql, Database: "public"}, func([]byte) error {
			if pieces++; pieces == 10 {
				return errDone
			}
			return nil
		})
	}()
	if err := <-second; !errors.Is(err, errDone) {
		t.Fatalf("the second query ended with %v", err)
	}
	for len(e.slots) > 0 { // both have given back what they had, although the first client still reads nothing
		select {
		case err := <-first:
			t.Fatalf("the first query ended before its client read: %v", err)
		case <-t.Context().Done():
			t.Fatal("the first query keeps its memory")
		case <-time.After(time.Millisecond):
		}
	}
	close(release)
	if err := <-first; errs.CodeOf(err) != errs.RuntimeResourcesExhausted {
		t.Errorf("the first query ended with %v", err)
	}
}

var errDone = errors.New("enough rows")

// TestWideRowsDirectly checks that the rows of an answer without DuckDB are sent in pieces of bounded size.
func TestWideRowsDirectly(t *testing.T) {
	t.Parallel()
	const rows, mostBytes = 500, 1 << 20
	columns := cols("ts:TimestampMicrosecond", "txt:String")
	var values [][]any
	for i := range rows {
		values = append(values, []any{i, strings.Repeat("x", 20_000)})
	}
	e := openEngine(t, t.TempDir())
	tab := table("t", columns, batch(t, columns, values...))
	var stream bytes.Buffer
	largest := 0
	err := e.Query(t.Context(), &query.Request{
		SQL: "SELECT * FROM t ORDER BY ts", Database: "public", Tables: []query.Table{tab},
	}, func(ipc []byte) error {
		largest = max(largest, len(ipc))
		stream.Write(ipc)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.direct.Load() != 1 {
		t.Error("DuckDB answered the statement")
	}
	if largest > mostBytes {
		t.Errorf("a piece of the answer has %d bytes, more than %d", largest, mostBytes)
	}
	got, err := read(&stream)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.rows) != rows {
		t.Errorf("%d rows, want %d", len(got.rows), rows)
	}
}
