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
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/rules"
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
	operations *operations
	tables     *tables
	ledger     *ledger
	scrub      *scrubber
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
	hold   *hold // until the handoff has ended

	// Of the round under way, and what it goes on from.
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

// HandOver begins to copy the rows of a table into the shards that its handoff names;
// nodes are those of each of these shards, the likely leader first. A handoff that was
// begun already goes on.
func (s *Shard) HandOver(table *schemapb.Table, nodes map[uint32][]string) error {
	return s.handoffs.begin(table, nodes)
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
		return errs.New(errs.InvalidArguments, "shard %d: hand over table %d: no handoff of it is under way, or it cannot be read", x.cfg.ID, d.ID)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.byCopy[d.Handoff.ID] != nil:
		return nil
	case x.tables.dropped(d.ID):
		return tableGone(x.cfg.ID, d.ID)
	case x.closed:
		return errs.New(errs.ShardNotReady, "shard %d: it is closing", x.cfg.ID)
	case x.forget() >= maxHandoffs:
		return errs.New(errs.ShardBusy, "shard %d: %d tables are handed over already; try again later", x.cfg.ID, maxHandoffs).WithReason(errs.Busy)
	case x.cfg.Peers == nil:
		return errs.New(errs.IllegalState, "shard %d: it knows no other nodes", x.cfg.ID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &handoff{
		of: x, table: d.ID, copy: d.Handoff, cancel: cancel, hold: x.tables.hold(d.ID), given: d,
		asked: time.Now(), nodes: nodes, done: make(chan struct{}),
	}
	if x.byCopy == nil {
		x.byCopy = map[uint64]*handoff{}
	}
	x.byCopy[h.copy.ID] = h
	x.running.Go(func() { h.run(ctx) })
	return nil
}

// Handoff tells how far a handoff is, after up to wait or once it has come to its end;
// ok is false if this process does not know it.
func (s *Shard) Handoff(ctx context.Context, copyID uint64, nodes map[uint32][]string, wait time.Duration) (st HandoffState, ok bool) {
	return s.handoffs.ask(ctx, copyID, nodes, wait)
}

func (x *handoffs) ask(ctx context.Context, copyID uint64, nodes map[uint32][]string, wait time.Duration) (st HandoffState, ok bool) {
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

// EndHandoff ends a handoff and forgets it.
func (s *Shard) EndHandoff(copyID uint64) { s.handoffs.end(copyID) }

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
	ended := s.operations.begin("handoff", fmt.Sprintf("table %d to %d shards", h.table, len(h.copy.Shards)), 0)
	err := h.rounds(ctx)
	ended(err)
	if err == nil {
		s.cfg.Logger.Info("the rows of a table were copied to other shards", "table", h.table, "copy", h.copy.ID, "shards", h.copy.Shards)
	} else if !errors.Is(err, context.Canceled) {
		s.cfg.Logger.Warn("could not copy the rows of a table to other shards", "table", h.table, "copy", h.copy.ID, "error", err)
	}
	h.mu.Lock()
	h.state.Err, h.state.Complete = err, err == nil
	close(h.done)
	h.mu.Unlock()
	h.hold.release()
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
	generation := h.of.ledger.generationNow()
	for round := 1; ; round++ {
		start := time.Now()
		last, err := h.closed()
		if err == nil {
			err = h.of.flush(ctx)
		}
		if err == nil && h.of.ledger.generationNow() != generation {
			err = errReplaced
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
		case <-h.hold.wait():
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// closed reports whether the log says that the shard takes no more rows of the table until
// the copy has taken its place.
func (h *handoff) closed() (bool, error) {
	d, dropped := h.hold.definition()
	if dropped {
		return false, tableGone(h.of.cfg.ID, h.table)
	}
	if d == nil || d.Version < h.given.Version {
		return false, nil
	}
	if d.Handoff == nil || d.Handoff.ID != h.copy.ID {
		return false, errGivenUp
	}
	return d.Writable().Closed, nil
}

// tookOver reports whether a replica has all rows of a table that was handed over to its
// shard: its log has told it that the copy is the table. A copy has epoch 1 and the table
// a later one, and nobody knows of that before the last row of the copy is in the log.
func (tb *tables) tookOver(tableID uint64) bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.state.Tables[tableID]
	return d != nil && d.Writable().Epoch > 1
}

// HandOver has a shard of this node copy a table into others, or tells how far it is.
func (s *server) HandOver(ctx context.Context, req *shardpb.HandOverRequest) (*shardpb.HandOverResponse, error) {
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, errs.ToGRPC(unreachable(req.ShardId))
	}
	id := req.GetTable().GetHandoff().GetTableId()
	if id == 0 {
		return nil, errs.ToGRPC(errs.New(errs.InvalidArguments, "shard %d: hand over: the table names no handoff", req.ShardId))
	}
	if req.End {
		sh.EndHandoff(id)
		return &shardpb.HandOverResponse{Unknown: true}, nil
	}
	nodes := map[uint32][]string{}
	for _, n := range req.Nodes {
		nodes[n.ShardId] = n.NodeIds
	}
	if req.Begin {
		if _, err := s.ready(ctx, req.ShardId); err != nil {
			return nil, errs.ToGRPC(err)
		}
		if err := sh.HandOver(req.Table, nodes); err != nil {
			return nil, errs.ToGRPC(err)
		}
	}
	st, known := sh.Handoff(ctx, id, nodes, min(time.Duration(req.WaitMillis)*time.Millisecond, maxHandoffWait))
	resp := &shardpb.HandOverResponse{
		Unknown: !known, DoneBytes: st.Done, TotalBytes: st.Total, CaughtUp: st.CaughtUp, Complete: st.Complete, Waits: st.Waits,
	}
	if st.Err != nil {
		resp.Error = st.Err.Error()
	}
	return resp, nil
}

// maxHandoffWait bounds for how long one question waits.
const maxHandoffWait = 5 * time.Second

// cause returns what ended ctx, if that is why err came.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}
