package server

import (
	"context"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/handoff"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// Shard is what the service needs of an open shard. *shard.Shard implements it, and documents the
// methods.
type Shard interface {
	ID() uint32
	Incarnation() uint32
	NodeID() string

	// The raft group.

	// Replica is only read. Change changes the members.
	Replica() *replica.Replica
	Ready() bool
	WaitReady(ctx context.Context) error
	Leads() bool
	Leader() string
	ReadBarrier(ctx context.Context) (index uint64, err error)
	WaitApplied(ctx context.Context, index uint64) error
	Change(ctx context.Context, kind replica.ChangeKind, node string) error
	ExpireBefore(ctx context.Context, cutoffs []rules.Cutoff) error

	// The rows.

	// Store is only read.
	Store() *store.Store
	Write(ctx context.Context, batches [][]byte, tables []*schemapb.Table) (index uint64, need []uint64, err error)
	Seal(ctx context.Context, tables []*schemapb.Table) (index uint64, err error)
	ReadView(tableIDs ...uint64) *store.View
	Tail(tableID uint64) (*store.Tail, error)
	Pin(ctx context.Context) (*store.Pinned, error)
	PinState(ctx context.Context, leaveOut bool) (*store.Pinned, error)
	PinOffered(ctx context.Context, rows store.Range) (*store.Pinned, error)
	FreezeMemtable(ctx context.Context, leader string, index uint64, rows store.Range, offered bool) (same bool, err error)
	Handoffs() *handoff.Copies
	StatsOf(req *shardpb.StatsRequest) *shardpb.ShardStats
}

// Find adapts a function that returns an open shard by its number, so that it returns a Shard.
func Find[S Shard](find func(id uint32) (S, bool)) func(id uint32) (Shard, bool) {
	return func(id uint32) (Shard, bool) {
		s, ok := find(id)
		if !ok {
			return nil, false
		}
		return s, true
	}
}

// List adapts a function that returns shards, so that it returns Shards.
func List[S Shard](list func() []S) func() []Shard {
	return func() []Shard {
		of := list()
		out := make([]Shard, len(of))
		for i := range of {
			out[i] = of[i]
		}
		return out
	}
}
