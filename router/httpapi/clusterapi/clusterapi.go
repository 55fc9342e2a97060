// Package clusterapi is the part of the API that shows the cluster and has it change: the
// forms of requests and answers (this file), and the handlers (handlers.go). What is asked
// for is done by an implementation of Cluster; node/coordinator has one.
package clusterapi

import (
	"context"
	"time"
)

// Cluster describes the cluster, and begins and cancels its operations.
type Cluster interface {
	// Status describes the cluster as the leader of its metadata group knows it, or, if
	// none answers, as this node does.
	Status(ctx context.Context) (*Status, error)
	// Operations lists the operations that are remembered, the newest first.
	Operations(ctx context.Context) ([]Operation, error)
	// Start begins an operation. What cannot be done is refused with code InvalidArguments.
	Start(ctx context.Context, request *Request, user string) (*Answer, error)
	// Cancel has an operation end where it can.
	Cancel(ctx context.Context, id uint64) (*Answer, error)
	// Plan shows what a rebalance would do.
	Plan(ctx context.Context) (*Plan, error)
}

// Status is the cluster on one screen. Nodes are called by their names where these
// are unique, else by their ids.
type Status struct {
	ClusterID string `json:"cluster_id" yaml:"cluster_id"`
	// Health is ok, starting (a new cluster makes its first shards), unknown (nothing is known to
	// be wrong, but some nodes have not reported yet), degraded (it works, and something is to be
	// done) or broken (something does not work).
	Health   string    `json:"health" yaml:"health"`
	Problems []Problem `json:"problems" yaml:"problems"`
	// FailureTolerance is how many more nodes may fail in the worst case, as far as is known;
	// LimitedBy is what stops first. It is negative if something does not work.
	FailureTolerance int    `json:"failure_tolerance" yaml:"failure_tolerance"`
	LimitedBy        string `json:"limited_by" yaml:"limited_by"`
	// UnknownNodes have not reported since the leader of the metadata group began to lead, which is
	// not long ago: how they and their shards are is not known.
	UnknownNodes    []string `json:"unknown_nodes" yaml:"unknown_nodes"`
	UnderReplicated int      `json:"under_replicated_shards" yaml:"under_replicated_shards"`
	// Leader is the node that leads the metadata group; empty: none is known.
	Leader          string      `json:"meta_leader" yaml:"meta_leader"`
	Version         uint32      `json:"cluster_version" yaml:"cluster_version"`
	Replication     uint32      `json:"replication" yaml:"replication"`
	RebalancePaused bool        `json:"rebalance_paused" yaml:"rebalance_paused"`
	Nodes           []Node      `json:"nodes" yaml:"nodes"`
	Shards          []Shard     `json:"shards" yaml:"shards"`
	Operations      []Operation `json:"operations" yaml:"operations"`
	// RowsAside are rows that replicas cannot write to segments.
	RowsAside []RowsAside `json:"rows_aside" yaml:"rows_aside"`
}

// RowsAside are rows of a table that a replica cannot write to segments. They are
// kept in the memory and on the disk of its node, and queries see them.
type RowsAside struct {
	// Table is DATABASE.TABLE, or "table id N" of one that the metadata does not know.
	Table string `json:"table" yaml:"table"`
	Shard uint32 `json:"shard" yaml:"shard"`
	Node  string `json:"node" yaml:"node"`
	Rows  int64  `json:"rows" yaml:"rows"`
	// Bytes is the memory that they take.
	Bytes int64 `json:"bytes" yaml:"bytes"`
	// Reason is why they cannot be written.
	Reason string `json:"reason" yaml:"reason"`
	// Since is when the first of them could not be written, if that is known.
	Since  *time.Time `json:"since,omitempty" yaml:"since,omitempty"`
	Advice string     `json:"advice" yaml:"advice"`
}

// Problem is something that is wrong, and what to do about it.
type Problem struct {
	// Severity is critical, warning or info.
	Severity string `json:"severity" yaml:"severity"`
	Text     string `json:"text" yaml:"text"`
	Advice   string `json:"advice" yaml:"advice"`
}

