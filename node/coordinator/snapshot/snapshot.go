// Package snapshot is the cluster at one moment: what the metadata say, and what nodes have reported
// to the leader of the metadata group. It answers questions about that state (which nodes are alive,
// which one leads a shard, what may fail, why something has to wait), and decides and changes
// nothing.
//
// Functions named Why… return a reason in words for people, or "" if there is none.
package snapshot

import (
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// Snapshot is the cluster at one moment. It is not changed once it was made.
type Snapshot struct {
	Now    time.Time
	Limits Limits
	Status *metapb.StatusResponse
	// Operations are the operations of Status, with typed progress.
	Operations []*metapb.Operation
	Nodes      map[string]*metapb.NodeStatus
	Shards     map[uint32]*metapb.Shard
	Groups     map[uint32]*Group // one for each shard
	Tables     map[uint64]*schema.Table
	Observed
	naming
	// Trusting counts nodes that have not reported to a new leader yet as alive. It is set for what
	// people are shown: the first second of a new leader must not look like the loss of everything.
	// What is decided waits for the reports instead.
	Trusting bool
}

// Observed is what a leader has seen over time, which no single status says. A leader that is new has
// seen everything for a shorter time than it was so.
type Observed struct {
	// Rates are what shards and tables take in.
	Rates Rates
	// Copies are the last answers about handoffs of tables, by the id of the copy and by shard.
	Copies map[uint64]map[uint32]Copy
	// StableFor is for how long the set of nodes that hold shards has not changed.
	StableFor time.Duration
	// Gathered says that all nodes that may hold shards are known and have reported.
	Gathered bool
	// MeasuredFor is for how long rates have been taken.
	MeasuredFor time.Duration
	// HotFor is for how long tables with partitions=auto have taken in more than their shards should.
	HotFor map[uint64]time.Duration
	// ClosedFor is for how long tables have been closed, by table.
	ClosedFor map[uint64]time.Duration
	// UnchangedFor is for how long the records of operations have been as they are, by operation.
	UnchangedFor map[uint64]time.Duration
	// EmptyFor is for how long shards that are being taken away have had no table, by shard. It includes what
	// leaders before have seen.
	EmptyFor map[uint64]time.Duration
	// PairedFor is for how long shards of one replica have had two voters, by operation.
	PairedFor map[uint64]time.Duration
}

// Rates is what shards and tables take in, in bytes a second.
type Rates struct {
	Shard map[uint32]float64
	Table map[uint64]float64
}

// Copy is what a node answered about its part of the handoff of a table.
type Copy struct {
	*shardpb.HandOverResponse
	Node string
}

// New makes a snapshot of a status. answered is what calls that changed groups have answered, by shard.
func New(now time.Time, limits Limits, status *metapb.StatusResponse, tables []*schema.Table,
	answered map[uint32]Membership,
) *Snapshot {
	snap := &Snapshot{
		Now: now, Limits: limits, Status: status, Nodes: map[string]*metapb.NodeStatus{}, Shards: map[uint32]*metapb.Shard{},
		Groups: map[uint32]*Group{}, Tables: map[uint64]*schema.Table{}, Observed: Observed{
			Rates: Rates{Shard: map[uint32]float64{}, Table: map[uint64]float64{}},
		},
	}
	for _, op := range status.Operations {
		snap.Operations = append(snap.Operations, operation.Read(op))
	}
	for _, n := range status.Nodes {
		snap.Nodes[n.GetNode().GetId()] = n
	}
	snap.naming.nodes = snap.Nodes
	for _, t := range tables {
		snap.Tables[t.ID] = t
	}
	for _, s := range status.Shards {
		snap.Shards[s.Id] = s
		snap.Groups[s.Id] = groupOf(snap, s, answered[s.Id])
	}
	return snap
}
