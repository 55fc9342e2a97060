package store

import (
	"math"

	"cordwood/shard/compaction"
	"cordwood/shard/query"
)

// This file is about which segments of tables that merge rows may be compacted together,
// and how their rows then come together.

// mayMerge reports whether segments may be merged: the order of a table's writes must
// stay known if it merges rows.
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

// mergingTables returns the tables of the segments that merge rows, or once did.
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
			continue // it went; job will find out
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

// inputMerge is how the rows of a table that merges them come together in a compaction.
type inputMerge struct {
	// Merge is how rows of the output merge with others.
	merge query.Merge
	// modes, if not nil, is how those of the inputs do, by their order: they are not alike.
	modes func(order uint64) query.Merge
	// own reports whether the table needs a segment of its own: another of its segments falls between its
	// newest input and the newest of all inputs, or the inputs are of several eras.
	own bool
	// oldest reports whether no segment is older than the inputs that merge.
	oldest bool
}

// checkNeighbours says how the segments of a list are merged, as far as a table is concerned. It looks at
// the segments of the table that are not in the list and overlap in time with those that are. ok is false
// if the list must not be merged: one of the others lies between them in order; or rows of several eras
// would be joined, and the list lacks a segment from before the last of these eras.
func (cp *compactor) checkNeighbours(table uint64, list []compaction.Segment) (j inputMerge, ok bool) {
	eras, now := cp.tables.erasOf(table), cp.tables.State.Tables[table].Merge
	in := make(map[uint64]bool, len(list))
	for i := range list {
		in[list[i].ID] = true
	}
	// Of the inputs: the orders and times of those that merge, the highest order of all.
	least, most, last, first := uint64(math.MaxUint64), uint64(0), uint64(0), uint64(math.MaxUint64)
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, l := range cp.tables.segs.byTable[table] {
		if !in[l.ID] {
			continue
		}
		first, last = min(first, l.Order), max(last, l.Order)
		if eras.Segment(l.Order, now) != query.Append {
			t := l.Span(table)
			least, most, lo, hi = min(least, l.Order), max(most, l.Order), min(lo, t.MinTime), max(hi, t.MaxTime)
		}
	}
	highest := list[len(list)-1].Order
	j.merge, j.oldest = eras.Segment(last, now), true
	j.own = eraAt(eras, last) != eraAt(eras, highest)
	several := last > 0 && eraAt(eras, first) != eraAt(eras, last)
	if several {
		j.modes = func(order uint64) query.Merge { return eras.Segment(order, now) }
	}
	for _, l := range cp.tables.segs.byTable[table] {
		if t := l.Span(table); in[l.ID] || t.MaxTime < lo || t.MinTime > hi || eras.Segment(l.Order, now) == query.Append {
			continue
		}
		switch {
		case l.Order < least:
			j.oldest = false
		case l.Order <= most:
			return j, false
		case several && j.merge == query.Append:
			return j, false
		case l.Order <= highest:
			j.own = true
		}
	}
	return j, !several || j.oldest
}

// eraAt returns the number of the era of segments of an order.
func eraAt(eras query.Eras, order uint64) int {
	for i := range eras {
		if order < eras[i].Before {
			return i
		}
	}
	return len(eras)
}
