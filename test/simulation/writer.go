package simulation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/write"
)

// fate is what a writer was told of a row.
type fate int

const (
	acked   fate = iota + 1 // it must be there once
	unknown                 // it may be there, once
	refused                 // it must not be there
)

// rowID is a row: its writer, and the writer's number of it.
type rowID struct{ writer, number int64 }

// History is what the writers were told of all rows.
type History struct {
	mu    sync.Mutex
	rows  map[rowID]fate
	acked int
	// by is how many rows of each writer are acknowledged.
	by map[int64]int
	// longest is the longest time between two acknowledgements of one writer.
	longest time.Duration
}

func newHistory() *History { return &History{rows: map[rowID]fate{}, by: map[int64]int{}} }

func (h *History) note(writer, first int64, rows int, f fate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range rows {
		h.rows[rowID{writer, first + int64(i)}] = f
	}
	if f == acked {
		h.acked += rows
		h.by[writer] += rows
	}
}

func (h *History) gap(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest = max(h.longest, d)
}

// ackedRows lists the rows that are acknowledged by now, of those writers.
func (h *History) ackedRows(of func(writer int64) bool) []rowID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []rowID
	for id, f := range h.rows {
		if f == acked && of(id.writer) {
			out = append(out, id)
		}
	}
	return out
}

// writer is a client that sends rows for one table through the routers, each request
// through another one. Every second writer gives its requests keys and sends each again
// until it is stored.
type writer struct {
	id      int64
	table   table
	keyed   bool
	routers []*router
	history *History
	pause   time.Duration
	timeout time.Duration
	mutant  Mutant
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context) {
	next, last := int64(0), time.Now()
	for n := 1; ctx.Err() == nil; n++ {
		rows := 1 + n%7
		f := w.store(ctx, n, next, rows)
		w.history.note(w.id, next, rows, f)
		if f == acked {
			w.history.gap(time.Since(last))
			last = time.Now()
		}
		next += int64(rows)
		select {
		case <-ctx.Done():
		case <-time.After(w.pause):
		}
	}
}

// store sends the nth request.
func (w *writer) store(ctx context.Context, n int, first int64, rows int) fate {
	var key write.Key
	if w.keyed {
		key = write.Key{Text: fmt.Sprint(w.id, "/", n)}
	}
	now, told := time.Now(), refused
	for try := 0; ; try++ {
		if try > 0 && w.mutant == SkipDedup {
			key.Text += "again" // the same rows, as another request
		}
		// What is under way when the simulation ends is finished.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.timeout)
		_, err := w.routers[(n+try)%len(w.routers)].writer.WriteKeyed(call, w.table.output(now, w.id, first, rows), key)
		cancel()
		if w.mutant == AckEarly {
			err = nil
		}
		if err == nil {
			return acked
		}
		if partial := (*write.PartialError)(nil); errors.As(err, &partial) || errs.ReasonOf(err) == errs.OutcomeUnknown {
			told = unknown
		}
		if !w.keyed || ctx.Err() != nil {
			return told
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}
