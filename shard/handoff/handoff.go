// Package handoff copies the rows of a table to other shards, in rounds, into another table there.
// It continues until the shard takes no more rows of the table and the copy has all of them. The
// coordinator of the cluster starts copies, requests their progress, and ends them. This package
// does not know which of the two tables is read and written.
//
//	round 1     flush, then copy all rows; of a table that merges rows, one row of each identity
//	round 2 …   flush, then copy the rows and deletions that were written since
//	last round  starts after a log entry has closed the table for writes
//
// Rounds follow each other in the copy's log, so rows have the same order there as here. Every row
// is in the segments of exactly one round: a flush gives its segments a higher order than earlier
// ones, and the table's segments are not compacted during the copy. Every batch is appended once,
// because its number identifies it. So a table that keeps every row has each of them once.
//
// handoff.go contains the copies of a shard, copy.go the rounds of a copy, rows.go reads the rows
// of a round, and send.go sends them.
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
	"cordwood/shard/cold/bucket"
	"cordwood/shard/install"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

const (
	// maxCopies is the maximum number of copies of a shard.
	maxCopies = 64
	// forgetAfter is how long the result of an ended copy is kept after the last request for it.
	forgetAfter = time.Minute
)

// Config configures the copies of a shard. All fields are required, except Peers, Room and MergedBytes.
type Config struct {
	ShardID uint32
	// Segments configures where the segments of the shard are.
	Segments segment.Config
	// Peers connects to the shard service of a node. Without it no copy begins.
	Peers func(nodeID string) (grpc.ClientConnInterface, error)
	// Rate limits the rate at which rows are sent, together with all other users of it.
	Rate *install.Rate
	// Bucket has the rows that are in object storage. It is nil if there is none.
	Bucket bucket.Bucket
	// Dir is the folder of the shard.
	Dir string
	// Room reports whether there is room on the local disk for several objects. Nil means that there is.
	Room func() bool
	// MergedBytes is about how many bytes of objects are fetched at a time if rows of several have to be merged; see
	// mergedBytes, which is the default.
	MergedBytes int64
	// Store contains the rows.
	Store      *store.Store
	Operations *store.Operations
	// Flush makes all applied rows durable in segments.
	Flush  func(context.Context) error
	Logger *slog.Logger
}

// Copies holds the copies of a shard's tables that are in progress. Its methods may be called
// concurrently.
type Copies struct {
	cfg     Config
	nodes   leader.Nodes // the health of the nodes that take the rows
	running sync.WaitGroup
	object  chan struct{} // holds a token while an object is in a file

	mu     sync.Mutex // guards the rest; taken before tableCopy.mu
	byID   map[uint64]*tableCopy
	closed bool
}

// New returns the set of copies of a shard. It is empty at first.
func New(cfg Config) *Copies {
	if cfg.MergedBytes == 0 {
		cfg.MergedBytes = mergedBytes
	}
	return &Copies{cfg: cfg, byID: map[uint64]*tableCopy{}, object: make(chan struct{}, 1)}
}

// State is the progress of a copy.
type State struct {
	// Done and Total are bytes of segments. Bytes that are read twice count twice.
	Done, Total int64
	// CaughtUp means that the copy has all rows except those written in the last moments. Complete
	// means that the table is closed for writes, and that the copy has all rows.
	CaughtUp, Complete bool
	// Err is the error that ended the copy, which is then useless. Waits is the reason why the copy
	// makes no progress.
	Err   error
	Waits string
}

// Begin starts to copy the rows of a table into the shards of its handoff. nodes lists the nodes of
// each of these shards, the likely leader first. If the copy exists already, it continues.
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

// Wait returns the progress of a copy, after up to wait or when it has ended. ok is false if this
// process does not know the copy. nodes, unless empty, replaces the nodes of Begin.
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

// forget removes the copies that ended more than forgetAfter ago, and counts the others; mu must be
// held.
func (x *Copies) forget() int {
	maps.DeleteFunc(x.byID, func(_ uint64, h *tableCopy) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.ended() && time.Since(h.asked) > forgetAfter
	})
	return len(x.byID)
}

// End cancels a copy and removes it.
func (x *Copies) End(copyID uint64) {
	x.mu.Lock()
	h := x.byID[copyID]
	delete(x.byID, copyID)
	x.mu.Unlock()
	if h != nil {
		h.cancel()
	}
}

// Close cancels all copies, waits until they have ended, and prevents new ones.
func (x *Copies) Close() {
	x.mu.Lock()
	x.closed = true
	for _, h := range x.byID {
		h.cancel()
	}
	x.mu.Unlock()
	x.running.Wait()
}
