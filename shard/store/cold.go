package store

import (
	"errors"
	"maps"
	"slices"

	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// This file handles cuts: sets of rows that go to object storage together. The memtable has a mark where the rows of a
// cut end. A flush writes the rows before the mark to separate files, and the manifest records their order. Compaction
// keeps the rows of a cut apart. See ../cold/DESIGN.md.

// OpenCut opens a cut of all rows that were applied before. If the rules refuse it, it returns the reason.
func (tb *Tables) OpenCut(index, term uint64, e *rules.Entry) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	tables, err := tb.State.Cut(e.Cut, index)
	for _, id := range tables {
		tb.Mem.Active.CutRows(id, tb.State.Tables[id].Merge, tb.lastMode(id), e.Cut.Number)
	}
	tb.AppliedIndex, tb.AppliedTerm = index, term
	return err
}

// Offload records that the rows of the open cut are in objects. If the rules refuse it, it returns the reason.
func (tb *Tables) Offload(index, term uint64, e *rules.Entry) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	_, open := tb.State.LastCut()
	dead := len(tb.State.DeadObjects())
	err := tb.State.Offload(e.Offload)
	refused := (*rules.ErrCold)(nil)
	mismatch := errors.As(err, &refused) && refused.Mismatch
	switch {
	case open != nil && len(open.Joins) > 0:
		// The rows of a join that is refused stay in their objects, and whether they are in segments does not matter.
		if err == nil && len(e.Offload.Objects)+len(e.Offload.Tables) > 0 {
			tb.metrics.coldJoined.Add(float64(len(tb.State.DeadObjects()) - dead))
			for _, j := range open.Joins {
				tb.hideJoined(j.TableID)
			}
		}
	case err == nil || mismatch:
		tb.coldMismatch = mismatch
		if slices.ContainsFunc(e.Offload.Tables, func(t rules.Offloaded) bool {
			return tb.State.Returned(t.TableID, e.Offload.Number)
		}) {
			tb.learnCuts(slices.Concat(slices.Collect(maps.Values(tb.segs.cutOrders))...))
		}
	}
	tb.cold.setsChanged()
	tb.AppliedIndex, tb.AppliedTerm = index, term
	return err
}

// Join opens a join of objects. If the rules refuse it, it returns the reason.
func (tb *Tables) Join(index, term uint64, e *rules.Entry) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	err := tb.State.Join(e.Join, index)
	tb.AppliedIndex, tb.AppliedTerm = index, term
	return err
}

// hideJoined hides this replica's own rows of joined cuts, because it may lack those of other cuts in the same objects.
// mu must be held.
func (tb *Tables) hideJoined(table uint64) {
	if !tb.State.HasJoined(table) {
		return
	}
	next := uint64(0)
	is := memtable.CutIs{
		Gone:     func(number uint64) bool { return tb.State.Joined(table, number) },
		Returned: func(number uint64) bool { return tb.State.Returned(table, number) },
	}
	mems := tb.memtablesOf(table)
	for i := len(mems) - 1; i >= 0; i-- {
		next = mems[i].RemoveCuts(table, next, is)
	}
	tb.segs.hide(table, func(l *LiveSegment) bool { return tb.joinedAway(table, l.Order) })
}

// joinedAway reports whether a table's rows in segments of an order belong to a joined cut. mu must be held.
func (tb *Tables) joinedAway(table, order uint64) bool {
	if !tb.State.HasJoined(table) {
		return false
	}
	orders := tb.segs.cutOrders[table]
	number, known := manifest.CutOf(orders, order)
	if !known {
		last := uint64(0)
		if len(orders) > 0 {
			last = orders[len(orders)-1].Number
		}
		number = tb.firstCutAfter(table, last)
	}
	return tb.State.Joined(table, number)
}

// joinedIn returns the tables whose rows in segments belong to joined cuts, by the ids of segments. mu must be held.
func (tb *Tables) joinedIn(list []*LiveSegment) (out map[uint64][]uint64) {
	for _, l := range list {
		for _, span := range l.Tables {
			if tb.joinedAway(span.TableID, l.Order) {
				if out == nil {
					out = map[uint64][]uint64{}
				}
				out[l.ID] = append(out[l.ID], span.TableID)
			}
		}
	}
	return out
}

// firstCutAfter returns the number of the first cut after another one whose order is not noted and whose rows have not
// returned; 0 if there is none. All segments are before it. mu must be held.
func (tb *Tables) firstCutAfter(table, last uint64) uint64 {
	for _, mem := range tb.memtablesOf(table) {
		for _, c := range mem.Cuts(table) {
			if c.Number > last && !tb.State.Returned(table, c.Number) {
				return c.Number
			}
		}
	}
	return 0
}

// memtablesOf returns what has rows of a table that are not in segments, the oldest first. mu must be held.
func (tb *Tables) memtablesOf(table uint64) []*memtable.Memtable {
	mems := tb.segs.rawMemtables(table)
	for _, f := range tb.Mem.frozen {
		mems = append(mems, f.mem)
	}
	if tb.Mem.Active != nil {
		mems = append(mems, tb.Mem.Active)
	}
	return mems
}

// ForgetObjects removes deleted objects from the list of dead ones.
func (tb *Tables) ForgetObjects(index, term uint64, e *rules.Entry) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	tb.State.ForgetObjects(e.Keys)
	tb.AppliedIndex, tb.AppliedTerm = index, term
}

// learnCuts adopts the orders of cuts in the manifest. It leaves out those of cuts whose rows have returned, which the
// manifest may not know yet. mu must be held.
func (tb *Tables) learnCuts(list []manifest.CutOrder) {
	sl := &tb.segs
	sl.cuts, sl.cutEnds, sl.cutOrders = make(map[uint64][]uint64), nil, make(map[uint64][]manifest.CutOrder)
	for _, o := range list {
		if tb.State.Returned(o.TableID, o.Number) {
			continue
		}
		sl.cutOrders[o.TableID] = append(sl.cutOrders[o.TableID], o)
		sl.cuts[o.TableID] = append(sl.cuts[o.TableID], o.Order)
		sl.cutEnds = append(sl.cutEnds, o.Order)
	}
	for _, ends := range sl.cuts {
		slices.Sort(ends)
	}
	slices.Sort(sl.cutEnds)
	sl.cutEnds = slices.Compact(sl.cutEnds)
}

// lastCut returns the order at which the last cut before a segment ended. Segments of a table with the same one may be
// merged. For a shared segment, the cuts of all tables count. Tables.mu must be held.
func (sl *segmentLists) lastCut(m *segment.Meta) uint64 {
	ends := sl.cutEnds
	if !m.Shared() {
		ends = sl.cuts[m.TableID]
	}
	at, found := slices.BinarySearch(ends, m.Order)
	if found {
		return m.Order
	}
	if at == 0 {
		return 0
	}
	return ends[at-1]
}
