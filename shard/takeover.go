package shard

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// This file puts the state of another replica, which package install has fetched, in the place of
// this one's.

// Stage fetches the state that a snapshot of the leader stands for, unless this replica has it. The
// work goes on when ctx ends before.
func (f fsm) Stage(ctx context.Context, leader string, _ uint64, content []byte) error {
	p, err := parseSnapshot(content)
	if err != nil {
		return err
	}
	if f.s.tables.flushed.Load() >= p.AppliedIndex {
		return nil
	}
	return f.s.installer.Stage(ctx, leader, p.AppliedIndex)
}

// Restore takes over the state that a snapshot of another replica stands for. Stage has
// fetched it, perhaps before a restart. It runs between two Applies, or before them all.
func (f fsm) Restore(r io.Reader) error {
	s := f.s
	p, err := readSnapshot(r)
	if err != nil {
		return err
	}
	in := s.installer
	if s.tables.flushed.Load() >= p.AppliedIndex {
		// The state is ahead of the log, and of the snapshot: the log comes once more.
		if err := in.SetAhead(s.tables.appliedIndex); err != nil {
			return err
		}
		s.tables.skipTo()
		return nil
	}
	st, err := in.Arrived()
	if err != nil {
		return err
	}
	if st == nil || st.AppliedIndex < p.AppliedIndex {
		return fmt.Errorf("shard %d: its manifest holds entries up to %d, a snapshot says %d with %d segments, which are not here: %w; "+
			"restore the directory %s from a replica or a backup", s.cfg.ID, s.tables.flushed.Load(), p.AppliedIndex, len(p.Segments), errOldManifest, s.cfg.Dir)
	}
	if err := s.ledger.takeOver(st); err != nil {
		return fmt.Errorf("shard %d: take over the state of index %d: %w", s.cfg.ID, st.AppliedIndex, err)
	}
	s.cfg.Logger.Info("took over the state of another replica", "index", st.AppliedIndex, "segments", len(st.Segments), "tables", len(st.Tables))
	return nil
}

// takeOver makes a fetched state this replica's, in one step for readers and on disk.
// Views that are open stay as they are. Only the apply goroutine calls it, and no flush
// runs meanwhile; a compaction that does is given up when it commits.
func (lg *ledger) takeOver(fetched *manifest.State) error {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if lg.broken {
		m, err := manifest.Open(lg.manifestConfig())
		if err != nil {
			return err
		}
		_ = lg.manifest.Close() // it was given up
		lg.manifest, lg.broken = m, false
	}
	next := *fetched
	lg.files.ids.Raise(next.NextSegmentID)
	next.Reserved, next.NextSegmentID = lg.files.ids.reserved(next.Segments)
	next.Garbage = lg.garbageOf(lg.manifest.State())
	state, err := rules.NewState(lg.cfg.ID, &next)
	if err != nil {
		return err
	}
	if err := lg.installer.SetAhead(next.AppliedIndex); err != nil {
		return err
	}
	if err := lg.installer.MoveIn(next.Segments, lg.segmentDir); err != nil {
		return err
	}
	raws, err := lg.files.loadRaws(next.Segments)
	if err != nil {
		return err
	}
	if err := lg.manifest.Replace(&next); err != nil {
		// Which of the two states is on disk is not known, and nothing may be added to the
		// wrong one: the start finds out.
		if lg.cfg.FailStop != nil {
			lg.cfg.FailStop(fmt.Errorf("shard %d: %w", lg.cfg.ID, err))
		}
		return err
	}
	begun := lg.unsettled
	lg.unsettled, lg.unswept = nil, false
	lg.generation++

	lg.tables.mu.Lock()
	old, mems := lg.tables.segs.live, []*memtable.Memtable{lg.tables.mem.active}
	lg.cfg.Budget.add(-lg.tables.mem.size())
	for _, f := range lg.tables.mem.frozen {
		mems = append(mems, f.mem)
	}
	lg.tables.state, lg.tables.segs.live, lg.tables.segs.byTable = state, map[uint64]*liveSegment{}, map[uint64][]*liveSegment{}
	lg.tables.ticked = lg.cfg.Monotonic()
	lg.tables.mem.frozen, lg.tables.mem.active = nil, memtable.New(lg.cfg.Pool)
	lg.tables.mem.bytes, lg.tables.mem.since, lg.tables.mem.last = 0, time.Time{}, time.Time{}
	lg.tables.segs.learnEras(next.Merging)
	lg.tables.segs.aside, lg.tables.segs.loaded = map[uint64][]*liveSegment{}, raws
	for _, m := range next.Segments {
		lg.tables.addLive(m)
	}
	lg.tables.appliedIndex, lg.tables.appliedTerm, lg.tables.base = next.AppliedIndex, next.AppliedTerm, next.AppliedIndex
	lg.tables.flushed.Store(next.AppliedIndex)
	lg.tables.flushErr, lg.tables.flushFailing = nil, 0
	lg.tables.endTails(0, errs.New(errs.ShardNotReady, "shard %d: node %s took over the state of another replica; begin again", lg.cfg.ID, lg.cfg.NodeID).WithRetryAfter(time.Second))
	lg.tables.mu.Unlock()

	for i := range next.Segments {
		lg.files.ids.done(next.Segments[i].ID)
	}
	for _, m := range mems {
		m.Unref()
	}
	for _, u := range begun {
		u.forget()
		if err := lg.files.removeNew(u.edit.Add); err != nil {
			lg.cfg.Logger.Warn("files of a flush that was given up stay behind until the next start", "error", err)
		}
	}
	for _, l := range old {
		l.unref()
	}
	lg.installer.Clear()
	lg.wakeCompactor()
	return nil
}

// garbageOf are the segments whose files are dead once st is not the state any more.
func (lg *ledger) garbageOf(st *manifest.State) []uint64 {
	ids := map[uint64]bool{}
	for i := range st.Segments {
		ids[st.Segments[i].ID] = true
	}
	for _, id := range st.Garbage {
		ids[id] = true
	}
	for _, u := range lg.unsettled {
		for i := range u.edit.Add {
			ids[u.edit.Add[i].ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
