package simulation

import (
	"context"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/shardclient"
)

// fate is what a writer was told of a row.
type fate int

const (
	acked   fate = iota + 1 // it must be there once
	unknown                 // it may be there, once
	refused                 // it must not be there
)

// History is what the writers were told of all rows.
type History struct {
	mu    sync.Mutex
	rows  map[rowID]fate
	acked int
	// longest is the longest time between two acknowledgements of one writer.
	longest time.Duration
}

func newHistory() *History { return &History{rows: map[rowID]fate{}} }

func (h *History) note(writer, first int64, rows int, f fate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range rows {
		h.rows[rowID{writer, first + int64(i)}] = f
	}
	if f == acked {
		h.acked += rows
	}
}

func (h *History) gap(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest = max(h.longest, d)
}

// ackedRows lists the rows that are acknowledged by now.
func (h *History) ackedRows() []rowID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []rowID
	for id, f := range h.rows {
		if f == acked {
			out = append(out, id)
		}
	}
	return out
}

// writer sends batches to one shard, as a router does.
type writer struct {
	id      int64
	shard   uint32
	table   *schemapb.Table
	client  *shardclient.Client
	history *History
	pause   time.Duration
	timeout time.Duration
	mutant  Mutant
}

// run writes until ctx ends.
func (w *writer) run(ctx context.Context) {
	table := schema.FromProto(w.table)
	next, last := int64(0), time.Now()
	for seq := uint64(1); ctx.Err() == nil; seq++ {
		rows := 1 + int(seq%7)
		batch := encode(table, time.Now().UnixNano(), w.id, next, rows, uint64(w.id), seq)
		// What is under way when the simulation ends is finished.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.timeout)
		_, err := w.client.Write(call, w.shard, [][]byte{batch}, func([]uint64) []*schemapb.Table { return []*schemapb.Table{w.table} })
		cancel()
		if err != nil && w.mutant == SkipDedup {
			seq++ // the same rows, as another batch
			batch = encode(table, time.Now().UnixNano(), w.id, next, rows, uint64(w.id), seq)
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.timeout)
			_, err = w.client.Write(call, w.shard, [][]byte{batch}, func([]uint64) []*schemapb.Table { return []*schemapb.Table{w.table} })
			cancel()
		}
		if w.mutant == AckEarly {
			err = nil
		}
		switch {
		case err == nil:
			w.history.note(w.id, next, rows, acked)
			w.history.gap(time.Since(last))
			last = time.Now()
		case errs.ReasonOf(err) == errs.OutcomeUnknown:
			w.history.note(w.id, next, rows, unknown)
		default:
			w.history.note(w.id, next, rows, refused)
		}
		next += int64(rows)
		select {
		case <-ctx.Done():
		case <-time.After(w.pause):
		}
	}
}
