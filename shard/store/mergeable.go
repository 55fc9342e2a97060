package store

import (
	"math"

	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file determines which segments of tables that merge rows may be compacted together, and how
// their rows are then merged.

// mayMerge reports whether segments may be merged. If a table merges rows, the order of its writes
// must be preserved.
func (cp *compactor) mayMerge(list []compaction.Segment) bool {
	if len(list) == 1 {
		return true
	}
	cp.tables.mu.RLock()
	defer cp.tables.mu.RUnlock()
	for id := range cp.mergingTables(list) {
		if _, ok := cp.checkNeighbours(id, list); !ok {
			return false
		}
	}
	return true
}

// mergingTables returns the tables of the segments that merge rows or once did.
func (cp *compactor) mergingTables(list []compaction.Segment) map[uint64]struct{} {
	ids := map[uint64]struct{}{}
	note := func(id uint64) {
		if d := cp.tables.State.Tables[id]; d != nil && (d.Merge != query.Append || len(cp.tables.erasOf(id)) > 0) {
			ids[id] = struct{}{}
		}
	}
	for i := range list {
		l := cp.tables.segs.live[list[i].ID]
		if l == nil {
			continue // the segment was removed; job will notice that
		}
		if !l.Shared() {
			note(l.TableID)
		}
		for _, t := range l.Tables {
			note(t.TableID)
		}
	}
	return ids
}

// inputMerge describes how a compaction merges the rows of a table.
type inputMerge struct {
	// Merge is the merge mode of the output's rows.
	merge query.Merge
	// modes, if not nil, returns the merge mode of an input by its order. It is set if the modes
	// differ.
	modes func(order uint64) query.Merge
	// own reports whether the table needs its own segment: another of its segments falls between
	// its newest input and the newest of all inputs, or the inputs belong to several eras.
	own bool
	// oldest reports whether no segment or object is older than the inputs that merge.
	oldest bool
}

// checkNeighbours determines how the segments of a list are merged, for one table. It checks the
// segments of the table that are not in the list and overlap in time with those in the list. ok is
// false if the list must not be merged. There are two such cases: another segment is between them
// in order, or rows of several eras would be joined while a segment from before the last of these
// eras is missing from the list.
func (cp *compactor) checkNeighbours(table uint64, list []compaction.Segment) (j inputMerge, ok bool) {
	eras, now := cp.tables.erasOf(table), cp.tables.State.Tables[table].Merge
	in := cp.inputsOf(table, list, func(order uint64) bool { return eras.Segment(order, now) != query.Append })
	highest := list[len(list)-1].Order
	j.merge, j.oldest = eras.Segment(in.last, now), true
	j.own = eraAt(eras, in.last) != eraAt(eras, highest)
	several := in.last > 0 && eraAt(eras, in.first) != eraAt(eras, in.last)
	if several {
		j.modes = func(order uint64) query.Merge { return eras.Segment(order, now) }
	}
	for _, l := range cp.tables.segs.byTable[table] {
		if in.ids[l.ID] || !in.overlap(l.Span(table)) || eras.Segment(l.Order, now) == query.Append {
			continue
		}
		switch {
		case l.Order < in.least:
			j.oldest = false
		case l.Order <= in.most, several && j.merge == query.Append:
			return j, false
		case l.Order <= highest:
			j.own = true
		}
	}
	for _, o := range cp.tables.coldOf(table) { // these are from before the last cut, and inputs are of one cut
		if in.overlap(o.Span) && o.Order < in.least && eras.Segment(o.Order, now) != query.Append {
			j.oldest = false
		}
	}
	return j, !several || j.oldest
}

// inputs are the segments of a compaction that have rows of one table.
type inputs struct {
	ids         map[uint64]bool // of all segments in the list
	first, last uint64          // the lowest and the highest order
	// The orders, and the times of the rows, of segments whose rows merge.
	least, most uint64
	lo, hi      int64
}

// inputsOf returns the segments of a list that have rows of a table. merge reports, by the order of
// a segment, whether its rows merge. Tables.mu must be held.
func (cp *compactor) inputsOf(table uint64, list []compaction.Segment, merge func(order uint64) bool) inputs {
	in := inputs{
		ids: make(map[uint64]bool, len(list)), first: math.MaxUint64, least: math.MaxUint64,
		lo: math.MaxInt64, hi: math.MinInt64,
	}
	for i := range list {
		in.ids[list[i].ID] = true
	}
	for _, l := range cp.tables.segs.byTable[table] {
		if !in.ids[l.ID] {
			continue
		}
		in.first, in.last = min(in.first, l.Order), max(in.last, l.Order)
		if merge(l.Order) {
			t := l.Span(table)
			in.least, in.most = min(in.least, l.Order), max(in.most, l.Order)
			in.lo, in.hi = min(in.lo, t.MinTime), max(in.hi, t.MaxTime)
		}
	}
	return in
}

// overlap reports whether the rows of t overlap in time with the inputs that merge.
func (in *inputs) overlap(t segment.TableSpan) bool { return t.MaxTime >= in.lo && t.MinTime <= in.hi }

// eraAt returns the number of the era to which segments of an order belong.
func eraAt(eras query.Eras, order uint64) int {
	for i := range eras {
		if order < eras[i].Before {
			return i
		}
	}
	return len(eras)
}
