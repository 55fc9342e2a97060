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
	if f.s.flushed.Load() >= p.AppliedIndex {
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
	if s.flushed.Load() >= p.AppliedIndex {
		// The state is ahead of the log, and of the snapshot: the log comes once more.
		if err := in.SetAhead(s.appliedIndex); err != nil {
			return err
		}
		s.mu.Lock()
		s.base = max(s.base, s.appliedIndex)
		s.mu.Unlock()
		return nil
	}
	st, err := in.Arrived()
	if err != nil {
		return err
	}
	if st == nil || st.AppliedIndex < p.AppliedIndex {
		return fmt.Errorf("shard %d: its manifest holds entries up to %d, a snapshot says %d with %d segments, which are not here: %w; "+
			"restore the directory %s from a replica or a backup", s.cfg.ID, s.flushed.Load(), p.AppliedIndex, len(p.Segments), errOldManifest, s.cfg.Dir)
	}
	if err := s.takeOver(st); err != nil {
		return fmt.Errorf("shard %d: take over the state of index %d: %w", s.cfg.ID, st.AppliedIndex, err)
	}
	s.cfg.Logger.Info("took over the state of another replica", "index", st.AppliedIndex, "segments", len(st.Segments), "tables", len(st.Tables))
	return nil
}

// takeOver makes a fetched state this replica's, in one step for readers and on disk.
// Views that are open stay as they are. Only the apply goroutine calls it, and no flush
// runs meanwhile; a compaction that does is given up when it commits.
func (s *Shard) takeOver(fetched *manifest.State) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if s.manifestBroken {
		m, err := manifest.Open(s.manifestConfig())
		if err != nil {
			return err
		}
		_ = s.manifest.Close() // it was given up
		s.manifest, s.manifestBroken = m, false
	}
	next := *fetched
	s.ids.Raise(next.NextSegmentID)
	next.Reserved, next.NextSegmentID = s.ids.reserved(next.Segments)
	next.Garbage = s.garbageOf(s.manifest.State())
	state, err := rules.NewState(s.cfg.ID, &next)
	if err != nil {
		return err
	}
	if err := s.installer.SetAhead(next.AppliedIndex); err != nil {
		return err
	}
	if err := s.installer.MoveIn(next.Segments, s.segmentDir); err != nil {
		return err
	}
	raws, err := s.loadRaws(next.Segments)
	if err != nil {
		return err
	}
	if err := s.manifest.Replace(&next); err != nil {
		// Which of the two states is on disk is not known, and nothing may be added to the
		// wrong one: the start finds out.
		if s.cfg.FailStop != nil {
			s.cfg.FailStop(fmt.Errorf("shard %d: %w", s.cfg.ID, err))
		}
		return err
	}
	begun := s.unsettled
	s.unsettled, s.unswept = nil, false
	s.generation++

	s.mu.Lock()
	old, mems := s.live, []*memtable.Memtable{s.active}
	s.cfg.Budget.add(-s.memoryLocked())
	for _, f := range s.frozen {
		mems = append(mems, f.mem)
	}
	s.state, s.live, s.segments = state, map[uint64]*liveSegment{}, map[uint64][]*liveSegment{}
	s.ticked = s.cfg.Monotonic()
	s.frozen, s.active = nil, memtable.New(s.cfg.Pool)
	s.activeBytes, s.activeSince, s.activeLast = 0, time.Time{}, time.Time{}
	s.learnEras(next.Merging)
	s.aside.segments, s.loaded = map[uint64][]*liveSegment{}, raws
	for _, m := range next.Segments {
		s.addLive(m)
	}
	s.appliedIndex, s.appliedTerm, s.base = next.AppliedIndex, next.AppliedTerm, next.AppliedIndex
	s.flushed.Store(next.AppliedIndex)
	s.flushErr, s.flushFailing = nil, 0
	s.endTails(0, errs.New(errs.ShardNotReady, "shard %d: node %s took over the state of another replica; begin again", s.cfg.ID, s.cfg.NodeID).WithRetryAfter(time.Second))
	s.mu.Unlock()

	for i := range next.Segments {
		s.ids.done(next.Segments[i].ID)
	}
	for _, m := range mems {
		m.Unref()
	}
	for _, u := range begun {
		u.forget()
		if err := s.removeNew(u.edit.Add); err != nil {
			s.cfg.Logger.Warn("files of a flush that was given up stay behind until the next start", "error", err)
		}
	}
	for _, l := range old {
		l.unref()
	}
	s.installer.Clear()
	s.wakeCompactor()
	return nil
}

// garbageOf are the segments whose files are dead once st is not the state any more.
func (s *Shard) garbageOf(st *manifest.State) []uint64 {
	ids := map[uint64]bool{}
	for i := range st.Segments {
		ids[st.Segments[i].ID] = true
	}
	for _, id := range st.Garbage {
		ids[id] = true
	}
	for _, u := range s.unsettled {
		for i := range u.edit.Add {
			ids[u.edit.Add[i].ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
