package store

import (
	"errors"
	"slices"

	"cordwood/shard/manifest"
	"cordwood/shard/query"
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
		tb.Mem.Active.Cut(id, query.Append, e.Cut.Number)
	}
	tb.AppliedIndex, tb.AppliedTerm = index, term
	return err
}

// Offload records that the rows of the open cut are in objects. If the rules refuse it, it returns the reason.
func (tb *Tables) Offload(index, term uint64, e *rules.Entry) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	err := tb.State.Offload(e.Offload)
	refused := (*rules.ErrCold)(nil)
	if mismatch := errors.As(err, &refused) && refused.Mismatch; err == nil || mismatch {
		tb.coldMismatch = mismatch
	}
	tb.cold.setsChanged()
	tb.AppliedIndex, tb.AppliedTerm = index, term
	return err
}

// ForgetObjects removes deleted objects from the list of dead ones.
func (tb *Tables) ForgetObjects(index, term uint64, e *rules.Entry) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	tb.State.ForgetObjects(e.Keys)
	tb.AppliedIndex, tb.AppliedTerm = index, term
}

// learnCuts adopts the orders of cuts in the manifest; mu must be held.
func (sl *segmentLists) learnCuts(list []manifest.CutOrder) {
	sl.cuts, sl.cutEnds, sl.cutOrders = make(map[uint64][]uint64), nil, make(map[uint64][]manifest.CutOrder)
	for _, o := range list {
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
