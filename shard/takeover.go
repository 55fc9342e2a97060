package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// This file puts the state of another replica, which fetch.go has fetched, in the place
// of this one's:
//
//	on disk   incoming/* → STATE → (snapshot stored by raft) → AHEAD → incoming/ID → segments/ID
//	          → fsync both folders → manifest replaced → incoming emptied
//
// A crash before the manifest is replaced is made good by the start, which finds the
// snapshot stored and does the same once more; after it, there is only rubbish left.

// Restore takes over the state that a snapshot of another replica stands for. Stage has
// fetched it, perhaps before a restart. It runs between two Applies, or before them all.
func (f fsm) Restore(r io.Reader) error {
	s := f.s
	p, err := readSnapshot(r)
	if err != nil {
		return err
	}
	in := s.incoming()
	if s.flushed.Load() >= p.AppliedIndex {
		// The state is ahead of the log, and of the snapshot: the log comes once more.
		if err := in.setAhead(s.appliedIndex); err != nil {
			return err
		}
		s.mu.Lock()
		s.base = max(s.base, s.appliedIndex)
		s.mu.Unlock()
		return nil
	}
	st, err := in.state()
	if err != nil {
		return err
	}
	if st == nil || st.AppliedIndex < p.AppliedIndex {
		return fmt.Errorf("shard %d: its manifest holds entries up to %d, a snapshot says %d with %d segments, which are not here: %w; "+
			"restore the directory %s from a replica or a backup", s.cfg.ID, s.flushed.Load(), p.AppliedIndex, len(p.Segments), errOldManifest, s.cfg.Dir)
	}
	if err := s.takeOver(in, st); err != nil {
		return fmt.Errorf("shard %d: take over the state of index %d: %w", s.cfg.ID, st.AppliedIndex, err)
	}
	s.cfg.Logger.Info("took over the state of another replica", "index", st.AppliedIndex, "segments", len(st.Segments), "tables", len(st.Tables))
	return nil
}

// takeOver makes a fetched state this replica's, in one step for readers and on disk.
// Views that are open stay as they are. Only the apply goroutine calls it, and no flush
// runs meanwhile; a compaction that does is given up when it commits.
func (s *Shard) takeOver(in incoming, fetched *manifest.State) error {
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
	s.ids.raise(next.NextSegmentID)
	next.Reserved, next.NextSegmentID = s.ids.reserved(next.Segments)
	next.Garbage = s.garbageOf(s.manifest.State())
	state, err := rules.NewState(s.cfg.ID, &next)
	if err != nil {
		return err
	}
	if err := in.setAhead(next.AppliedIndex); err != nil {
		return err
	}
	for i := range next.Segments {
		if err := s.moveIn(in, &next.Segments[i]); err != nil {
			return err
		}
	}
	for _, dir := range []string{s.segmentDir, in.dir} {
		if err := s.cfg.FS.SyncDir(dir); err != nil {
			return err
		}
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
	if err := in.clear(); err != nil {
		s.cfg.Logger.Warn("what was fetched from another replica stays behind until the next start", "error", err)
	}
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

// moveIn moves the file of a fetched segment to its place, unless that was done before a
// crash.
func (s *Shard) moveIn(in incoming, m *segment.Meta) error {
	name := m.FileName()
	err := s.cfg.FS.Rename(in.path(name), filepath.Join(s.segmentDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		err = segment.Check(s.cfg.FS, s.segmentDir, m, false)
	}
	return err
}

// openIncoming looks at what an earlier process fetched: ids that it gave are not given
// again. It returns up to which index the manifest may be ahead of the log.
func (s *Shard) openIncoming() (ahead uint64, err error) {
	in := s.incoming()
	st, err := in.state()
	if err != nil {
		return 0, err
	}
	if st != nil {
		s.ids.raise(st.NextSegmentID)
		if st.AppliedIndex <= s.base { // it was taken over, or is of no use any more
			if err := in.clear(); err != nil {
				return 0, err
			}
		}
	}
	return in.ahead()
}

// forgetIncoming removes what was fetched and never taken over, once this replica has
// caught up by the log alone.
func (s *Shard) forgetIncoming() {
	n := &s.installs
	n.mu.Lock()
	defer n.mu.Unlock()
	in := s.incoming()
	if n.job != nil || !in.leftover() || !s.replica.Stats().CaughtUp {
		return
	}
	if err := in.clear(); err != nil {
		s.cfg.Logger.Warn("what was fetched from another replica and is not needed stays behind", "error", err)
	}
}
