package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// This file hands the rows of a table over to other shards: it copies them into another
// table there, round by round, until the shard takes no more and the copy has all.
// handoff_rows.go reads the rows, handoff_push.go sends them.
//
//	round 1     flush, then all rows; of a table that merges them, one row of each identity
//	round 2 …   flush, then what was written since, deletions included
//	last round  begun after the log said that the table is closed
//
// Rounds follow each other in the copy's log, so what is later here is later there. Every
// row is in the segments of exactly one round: a flush gives its segments a higher order than
// those before it, and the table's segments are not compacted in the meantime. Every batch is
// appended once by its number: so a table that keeps every row has each of them once.

const (
	// maxHandoffs bounds those of a shard.
	maxHandoffs = 64
	// handoffPause is the time between rounds that found little.
	handoffPause = 500 * time.Millisecond
	// handoffSoon is how long a round may take for the copy to count as caught up: writes
	// wait for about as long in the last one.
	handoffSoon = 500 * time.Millisecond
	// handoffOrphan is after what time without a question a handoff ends: nobody carries
	// it out any more, and the table's segments are not compacted meanwhile.
	handoffOrphan = 10 * time.Minute
	// handoffForget is for how long one that has ended is remembered without a question.
	handoffForget = time.Minute
)

// handoffs are the handoffs of a shard.
type handoffs struct {
	cfg        *Config
	segmentDir string
	operations *store.Operations
	tables     *store.Tables
	ledger     *store.Ledger
	scrub      *store.Scrubber
	// flush makes all rows durable in segments; wakeCompactor is called when segments are free.
	flush         func(context.Context) error
	wakeCompactor func()

	running sync.WaitGroup

	mu     sync.Mutex // guards the rest
	byCopy map[uint64]*handoff
	closed bool
}

// handoff is one table's, by this replica and this process. Whoever asks for it anew after
// either has changed must take another copy.
type handoff struct {
	of     *handoffs
	table  uint64
	copy   *schema.Handoff
	cancel func()
	hold   *store.Hold // until the handoff has ended

	// Of the round under way, and what it continues from.
	given   *rules.Definition // by the caller
	through uint64            // the highest order of the segments that were read
	merge   query.Merge
	eras    int
	targets []*target

	mu    sync.Mutex // guards the rest
	asked time.Time
	nodes map[uint32][]string
	state HandoffState
	done  chan struct{} // closed when it is complete, or failed
}

// HandoffState is how far a handoff is.
type HandoffState struct {
	// Done and Total are bytes of segments; what is read twice counts twice.
	Done, Total int64
	// CaughtUp: the copy has all but what was written in the last moments. Complete: the
	// shard takes no more by its log, and the copy has everything.
	CaughtUp, Complete bool
	// Err is why it has ended; the copy is of no use. Waits is why it stands still.
	Err   error
	Waits string
}

