package store

import (
	"math"
	"sync"
	"sync/atomic"
)

// Budget limits the memtable memory of several shards together. Above half of the limit the larger
// memtables are flushed; at the limit writes are refused. It may be used concurrently. A nil Budget
// sets no limit.
type Budget struct {
	limit  int64
	used   atomic.Int64
	shards atomic.Int64
	// members are the *Tables of the open shards.
	members sync.Map
	parts   databaseParts
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Used returns the memory of all memtables of the shards, in bytes.
func (b *Budget) Used() int64 { return b.used.Load() }

// Join records that n more shards share the budget.
func (b *Budget) Join(n int64) {
	if b != nil {
		b.shards.Add(n)
	}
}

// open records that a shard shares the budget, until shut.
func (b *Budget) open(tb *Tables) {
	if b != nil {
		b.Join(1)
		b.members.Store(tb, nil)
	}
}

// shut ends what open began.
func (b *Budget) shut(tb *Tables) {
	if b != nil {
		b.members.Delete(tb)
		b.Join(-1)
	}
}

// Add records that n more bytes are used.
func (b *Budget) Add(bytes int64) {
	if b != nil {
		b.used.Add(bytes)
	}
}

// Exhausted reports whether the memtables of all shards together leave no room for writes.
func (b *Budget) Exhausted() bool { return b != nil && b.used.Load() >= b.limit }

// share returns the smallest size at which a memtable should be flushed. It returns math.MaxInt64
// while less than half of the budget is used. Above that it returns half of the average use of a
// shard, so that the largest memtable always exceeds it.
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

// Space describes the free space on the disk of the node.
type Space int32

const (
	// SpaceOK means that there is space for everything.
	SpaceOK Space = iota
	// SpaceLow means that space should be left to work that frees more space later.
	SpaceLow
	// SpaceFull means that less than the reserve is free. Rows are refused, and only work that
	// frees space is done.
	SpaceFull
)

// Shards returns how many shards share the budget.
func (b *Budget) Shards() int64 { return b.shards.Load() }
