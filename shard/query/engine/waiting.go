package engine

import (
	"context"
	"sync"
	"time"

	"cordwood/proto/errs"
)

// This file bounds the memory of rows that are ready while the client does not take them. DuckDB makes chunks of 2,048
// rows, however wide these are, and several chunks of an answer are ready at any time: 100 MB for rows of 10 KB.

const (
	// wideBytes is the size from which a chunk counts. Narrower chunks are bounded by the number of queries that run.
	wideBytes = 1 << 20
	// patience is how long an answer may wait for its client while the memory is needed.
	patience = 10 * time.Second
	// waitingPart is the part of MemoryLimit that rows of wide answers may take while they wait.
	waitingPart = 4
	// chunksBeside is how many chunks of an answer are in memory besides one for each thread: those in DuckDB's buffer,
	// and the one that is being sent. Eight clients that read no rows of 10 KB were measured.
	chunksBeside = 3
)

// waits are the answers with wide rows that wait for their clients.
type waits struct {
	budget   int64
	patience time.Duration

	mu      sync.Mutex // guards the fields below
	waiting map[*wait]struct{}
	bytes   int64
	// timed means that a timer will call again.
	timed bool
}

// wait is an answer that waits.
type wait struct {
	bytes int64
	since time.Time
	// stop ends the query.
	stop context.CancelCauseFunc
}

func newWaits(cfg Config) *waits {
	return &waits{
		budget: cfg.MemoryLimit / waitingPart, patience: patience, waiting: make(map[*wait]struct{}, cfg.Concurrency),
	}
}

// begin says that an answer begins to wait. The caller calls end after it.
func (w *waits) begin(x *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x.since = time.Now()
	w.waiting[x] = struct{}{}
	w.bytes += x.bytes
	w.stopSome()
}

// end says that an answer does not wait any longer.
func (w *waits) end(x *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leave(x)
}

func (w *waits) leave(x *wait) {
	if _, ok := w.waiting[x]; ok {
		delete(w.waiting, x)
		w.bytes -= x.bytes
	}
}

// stopSome stops answers while all of them together have more than the budget: first the one that has waited longest,
// because its client reads least. An answer that waits alone is never stopped. w.mu is held.
func (w *waits) stopSome() {
	for w.bytes > w.budget && len(w.waiting) > 1 {
		var oldest *wait
		for x := range w.waiting {
			if oldest == nil || x.since.Before(oldest.since) {
				oldest = x
			}
		}
		waited := time.Since(oldest.since)
		if left := w.patience - waited; left > 0 {
			if !w.timed {
				w.timed = true
				time.AfterFunc(left, w.again)
			}
			return
		}
		w.leave(oldest)
		oldest.stop(errs.New(errs.RuntimeResourcesExhausted, "query: stopped, because about %d MiB of its rows waited for "+
			"%.0f s and its client took none, while other queries needed the memory; read the answer faster, or select fewer "+
			"or shorter columns", max(1, oldest.bytes>>20), waited.Seconds()))
	}
}

func (w *waits) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timed = false
	w.stopSome()
}

// send passes a piece of the answer to the client. If it has to wait with wide rows, other queries may end it.
func (r *run) send(ipc []byte) error {
	r.sent = true
	if r.ready < wideBytes {
		err := r.emit(ipc)
		if err != nil {
			r.emitErr = err
		}
		return err
	}
	x := &wait{bytes: r.ready, stop: r.stop}
	r.engine.waits.begin(x)
	defer r.engine.waits.end(x)
	done, emit := make(chan error, 1), r.emit
	go func() { done <- emit(ipc) }()
	select {
	case r.emitErr = <-done:
		return r.emitErr
	case <-r.ctx.Done():
		r.emitting = done
		return r.ctx.Err()
	}
}

// chunk says that the next pieces of the answer come from a chunk of this many bytes.
func (r *run) chunk(bytes uint64) {
	if r.ready = int64(bytes); r.ready >= wideBytes {
		r.ready *= int64(r.engine.cfg.Threads + chunksBeside)
	}
}