// Node is a node.
type Node struct {
	ID    string   `json:"id" yaml:"id"`
	Name  string   `json:"name" yaml:"name"`
	Zone  string   `json:"zone" yaml:"zone"`
	Roles []string `json:"roles" yaml:"roles"`
	// State is up, starting (new, and not heard of yet), stopping, stopped (as it said, and
	// silent), silent (not heard of for 3 s), down (for 10 s), unreachable, unknown, draining or drained.
	State string `json:"state" yaml:"state"`
	// Meta is leader, voter or learner of the metadata group, or empty.
	Meta          string  `json:"meta" yaml:"meta"`
	SilentSeconds float64 `json:"silent_seconds" yaml:"silent_seconds"`
	RPCAddr       string  `json:"rpc_addr" yaml:"rpc_addr"`
	HTTPAddr      string  `json:"http_addr" yaml:"http_addr"`
	Version       string  `json:"version" yaml:"version"`
	Replicas      int     `json:"replicas" yaml:"replicas"`
	Leads         int     `json:"leads" yaml:"leads"`
	// Bytes is the size of its replicas.
	Bytes        int64 `json:"bytes" yaml:"bytes"`
	DiskUsed     int64 `json:"disk_used" yaml:"disk_used"`
	DiskCapacity int64 `json:"disk_capacity" yaml:"disk_capacity"`
}

// Shard is a shard.
type Shard struct {
	ID       uint32   `json:"id" yaml:"id"`
	Replicas []string `json:"replicas" yaml:"replicas"`
	Learners []string `json:"learners" yaml:"learners"`
	Want     int      `json:"want" yaml:"want"`
	Leader   string   `json:"leader" yaml:"leader"`
	// Unready are the Replicas whose node answers but that cannot be used: they have not
	// opened yet, or not caught up.
	Unready []string `json:"unready" yaml:"unready"`
	// State is ok, starting (new and empty), electing (enough replicas are there, and elect a
	// leader), moving, catching up, retiring (it is being taken away), leader silent, under-replicated, no leader or
	// unknown.
	State string `json:"state" yaml:"state"`
	Term  uint64 `json:"term" yaml:"term"`
	// Index is the leader's; Lag is how many entries of the log the slowest replica that
	// answers has not applied.
	Index uint64 `json:"index" yaml:"index"`
	Lag   uint64 `json:"lag" yaml:"lag"`
	Bytes int64  `json:"bytes" yaml:"bytes"`
}

// Operation is work of the cluster on itself.
type Operation struct {
	ID   uint64 `json:"id" yaml:"id"`
	Kind string `json:"kind" yaml:"kind"`
	// State is running, done, cancelled or failed.
	State   string `json:"state" yaml:"state"`
	Subject string `json:"subject" yaml:"subject"`
	Step    string `json:"step" yaml:"step"`
	Attempt uint32 `json:"attempt" yaml:"attempt"`
	// Reason says why it waits, how it ended, or why it failed and what to do.
	Reason     string     `json:"reason" yaml:"reason"`
	Shard      uint32     `json:"shard,omitempty" yaml:"shard,omitempty"`
	Table      string     `json:"table,omitempty" yaml:"table,omitempty"`
	Node       string     `json:"node,omitempty" yaml:"node,omitempty"`
	From       string     `json:"from,omitempty" yaml:"from,omitempty"`
	To         string     `json:"to,omitempty" yaml:"to,omitempty"`
	ToShards   []uint32   `json:"to_shards,omitempty" yaml:"to_shards,omitempty"`
	Replicas   uint32     `json:"replicas,omitempty" yaml:"replicas,omitempty"`
	DoneBytes  int64      `json:"done_bytes" yaml:"done_bytes"`
	TotalBytes int64      `json:"total_bytes" yaml:"total_bytes"`
	ETASeconds *float64   `json:"eta_seconds,omitempty" yaml:"eta_seconds,omitempty"`
	Parent     uint64     `json:"parent,omitempty" yaml:"parent,omitempty"`
	By         string     `json:"requested_by" yaml:"requested_by"`
	Cancel     bool       `json:"cancel" yaml:"cancel"`
	Created    time.Time  `json:"created" yaml:"created"`
	Updated    time.Time  `json:"updated" yaml:"updated"`
	Ended      *time.Time `json:"ended,omitempty" yaml:"ended,omitempty"`
}

