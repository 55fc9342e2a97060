package store

import (
	"maps"
	"slices"

	"cordwood/shard/rules"
)

// This file shows to tests what readers do not see.

// SegmentsOf returns the segments that have live rows of a table, by rising order. Without a View
// their files may go at any time.
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

// Inspect calls look with the replicated state, under the lock. It must not keep anything of it.
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