func (x *handoffs) begin(table *schemapb.Table, nodes map[uint32][]string) error {
	stored, err := rules.MarshalTables([]*schemapb.Table{table})
	if err != nil {
		return errs.Wrap(errs.InvalidArguments, err, "shard %d: hand over", x.cfg.ID)
	}
	defs, err := rules.ParseTables(stored)
	if err != nil {
		return errs.Wrap(errs.InvalidArguments, err, "shard %d: hand over", x.cfg.ID)
	}
	d := defs[0]
	if d.Handoff == nil || d.ID == 0 || d.Fault != nil {
		return errs.New(errs.InvalidArguments,
			"shard %d: hand over table %d: no handoff of it is under way, or it cannot be read", x.cfg.ID, d.ID)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.byCopy[d.Handoff.ID] != nil:
		return nil
	case x.tables.Dropped(d.ID):
		return store.TableGone(x.cfg.ID, d.ID)
	case x.closed:
		return errs.New(errs.ShardNotReady, "shard %d: it is closing", x.cfg.ID)
	case x.forget() >= maxHandoffs:
		return errs.New(errs.ShardBusy, "shard %d: %d tables are handed over already; try again later", x.cfg.ID,
			maxHandoffs).WithReason(errs.Busy)
	case x.cfg.Peers == nil:
		return errs.New(errs.IllegalState, "shard %d: it knows no other nodes", x.cfg.ID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &handoff{
		of: x, table: d.ID, copy: d.Handoff, cancel: cancel, hold: x.tables.Hold(d.ID), given: d,
		asked: time.Now(), nodes: nodes, done: make(chan struct{}),
	}
	if x.byCopy == nil {
		x.byCopy = map[uint64]*handoff{}
	}
	x.byCopy[h.copy.ID] = h
	x.running.Go(func() { h.run(ctx) })
	return nil
}

func (x *handoffs) ask(ctx context.Context, copyID uint64, nodes map[uint32][]string,
	wait time.Duration,
) (st HandoffState, ok bool) {
	x.mu.Lock()
	h := x.byCopy[copyID]
	x.mu.Unlock()
	if h == nil {
		return st, false
	}
	h.mu.Lock()
	h.asked = time.Now()
	if len(nodes) > 0 {
		h.nodes = nodes
	}
	h.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-h.done:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state, true
}

// forget forgets those that have ended and that nobody asks about, and counts the
// others; mu is held.
func (x *handoffs) forget() int {
	maps.DeleteFunc(x.byCopy, func(_ uint64, h *handoff) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return !h.holds() && time.Since(h.asked) > handoffForget
	})
	return len(x.byCopy)
}

func (x *handoffs) end(copyID uint64) {
	x.mu.Lock()
	h := x.byCopy[copyID]
	delete(x.byCopy, copyID)
	x.mu.Unlock()
	if h != nil {
		h.cancel()
	}
}

// close ends them all, waits until they have ended, and lets none begin.
func (x *handoffs) close() {
	x.mu.Lock()
	x.closed = true
	for _, h := range x.byCopy {
		h.cancel()
	}
	x.mu.Unlock()
	x.running.Wait()
}

func (h *handoff) holds() bool {
	select {
	case <-h.done:
		return false
	default:
		return true
	}
}

func (h *handoff) run(ctx context.Context) {
	s := h.of
	ended := s.operations.Begin("handoff", fmt.Sprintf("table %d to %d shards", h.table, len(h.copy.Shards)), 0)
	err := h.rounds(ctx)
	ended(err)
	if err == nil {
		s.cfg.Logger.Info("the rows of a table were copied to other shards", "table", h.table, "copy", h.copy.ID, "shards",
			h.copy.Shards)
	} else if !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Warn("could not copy the rows of a table to other shards", "table", h.table, "copy",
			h.copy.ID, "error", err)
	}
	h.mu.Lock()
	h.state.Err, h.state.Complete = err, err == nil
	close(h.done)
	h.mu.Unlock()
	h.hold.Release()
	s.wakeCompactor()
}

// errGivenUp ends a handoff whose copy will not be the table.
var errGivenUp = errors.New("the handoff was given up")

// rounds copies until the copy has everything.
func (h *handoff) rounds(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.open(ctx, cancel)
	defer h.close()
	generation := h.of.ledger.GenerationNow()
	for round := 1; ; round++ {
		start := time.Now()
		last, err := h.closed()
		if err == nil {
			err = h.of.flush(ctx)
		}
		if err == nil && h.of.ledger.GenerationNow() != generation {
			err = store.ErrReplaced
		}
		if err == nil {
			err = h.round(ctx, round == 1)
		}
		if err != nil {
			return cause(ctx, err)
		}
		if last {
			return nil
		}
		soon := time.Since(start) < handoffSoon
		h.mu.Lock()
		h.state.CaughtUp = h.state.CaughtUp || soon
		orphan := time.Since(h.asked) > handoffOrphan
		h.mu.Unlock()
		if orphan {
			return fmt.Errorf("nobody has asked for it in %s", handoffOrphan)
		}
		if !soon {
			continue
		}
		timer := time.NewTimer(handoffPause)
		select {
		case <-h.hold.Wait():
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// closed reports whether the log says that the shard takes no more rows of the table until
// the copy has taken its place.
func (h *handoff) closed() (bool, error) {
	d, dropped := h.hold.Definition()
	if dropped {
		return false, store.TableGone(h.of.cfg.ID, h.table)
	}
	if d == nil || d.Version < h.given.Version {
		return false, nil
	}
	if d.Handoff == nil || d.Handoff.ID != h.copy.ID {
		return false, errGivenUp
	}
	return d.Writable().Closed, nil
}

// cause returns what ended ctx, if that is why err came.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}