// Request asks for an operation. Nodes are given by name or id, tables as
// DATABASE.TABLE (schema.ParseTableName).
type Request struct {
	// Kind is one of shard-add, shard-move, shard-split-hot, shard-drop, shard-remove, replica-change, replica-rebuild,
	// table-move, table-partition, node-drain, node-undrain, node-decommission, node-remove, rebalance,
	// rebalance-pause and rebalance-resume.
	Kind       string   `json:"kind"`
	Shard      uint32   `json:"shard,omitempty"`
	Table      string   `json:"table,omitempty"`
	Node       string   `json:"node,omitempty"`
	From       string   `json:"from,omitempty"`
	To         string   `json:"to,omitempty"`
	ToShards   []uint32 `json:"to_shards,omitempty"`
	Count      int      `json:"count,omitempty"`
	Replicas   int      `json:"replicas,omitempty"`
	Partitions int      `json:"partitions,omitempty"`
	// WithRows has table-move and table-partition take the rows along that a table has which keeps
	// all rows; one that merges rows always does.
	WithRows bool `json:"with_rows,omitempty"`
	// ForRestart has node-drain move leaders away only.
	ForRestart bool `json:"for_restart,omitempty"`
	// Force has node-decommission and node-remove take a voter out of the metadata group although no
	// node can take its place.
	Force bool `json:"force,omitempty"`
	// Confirm is what Answer.Confirm asks for, for what cannot be taken back.
	Confirm string `json:"confirm,omitempty"`
	// Plan has shard-remove only show what it would do.
	Plan bool `json:"plan,omitempty"`
}

// Answer is what became of a request: the operation that was begun, or, of what is
// done at once, words.
type Answer struct {
	Operation *Operation `json:"operation,omitempty"`
	Message   string     `json:"message,omitempty"`
	// Confirm, if set, says that nothing was done: what Message says is done if the request is
	// sent again with this in its confirm.
	Confirm string `json:"confirm,omitempty"`
	// Removal, if set, is the plan that was asked for: nothing was done.
	Removal *Removal `json:"removal,omitempty"`
}

// Removal is what shard-remove would do.
type Removal struct {
	Shard uint32 `json:"shard" yaml:"shard"`
	// Tables have rows on the shard, or are written there. They are handed over, two at a time.
	Tables []TableMove `json:"tables" yaml:"tables"`
	// Bytes is the size of what is copied: the tables with what they have on other shards.
	Bytes int64 `json:"bytes" yaml:"bytes"`
	// Waits are what the operation would have to wait for now.
	Waits []string `json:"waits" yaml:"waits"`
}

// TableMove is a table that goes from the shards which have its rows to others, with its rows.
type TableMove struct {
	Table string   `json:"table" yaml:"table"`
	Bytes int64    `json:"bytes" yaml:"bytes"`
	From  []uint32 `json:"from" yaml:"from"`
	To    []uint32 `json:"to" yaml:"to"`
}

// Plan is what a rebalance would do, and what would stay uneven.
type Plan struct {
	Moves   []Move   `json:"moves" yaml:"moves"`
	Blocked []string `json:"blocked" yaml:"blocked"`
	Paused  bool     `json:"paused" yaml:"paused"`
	// Nodes are what was looked at; Even is why nothing is moved for balance, if nothing is.
	Nodes []Load `json:"nodes" yaml:"nodes"`
	Even  string `json:"even" yaml:"even"`
}

// Load is what counts of a node for balance. Load weighs the used part of its disk
// (half), its part of what all replicas take in (0.3, less below 1 MiB/s for each node) and its part of all replicas
// (0.2).
type Load struct {
	Node         string  `json:"node" yaml:"node"`
	Replicas     int     `json:"replicas" yaml:"replicas"`
	DiskUsed     int64   `json:"disk_used" yaml:"disk_used"`
	DiskCapacity int64   `json:"disk_capacity" yaml:"disk_capacity"`
	IngestShare  float64 `json:"ingest_share" yaml:"ingest_share"`
	Load         float64 `json:"load" yaml:"load"`
}

// Move is one step of a plan.
type Move struct {
	Shard  uint32 `json:"shard" yaml:"shard"`
	From   string `json:"from" yaml:"from"`
	To     string `json:"to" yaml:"to"`
	Bytes  int64  `json:"bytes" yaml:"bytes"`
	Reason string `json:"reason" yaml:"reason"`
}
