package server

import (
	"context"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/handoff"
	"cordwood/shard/replica"
	"cordwood/shard/store"
)

// Shard is what the service needs of an open shard. *shard.Shard is one, and documents the methods.
type Shard interface {
	ID() uint32
	Incarnation() uint32
	NodeID() string

	// The group.

	// Replica answers questions about the group; members are changed by Change.
	Replica() *replica.Replica
	Ready() bool
	WaitReady(ctx context.Context) error
	Leads() bool
	Leader() string
	ReadBarrier(ctx context.Context) (index uint64, err error)
	WaitApplied(ctx context.Context, index uint64) error
	Change(ctx context.Context, kind replica.ChangeKind, node string) error

	// The rows.

	// Store answers questions about the rows and the tables; nothing is changed by it.
	Store() *store.Store
	Write(ctx context.Context, batches [][]byte, tables []*schemapb.Table) (index uint64, need []uint64, err error)
	Seal(ctx context.Context, tables []*schemapb.Table) (index uint64, err error)
	ReadView(tableIDs ...uint64) *store.View
	Tail(tableID uint64) (*store.Tail, error)
	Pin(ctx context.Context) (*store.Pinned, error)
	PinState(ctx context.Context) (*store.Pinned, error)
	Handoffs() *handoff.Copies
	StatsOf(req *shardpb.StatsRequest) *shardpb.ShardStats
}

// Find has a function that returns a shard by its number, if it is open, return it as a Shard.
func Find[S Shard](find func(id uint32) (S, bool)) func(id uint32) (Shard, bool) {
	return func(id uint32) (Shard, bool) {
		s, ok := find(id)
		if !ok {
			return nil, false
		}
		return s, true
	}
}

// List has a function that returns shards return them as Shards.
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
