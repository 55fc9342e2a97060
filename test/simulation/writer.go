package simulation

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/write"
	"cordwood/test/linear"
)

// fate is the outcome of a row according to the answer to its writer.
type fate int

const (
	acked   fate = iota + 1 // it must be stored, once
	unknown                 // it may be stored, once
	refused                 // it must not be stored
)

// rowID identifies a row by its writer, and the writer's number for it.
type rowID struct{ writer, number int64 }

// sending records when a row was first sent and, if it was acknowledged, when.
type sending struct {
	fate
	begun, ended time.Duration
}

// into adds a row to a set that is checked.
func (s sending) into(set *linear.Set[rowID], row rowID) {
	switch s.fate {
	case acked:
		set.Add(row, s.begun, s.ended)
	case unknown:
		set.Add(row, s.begun, linear.Never)
	case refused:
		set.Refuse(row)
	}
}

// History contains the answers to the writers for all rows.
type History struct {
	mu    sync.Mutex
	rows  map[rowID]sending
	acked int
	// by is the number of acknowledged rows, by writer.
	by map[int64]int
	// longest is the longest time between two acknowledgements of one writer.
	longest time.Duration
}

func newHistory() *History { return &History{rows: map[rowID]sending{}, by: map[int64]int{}} }

func (h *History) note(writer, first int64, rows int, s sending) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range rows {
		h.rows[rowID{writer, first + int64(i)}] = s
	}
	if s.fate == acked {
		h.acked += rows
		h.by[writer] += rows
	}
}

func (h *History) gap(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest = max(h.longest, d)
}

// writer is a client that sends rows of one table through the routers, each request through a different one. Every
// second writer gives its requests keys, and repeats each request until it is stored.
type writer struct {
	id      int64
	table   table
	keyed   bool
	routers []*router
	history *History
	start   time.Time // start of the run
	pause   time.Duration
	timeout time.Duration
	mutant  Mutant
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context) {
	next, last := int64(0), time.Now()
	for n := 1; ctx.Err() == nil; n++ {
		rows := 1 + n%7
		begun := time.Since(w.start)
		f := w.store(ctx, n, next, rows)
		w.history.note(w.id, next, rows, sending{f, begun, time.Since(w.start)})
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
	now, outcome := time.Now(), refused
	for try := 0; ; try++ {
		if try > 0 && w.mutant == SkipDedup {
			key.Text += "again" // the same rows as in another request
		}
		// A request in flight is completed when the simulation ends.
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
			outcome = unknown
		}
		if !w.keyed || ctx.Err() != nil {
			return outcome
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}
