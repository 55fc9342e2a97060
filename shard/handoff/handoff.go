// Package handoff copies the rows of a table to other shards, in rounds, into another table there. It
// continues until the shard takes no more rows of the table and the copy has all of them. The
// coordinator of the cluster starts copies, asks for their progress, and ends them. This package does
// not know which of the two tables is read and written.
//
//	round 1     flush, then all rows; of a table that merges them, one row of each identity
//	round 2 …   flush, then what was written since, including deletions
//	last round  starts after the log said that the table is closed
//
// Rounds follow each other in the copy's log, so rows that are later here are later there. Every row is
// in the segments of exactly one round: a flush gives its segments a higher order than earlier ones, and
// the table's segments are not compacted meanwhile. Every batch is appended once, because its number
// identifies it. So a table that keeps every row has each of them once.
//
// handoff.go has the copies of a shard, copy.go the rounds of a copy, rows.go reads the rows of a
// round, and send.go sends them.
package handoff

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/schemapb"
	"cordwood/shard/install"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

const (
	// maxCopies bounds the copies of a shard.
	maxCopies = 64
	// forgetAfter is for how long a copy that has ended is remembered without a question.
	forgetAfter = time.Minute
)

// Config says whose tables are copied. All fields are required, except Peers.
type Config struct {
	ShardID uint32
	// Segments says where the segments of the shard are.
	Segments segment.Config
	// Peers connects to the shard service of a node. Without it no copy begins.
	Peers func(nodeID string) (grpc.ClientConnInterface, error)
	// Rate bounds how fast rows are sent, together with whatever else shares it.
	Rate *install.Rate
	// Store has the rows.
	Store      *store.Store
	Operations *store.Operations
	// Flush makes all rows that are applied durable in segments.
	Flush  func(context.Context) error
	Logger *slog.Logger
}

// Copies are the copies of a shard's tables that are under way. Its methods may be called concurrently.
type Copies struct {
	cfg     Config
	nodes   leader.Nodes // what is known of the nodes that take the rows
	running sync.WaitGroup

	mu     sync.Mutex // guards the rest; taken before tableCopy.mu
	byID   map[uint64]*tableCopy
	closed bool
}

// New returns the set of copies of a shard. It is empty at first.
func New(cfg Config) *Copies { return &Copies{cfg: cfg, byID: map[uint64]*tableCopy{}} }

// State is how far a copy is.
type State struct {
	// Done and Total are bytes of segments; what is read twice counts twice.
	Done, Total int64
	// CaughtUp: the copy has all but what was written in the last moments. Complete: the
	// shard takes no more by its log, and the copy has everything.
	CaughtUp, Complete bool
	// Err is why it has ended; the copy is of no use. Waits is why it stands still.
	Err   error
	Waits string
}

// Begin begins to copy the rows of a table into the shards that its handoff names; nodes are the
// nodes of each of these shards, the likely leader first. A copy that was begun already continues.
func (x *Copies) Begin(table *schemapb.Table, nodes map[uint32][]string) error {
	stored, err := rules.MarshalTables([]*schemapb.Table{table})
	if err != nil {
		return errs.Wrap(errs.InvalidArguments, err, "shard %d: hand over", x.cfg.ShardID)
	}
	defs, err := rules.ParseTables(stored)
	if err != nil {
		return errs.Wrap(errs.InvalidArguments, err, "shard %d: hand over", x.cfg.ShardID)
	}
	d := defs[0]
	if d.Handoff == nil || d.ID == 0 || d.Fault != nil {
		return errs.New(errs.InvalidArguments,
			"shard %d: hand over table %d: no handoff of it is under way, or it cannot be read", x.cfg.ShardID, d.ID)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.byID[d.Handoff.ID] != nil:
		return nil
	case x.cfg.Store.Definitions.Dropped(d.ID):
		return store.TableGone(x.cfg.ShardID, d.ID)
	case x.closed:
		return errs.New(errs.ShardNotReady, "shard %d: it is closing", x.cfg.ShardID)
	case x.forget() >= maxCopies:
		return errs.New(errs.ShardBusy, "shard %d: %d tables are handed over already; try again later", x.cfg.ShardID,
			maxCopies).WithReason(errs.Busy)
	case x.cfg.Peers == nil:
		return errs.New(errs.IllegalState, "shard %d: it knows no other nodes", x.cfg.ShardID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &tableCopy{
		of: x, table: d.ID, copy: d.Handoff, cancel: cancel, source: x.cfg.Store.Readers.CopySource(d.ID), given: d,
		asked: time.Now(), nodes: nodes, done: make(chan struct{}),
	}
	x.byID[h.copy.ID] = h
	x.running.Go(func() { h.run(ctx) })
	return nil
}

// Wait reports how far a copy is, after up to wait or once it has come to its end; ok is false if
// this process does not know it. nodes, unless empty, replace the nodes that Begin was given.
func (x *Copies) Wait(ctx context.Context, copyID uint64, nodes map[uint32][]string,
	wait time.Duration,
) (st State, ok bool) {
	x.mu.Lock()
	h := x.byID[copyID]
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

// forget removes the copies that have ended and are not asked about, and counts the others; mu is
// held.
func (x *Copies) forget() int {
	maps.DeleteFunc(x.byID, func(_ uint64, h *tableCopy) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.ended() && time.Since(h.asked) > forgetAfter
	})
	return len(x.byID)
}

// End ends a copy and forgets it.
func (x *Copies) End(copyID uint64) {
	x.mu.Lock()
	h := x.byID[copyID]
	delete(x.byID, copyID)
	x.mu.Unlock()
	if h != nil {
		h.cancel()
	}
}

// Close ends all copies, waits until they have ended, and lets none begin.
func (x *Copies) Close() {
	x.mu.Lock()
	x.closed = true
	for _, h := range x.byID {
		h.cancel()
	}
	x.mu.Unlock()
	x.running.Wait()
}
