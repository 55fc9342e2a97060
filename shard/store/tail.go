package store

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/rules"
)

// A Tail receives the rows of one table from one index of the log on, each row once. For this,
// Apply copies the encoded batches of the table.
//
// One goroutine calls Next and TakeView. Close may be called by any goroutine, and twice.
type Tail struct {
	tables *Tables
	table  uint64
	view   *View
	// ready has an element if Next may have something new to return.
	ready chan struct{}

	// Guarded by Tables.mu.
	queue  [][]byte
	bytes  int64
	err    error // why no more rows follow
	closed bool
}

// tails are the tails of a shard; Tables.mu guards them.
type tails struct {
	maxBytes int64              // Config.TailBytes
	lost     prometheus.Counter // tails that were ended because their reader was too slow
	byTable  map[uint64][]*Tail
	open     int
	bytes    int64 // in all queues
}

// Tail begins to follow a table; see Shard.Tail.
func (rd *Readers) Tail(tableID uint64) (*Tail, error) {
	tb := rd.tables
	t := &Tail{tables: tb, table: tableID, ready: make(chan struct{}, 1)}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.closing || tb.closed {
		return nil, tailEnds(tb.cfg.ID)
	}
	if _, gone := tb.State.Dropped[tableID]; gone {
		return nil, TableGone(tb.cfg.ID, tableID)
	}
	if t.view = rd.viewLocked(tableID); t.view == nil {
		return nil, tailEnds(tb.cfg.ID)
	}
	if tb.tails.byTable == nil {
		tb.tails.byTable = map[uint64][]*Tail{}
	}
	tb.tails.byTable[tableID] = append(tb.tails.byTable[tableID], t)
	tb.tails.open++
	return t, nil
}

func tailEnds(shard uint32) error {
	return errs.New(errs.ShardNotReady, "shard %d: it is closing", shard).WithRetryAfter(time.Second)
}

// TakeView returns the View of the table's rows at the index after which Next returns rows. A
// second call returns nil. The caller must close the View.
func (t *Tail) TakeView() *View {
	v := t.view
	t.view = nil
	return v
}

// Definition returns the shard's newest definition of the table, or nil if it has none.
func (t *Tail) Definition() *schema.Table {
	t.tables.mu.RLock()
	defer t.tables.mu.RUnlock()
	if d := t.tables.State.Tables[t.table]; d != nil {
		return d.Table
	}
	return nil
}

// Next waits for rows and returns encoded batches in the order in which they were applied: about
// most bytes, but at least one batch. They belong to the caller.
//
// Its error is the error of ctx, RateLimited if rows were lost because Next was called too rarely,
// TableNotFound if the table was dropped, or ShardNotReady if the shard is closing.
func (t *Tail) Next(ctx context.Context, most int64) ([][]byte, error) {
	for {
		out, err := t.take(most)
		if len(out) > 0 || err != nil {
			return out, err
		}
		select {
		case <-t.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Waiting returns how many encoded bytes Next could return.
func (t *Tail) Waiting() int64 {
	t.tables.mu.RLock()
	defer t.tables.mu.RUnlock()
	return t.bytes
}

func (t *Tail) take(most int64) ([][]byte, error) {
	tb := t.tables
	tb.mu.Lock()
	defer tb.mu.Unlock()
	n, size := 0, int64(0)
	for n < len(t.queue) && (n == 0 || size+int64(len(t.queue[n])) <= most) {
		size += int64(len(t.queue[n]))
		n++
	}
	if n == 0 {
		return nil, t.err
	}
	out := t.queue[:n:n]
	t.queue = t.queue[n:]
	t.bytes -= size
	tb.tails.bytes -= size
	return out, nil
}

// Close ends the tail.
func (t *Tail) Close() {
	tb := t.tables
	tb.mu.Lock()
	if !t.closed {
		t.closed = true
		t.end(errClosedTail)
		tb.tails.remove(t)
	}
	tb.mu.Unlock()
	if v := t.TakeView(); v != nil {
		v.Close()
	}
}

var errClosedTail = errors.New("shard: the tail is closed")

// end makes Next return err at once. mu must be held.
func (t *Tail) end(err error) {
	if t.err != nil {
		return
	}
	t.err = err
	t.tables.tails.bytes -= t.bytes
	t.queue, t.bytes = nil, 0
	t.wake()
}

func (t *Tail) wake() {
	select {
	case t.ready <- struct{}{}:
	default:
	}
}

func (x *tails) remove(t *Tail) {
	list := x.byTable[t.table]
	for i := range list {
		if list[i] == t {
			list = append(list[:i:i], list[i+1:]...)
			x.open--
			break
		}
	}
	if len(list) == 0 {
		delete(x.byTable, t.table)
		return
	}
	x.byTable[t.table] = list
}

// deliver passes applied batches to the tails of their tables. encoded holds the same batches as
// they are in the log. It is called after the batches have been linked.
//
// It leaves out delete markers, which are not rows, and rows that no query will ever return.
func (x *tails) deliver(batches []*column.Batch, encoded [][]byte, defs map[uint64]*rules.Definition) {
	if x.open == 0 {
		return
	}
	for i, b := range batches {
		list := x.byTable[b.TableID]
		if len(list) == 0 || b.Column(schema.DeletedColumnID) != nil {
			continue
		}
		if def := defs[b.TableID]; def != nil && def.Instant {
			continue // discarded at once
		}
		data := bytes.Clone(encoded[i]) // copied, because the memory belongs to the log
		for _, t := range list {
			x.push(t, data)
		}
	}
}

// tailShare limits the memory of a shard's tails to that of tailShare full queues.
const tailShare = 4

// push adds a batch to the queue of a tail, or ends the tail.
func (x *tails) push(t *Tail, data []byte) {
	if t.err != nil {
		return
	}
	t.queue = append(t.queue, data)
	t.bytes += int64(len(data))
	x.bytes += int64(len(data))
	if t.bytes > x.maxBytes || x.bytes > tailShare*x.maxBytes && t.bytes > x.bytes/int64(max(1, x.open)) {
		x.lost.Inc()
		t.end(errs.New(errs.RateLimited,
			"the reader is too slow: %d bytes of rows were waiting, which is over the limit; start the tail "+
				"again", t.bytes))
		return
	}
	t.wake()
}

// end ends the tails of a table, or all if table is 0.
func (x *tails) end(table uint64, err error) {
	for id, list := range x.byTable {
		if table != 0 && id != table {
			continue
		}
		for _, t := range list {
			t.end(err)
		}
	}
}
