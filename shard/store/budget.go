package store

import (
	"math"
	"sync/atomic"
)

// Budget bounds the memtable memory of several shards together: beyond half of it
// the larger memtables are flushed, beyond all of it writes are refused. It may be
// used concurrently. A nil Budget bounds nothing.
type Budget struct {
	limit  int64
	used   atomic.Int64
	shards atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used is what the shards' memtables hold together, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Join notes that so many more shards share the budget.
func (b *Budget) Join(n int64) {
	if b != nil {
		b.shards.Add(n)
	}
}

// Add notes that so many more bytes are used.
func (b *Budget) Add(bytes int64) {
	if b != nil {
		b.used.Add(bytes)
	}
}

// Exhausted reports whether the memtables of all shards together leave no room for writes.
func (b *Budget) Exhausted() bool { return b != nil && b.used.Load() >= b.limit }

// share is the smallest size at which a memtable should be flushed: no bound while less
// than half of the budget is used, and half of an even share of what is used after
// that, so that the largest memtable is always above it.
func (b *Budget) share() int64 {
	if b == nil {
		return math.MaxInt64
	}
	used := b.used.Load()
	if used < b.limit/2 {
		return math.MaxInt64
	}
	return max(1, used/(2*max(1, b.shards.Load())))
}

// Space says how much room there is on the disk of the node.
type Space int32

const (
	// SpaceOK is enough for everything.
	SpaceOK Space = iota
	// SpaceLow is little: work that takes room now to give back more later waits.
	SpaceLow
	// SpaceFull is less than the reserve: no rows are taken, only what makes room.
	SpaceFull
)

// Shards returns how many shards share the budget.
func (b *Budget) Shards() int64 { return b.shards.Load() }
