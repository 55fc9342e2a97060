package store

import (
	"maps"
	"slices"

	"cordwood/shard/rules"
)

// This file gives tests access to internal state.

// SegmentsOf returns the segments with live rows of a table, in ascending order. Without a View
// their files may be removed at any time.
func (st *Status) SegmentsOf(table uint64) []*LiveSegment {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.segs.byTable[table]
}

// Segments returns the segments that the manifest lists, in no order.
func (st *Status) Segments() []*LiveSegment {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return slices.Collect(maps.Values(tb.segs.live))
}

// Inspect calls look with the replicated state, under the lock. look must not keep references to
// it.
func (st *Status) Inspect(look func(*rules.State)) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	look(tb.State)
}

// TailBytes returns how many bytes of rows wait for the readers of tails.
func (st *Status) TailBytes() int64 {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.tails.bytes
}
