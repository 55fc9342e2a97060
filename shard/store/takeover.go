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

// TakeOver replaces this replica's state with a fetched one, in one step for readers and on disk.
// Open Views stay unchanged. Only the apply goroutine calls it, and no flush runs at the same time.
// A running compaction is abandoned when it commits.
func (lg *Ledger) TakeOver(fetched *manifest.State) error {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	if err := lg.reopenBroken(); err != nil {
		return err
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
		// It is unknown which of the two states is on disk, and no edit must be added to the wrong
		// one. The next start finds out which it is.
		if lg.cfg.FailStop != nil {
			lg.cfg.FailStop(fmt.Errorf("shard %d: %w", lg.cfg.ID, err))
		}
		return err
	}
	begun := lg.pending
	lg.pending, lg.unswept = nil, false
	lg.generation++

	old, mems := lg.tables.replace(state, &next, raws)

	for i := range next.Segments {
		lg.files.IDs.done(next.Segments[i].ID)
	}
	for _, m := range mems {
		m.Unref()
	}
	for _, u := range begun {
		u.forget()
		if err := lg.files.removeNew(u.edit.Add); err != nil {
			lg.cfg.Logger.Warn("could not remove the files of an abandoned flush; the next start removes them", "error", err)
		}
	}
	for _, l := range old {
		l.Unref()
	}
	lg.installer.Clear()
	lg.wakeCompactor()
	return nil
}

// replace publishes the state and the segments of another replica, and returns the old ones; the
// tables' references to both are dropped. raws are the loaded raw segments.
func (tb *Tables) replace(state *rules.State, next *manifest.State, raws map[uint64]loadedRaw) (
	old map[uint64]*LiveSegment, mems []*memtable.Memtable,
) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	old, mems = tb.segs.live, []*memtable.Memtable{tb.Mem.Active}
	tb.cfg.Budget.Add(-tb.Mem.size())
	for _, f := range tb.Mem.frozen {
		mems = append(mems, f.mem)
	}
	tb.State, tb.ticked = state, tb.cfg.Monotonic()
	tb.Mem = memtables{Active: memtable.New(tb.cfg.Pool)}
	tb.segs.live, tb.segs.byTable = map[uint64]*LiveSegment{}, map[uint64][]*LiveSegment{}
	tb.segs.raw, tb.segs.loaded = map[uint64][]*LiveSegment{}, raws
	tb.show(next, next.Segments)
	tb.flushErr, tb.flushFailing = nil, 0
	tb.tails.end(0, errs.New(errs.ShardNotReady,
		"shard %d: node %s took over the state of another replica meanwhile; begin again", tb.cfg.ID,
		tb.cfg.NodeID).WithRetryAfter(time.Second))
	return old, mems
}

// garbageOf returns the segments whose files are dead once st is no longer the state.
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
