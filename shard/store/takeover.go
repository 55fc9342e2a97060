package store

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// TakeOver makes a fetched state this replica's, in one step for readers and on disk.
// Views that are open stay as they are. Only the apply goroutine calls it, and no flush
// runs meanwhile; a compaction that does is given up when it commits.
func (lg *Ledger) TakeOver(fetched *manifest.State) error {
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
	lg.files.IDs.Raise(next.NextSegmentID)
	next.Reserved, next.NextSegmentID = lg.files.IDs.reserved(next.Segments)
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
	begun := lg.pending
	lg.pending, lg.unswept = nil, false
	lg.generation++

	lg.tables.mu.Lock()
	old, mems := lg.tables.segs.live, []*memtable.Memtable{lg.tables.Mem.Active}
	lg.cfg.Budget.Add(-lg.tables.Mem.size())
	for _, f := range lg.tables.Mem.frozen {
		mems = append(mems, f.mem)
	}
	lg.tables.State, lg.tables.segs.live, lg.tables.segs.byTable = state, map[uint64]*LiveSegment{},
		map[uint64][]*LiveSegment{}
	lg.tables.ticked = lg.cfg.Monotonic()
	lg.tables.Mem.frozen, lg.tables.Mem.Active = nil, memtable.New(lg.cfg.Pool)
	lg.tables.Mem.bytes, lg.tables.Mem.since, lg.tables.Mem.last = 0, time.Time{}, time.Time{}
	lg.tables.segs.learnEras(next.Merging)
	lg.tables.segs.raw, lg.tables.segs.loaded = map[uint64][]*LiveSegment{}, raws
	for _, m := range next.Segments {
		lg.tables.addLive(m)
	}
	lg.tables.AppliedIndex, lg.tables.AppliedTerm, lg.tables.Base = next.AppliedIndex, next.AppliedTerm, next.AppliedIndex
	lg.tables.Flushed.Store(next.AppliedIndex)
	lg.tables.flushErr, lg.tables.flushFailing = nil, 0
	lg.tables.tails.end(0, errs.New(errs.ShardNotReady,
		"shard %d: node %s took over the state of another replica; begin again", lg.cfg.ID,
		lg.cfg.NodeID).WithRetryAfter(time.Second))
	lg.tables.mu.Unlock()

	for i := range next.Segments {
		lg.files.IDs.done(next.Segments[i].ID)
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
		l.Unref()
	}
	lg.installer.Clear()
	lg.wakeCompactor()
	return nil
}

// garbageOf returns the segments whose files are dead once st is not the state any more.
func (lg *Ledger) garbageOf(st *manifest.State) []uint64 {
	ids := map[uint64]bool{}
	for i := range st.Segments {
		ids[st.Segments[i].ID] = true
	}
	for _, id := range st.Garbage {
		ids[id] = true
	}
	for _, u := range lg.pending {
		for i := range u.edit.Add {
			ids[u.edit.Add[i].ID] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
