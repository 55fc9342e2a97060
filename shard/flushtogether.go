package shard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

// This file makes the replicas of a shard freeze their memtables at the same index, so that only the leader writes
// segments and the followers take them. DESIGN.md ("Flushing together") describes it.

const (
	// answeredWithin is how recently a follower must have answered the leader to be asked: the leader does not wait
	// for a node that is down.
	answeredWithin = 500 * time.Millisecond
	// maxLag is the maximum number of entries that such a follower may lack.
	maxLag = 16
)

// hold delays further proposals of writes until release is called. It returns nil if the proposals in flight do
// not end in time.
func (wr *writer) hold() (release func()) {
	ctx, cancel := context.WithTimeout(context.Background(), wr.cfg.holdLimit)
	defer cancel()
	if err := wr.proposals.Acquire(ctx, maxInFlight); err != nil {
		return nil
	}
	return sync.OnceFunc(func() { wr.proposals.Release(maxInFlight) })
}

// followers returns the nodes of the other members that keep up, if this replica leads.
func (sd *schedule) followers() (nodes []string) {
	if sd.cfg.Transport == nil || !sd.replica.IsLeader() {
		return nil
	}
	st := sd.replica.Stats()
	for _, m := range st.Members {
		if m.NodeID != sd.cfg.NodeID && m.Silent >= 0 && m.Silent <= answeredWithin && m.LastIndex+maxLag >= st.LastIndex {
			nodes = append(nodes, m.NodeID)
		}
	}
	return nodes
}

// follows reports whether another replica leads, which will make this one flush.
func (sd *schedule) follows() bool {
	leader := sd.replica.Leader()
	return sd.cfg.Transport != nil && leader != "" && leader != sd.cfg.NodeID
}

// snapshot makes the replica take a snapshot, which flushes. A leader makes its followers freeze their memtables
// at the same index.
func (sd *schedule) snapshot() error {
	nodes := sd.followers()
	if len(nodes) == 0 {
		return sd.replica.Snapshot()
	}
	release := sd.hold()
	if release == nil {
		return sd.replica.Snapshot()
	}
	defer release()
	fz := store.NewFreezing()
	offered := sd.memory.Size() >= sd.cfg.TakeBytes
	if offered {
		fz.Offer = sd.flusher.NewOffer()
	}
	forget := sd.tables.AtNextFreeze(fz)
	done := make(chan error, 1)
	go func() { done <- sd.replica.Snapshot() }()
	takers := 0
	late := time.NewTimer(sd.cfg.holdLimit)
	defer late.Stop()
	select {
	case <-fz.Frozen:
		if fz.Index > 0 {
			takers = sd.freezeFollowers(nodes, fz)
		}
	case <-late.C: // another snapshot is running
	}
	forget()
	release()
	if offered {
		fz.Offer.Expect(takers)
	}
	err := <-done
	if offered && err != nil {
		fz.Offer.Withdraw()
	}
	return err
}

// freezeFollowers makes followers freeze their memtables at the index of fz, and returns how many of them may have
// the same rows in it: those who say so, and those who did not answer in time.
func (sd *schedule) freezeFollowers(nodes []string, fz *store.Freezing) (takers int) {
	ctx, cancel := context.WithTimeout(context.Background(), sd.cfg.holdLimit)
	defer cancel()
	var count atomic.Int64
	var asked sync.WaitGroup
	for _, node := range nodes {
		conn, err := sd.cfg.Peers(node)
		if err != nil {
			continue
		}
		asked.Go(func() {
			resp, err := shardpb.NewShardServiceClient(conn).FreezeMemtable(ctx, &shardpb.FreezeMemtableRequest{
				ShardId: sd.cfg.ID, Incarnation: sd.cfg.Incarnation, Leader: sd.cfg.NodeID, Index: fz.Index,
				Rows:    &shardpb.MemtableRange{After: fz.Rows.After, Last: fz.Rows.Last},
				Offered: fz.Offer != nil,
			})
			if err == nil && resp.Same || ctx.Err() != nil {
				count.Add(1)
			}
		})
	}
	// Followers learn with the next entry that the one before is committed. An empty entry changes nothing.
	e := rules.Entry{Kind: rules.KindWrite, Time: sd.clock.entryTime()}
	if _, err := sd.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
		sd.cfg.Logger.Debug("could not tell the followers that the last rows are committed", "error", err)
	}
	asked.Wait()
	return int(count.Load())
}

// FreezeMemtable freezes the memtable of a follower at an index at which the leader froze its own, and begins to flush
// it. It reports whether the rows are the same. If the leader offers segments of these rows, the flush takes them.
func (s *Shard) FreezeMemtable(ctx context.Context, leader string, index uint64, rows store.Range,
	offered bool,
) (same bool, err error) {
	if s.replica.IsLeader() || s.replica.Leader() != leader {
		return false, errs.New(errs.IllegalState, "shard %d: freeze the memtable: node %s does not lead", s.cfg.ID, leader)
	}
	if err := s.replica.WaitApplied(ctx, index); err != nil {
		return false, err
	}
	fz := store.NewFreezing()
	if fz.Want = rows; offered {
		fz.Leader = leader
	}
	ask := freezeRequest{fz: fz, ended: make(chan struct{})}
	select {
	case s.schedule.freezes <- ask:
	case <-s.stop:
		return false, store.Unreachable(s.cfg.ID)
	case <-ctx.Done():
		return false, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "shard %d: freeze the memtable: a flush is running",
			s.cfg.ID)
	}
	select {
	case <-fz.Frozen:
		return fz.Index > 0 && fz.Rows == rows, nil
	case <-ask.ended:
		return false, nil // the replica took no snapshot
	case <-ctx.Done():
		return false, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "shard %d: freeze the memtable", s.cfg.ID)
	}
}

// PinOffered pins the segments that a flush of this replica wrote and offers to its followers. It waits until they are
// durable.
func (s *Shard) PinOffered(ctx context.Context, rows store.Range) (*store.Pinned, error) {
	return s.store.Flusher.PinOffered(ctx, rows)
}

// fetchFlushed fetches the segments that another node offers, unless the shard is closed.
func (s *Shard) fetchFlushed(ctx context.Context, node string, rows store.Range, dir string) ([]segment.Meta, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	return s.installer.FetchFlushed(ctx, node, rows.After, rows.Last, dir)
}

// freezeRequest is a leader's request to flush.
type freezeRequest struct {
	fz    *store.Freezing
	ended chan struct{} // closed when the flush has ended
}

// flushWith flushes. If the leader asked for it, its request is answered by the freeze.
func (sd *schedule) flushWith(reason string, ask freezeRequest) error {
	if ask.fz == nil {
		return sd.flushFor(reason)
	}
	defer close(ask.ended)
	forget := sd.tables.AtNextFreeze(ask.fz)
	defer forget()
	return sd.flushFor(reason)
}
