// Package snapshot represents the cluster at one moment: the metadata, and the reports of nodes to the leader of the
// metadata group. It answers questions about that state: which nodes are alive, which one leads a shard, how many may
// fail, why something has to wait. It makes no decisions and no changes.
//
// Functions named Why… return a reason as a text for people, or "" if there is none.
package snapshot

import (
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// Snapshot is the cluster at one moment. It is immutable.
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
	// Trusting makes nodes that have not reported to a new leader yet count as alive. It is set for display: in the
	// first second of a new leader, all nodes would otherwise seem lost. Decisions wait for the reports instead.
	Trusting bool
}

// Observed is what a leader has observed over time, which a single status does not show. The durations of a new
// leader are shorter than the true ones.
type Observed struct {
	// Rates are the ingest rates of shards and tables.
	Rates Rates
	// Copies are the last answers about handoffs of tables, by the id of the copy and by shard.
	Copies map[uint64]map[uint32]Copy
	// StableFor is how long the set of nodes that hold shards has not changed.
	StableFor time.Duration
	// Gathered means that all nodes that may hold shards are known and have reported.
	Gathered bool
	// MeasuredFor is how long rates have been measured.
	MeasuredFor time.Duration
	// HotFor is how long the ingest of tables with partitions=auto has been above the limit of
	// their shards.
	HotFor map[uint64]time.Duration
	// ClosedFor is how long tables have been closed, by table.
	ClosedFor map[uint64]time.Duration
	// UnchangedFor is how long the records of operations have not changed, by operation.
	UnchangedFor map[uint64]time.Duration
	// EmptyFor is how long retiring shards have had no table, by shard. It includes the
	// observations of earlier leaders.
	EmptyFor map[uint64]time.Duration
	// PairedFor is how long shards of one replica have had two voters, by operation.
	PairedFor map[uint64]time.Duration
}

// Rates are the ingest rates of shards and tables in bytes a second.
type Rates struct {
	Shard map[uint32]float64
	Table map[uint64]float64
}

// Copy is a node's answer about its share of the handoff of a table.
type Copy struct {
	*shardpb.HandOverResponse
	Node string
}

// New makes a snapshot of a status. answered contains the answers to calls that changed groups, by shard.
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
