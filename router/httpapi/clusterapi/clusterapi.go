// Package clusterapi is the part of the API that shows and changes the cluster. This file has the types of requests
// and answers, and handlers.go has the handlers. An implementation of Cluster, such as node/coordinator, carries
// out the requests.
package clusterapi

import (
	"context"
	"time"
)

// Cluster describes the cluster, and starts and cancels its operations.
type Cluster interface {
	// Status returns the state of the cluster as the leader of its metadata group knows it. If the leader does not
	// answer, it returns the state that this node knows.
	Status(ctx context.Context) (*Status, error)
	// Operations returns the stored operations, the newest first.
	Operations(ctx context.Context) ([]Operation, error)
	// Start starts an operation. If it is impossible, the error has code InvalidArguments.
	Start(ctx context.Context, request *Request, user string) (*Answer, error)
	// Cancel ends an operation at the next step at which it can be ended.
	Cancel(ctx context.Context, id uint64) (*Answer, error)
	// Plan shows what a rebalance would do.
	Plan(ctx context.Context) (*Plan, error)
}

// Status is the state of the cluster. Nodes are named by their names if these are unique, and by their ids
// otherwise.
type Status struct {
	ClusterID string `json:"cluster_id" yaml:"cluster_id"`
	// Health is ok, starting (a new cluster is creating its first shards), unknown (no fault is known, but some nodes
	// have not reported yet), degraded (the cluster works, but something must be done) or broken (something does not
	// work).
	Health   string    `json:"health" yaml:"health"`
	Problems []Problem `json:"problems" yaml:"problems"`
	// FailureTolerance is the known number of further nodes that may fail in the worst case. LimitedBy is the part of
	// the cluster that would fail first. FailureTolerance is negative if something does not work.
	FailureTolerance int    `json:"failure_tolerance" yaml:"failure_tolerance"`
	LimitedBy        string `json:"limited_by" yaml:"limited_by"`
	// UnknownNodes have not reported to the leader of the metadata group, which was elected only recently. Their state
	// and the state of their shards are unknown.
	UnknownNodes    []string `json:"unknown_nodes" yaml:"unknown_nodes"`
	UnderReplicated int      `json:"under_replicated_shards" yaml:"under_replicated_shards"`
	// Leader is the node that leads the metadata group; empty if it is not known.
	Leader          string      `json:"meta_leader" yaml:"meta_leader"`
	Version         uint32      `json:"cluster_version" yaml:"cluster_version"`
	Replication     uint32      `json:"replication" yaml:"replication"`
	RebalancePaused bool        `json:"rebalance_paused" yaml:"rebalance_paused"`
	Nodes           []Node      `json:"nodes" yaml:"nodes"`
	Shards          []Shard     `json:"shards" yaml:"shards"`
	Operations      []Operation `json:"operations" yaml:"operations"`
	// RowsAside has the rows that replicas cannot write to segments.
	RowsAside []RowsAside `json:"rows_aside" yaml:"rows_aside"`
	// ObjectStorage is the object storage that the nodes use, or nil.
	ObjectStorage *ObjectStorage `json:"object_storage,omitempty" yaml:"object_storage,omitempty"`
}

// RowsAside are rows of a table that a replica cannot write to segments. They stay in memory and on disk, and
// queries see them.
type RowsAside struct {
	// Table is DATABASE.TABLE, or "table id N" if the metadata does not know the table.
	Table string `json:"table" yaml:"table"`
	Shard uint32 `json:"shard" yaml:"shard"`
	Node  string `json:"node" yaml:"node"`
	Rows  int64  `json:"rows" yaml:"rows"`
	// Bytes is the memory that the rows take.
	Bytes int64 `json:"bytes" yaml:"bytes"`
	// Reason is the reason why the rows cannot be written.
	Reason string `json:"reason" yaml:"reason"`
	// Since is when the first of the rows could not be written, if that is known.
	Since  *time.Time `json:"since,omitempty" yaml:"since,omitempty"`
	Advice string     `json:"advice" yaml:"advice"`
}

// Problem is a fault and what to do about it.
type Problem struct {
	// Severity is critical, warning or info.
	Severity string `json:"severity" yaml:"severity"`
	Text     string `json:"text" yaml:"text"`
	Advice   string `json:"advice" yaml:"advice"`
	// Actions are what the advice names, for programs that offer it.
	Actions []Action `json:"actions,omitempty" yaml:"actions,omitempty"`
}

// Action is something that a user can do about a problem.
type Action struct {
	// Kind is the kind of a Request, ActionNodeAdd or ActionCancel. The action may need further choices.
	Kind      string `json:"kind" yaml:"kind"`
	Node      string `json:"node,omitempty" yaml:"node,omitempty"`
	Shard     uint32 `json:"shard,omitempty" yaml:"shard,omitempty"`
	Operation uint64 `json:"operation,omitempty" yaml:"operation,omitempty"`
}

// Actions that are not the kind of a Request.
const (
	ActionNodeAdd = "node-add" // start a server that joins the cluster
	ActionCancel  = "cancel"   // cancel the operation
)

// Node is a node.
type Node struct {
	ID    string   `json:"id" yaml:"id"`
	Name  string   `json:"name" yaml:"name"`
	Zone  string   `json:"zone" yaml:"zone"`
	Roles []string `json:"roles" yaml:"roles"`
	// State is up, starting (new, and has not reported yet), stopping, stopped (announced its stop and is silent),
	// silent (has not reported for 3 s), down (for 10 s), unreachable, unknown, draining or drained.
	State string `json:"state" yaml:"state"`
	// Meta is leader, voter or learner of the metadata group, or empty.
	Meta          string  `json:"meta" yaml:"meta"`
	SilentSeconds float64 `json:"silent_seconds" yaml:"silent_seconds"`
	RPCAddr       string  `json:"rpc_addr" yaml:"rpc_addr"`
	HTTPAddr      string  `json:"http_addr" yaml:"http_addr"`
	Version       string  `json:"version" yaml:"version"`
	Replicas      int     `json:"replicas" yaml:"replicas"`
	Leads         int     `json:"leads" yaml:"leads"`
	// Bytes is the size of the node's replicas.
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
	// Unready has the Replicas whose node answers but that cannot be used, because they have not opened yet or are not
	// up to date.
	Unready []string `json:"unready" yaml:"unready"`
	// State is ok, starting (new and empty), electing (enough replicas are up and are electing a leader), moving,
	// catching up, retiring (being removed), leader silent, under-replicated, no leader or unknown.
	State string `json:"state" yaml:"state"`
	Term  uint64 `json:"term" yaml:"term"`
	// Index is the log index of the leader. Lag is the number of log entries that the slowest answering replica has
	// not applied.
	Index uint64 `json:"index" yaml:"index"`
	Lag   uint64 `json:"lag" yaml:"lag"`
	Bytes int64  `json:"bytes" yaml:"bytes"`
}

// Operation is a change of the cluster that takes several steps, such as moving a shard.
type Operation struct {
	ID   uint64 `json:"id" yaml:"id"`
	Kind string `json:"kind" yaml:"kind"`
	// State is running, done, cancelled or failed.
	State   string `json:"state" yaml:"state"`
	Subject string `json:"subject" yaml:"subject"`
	Step    string `json:"step" yaml:"step"`
	Attempt uint32 `json:"attempt" yaml:"attempt"`
	// Reason is why the operation waits, how it ended, or why it failed and what to do.
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

// Request starts an operation. Nodes are given by name or id, and tables as DATABASE.TABLE (schema.ParseTableName).
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
	// WithRows makes table-move and table-partition move the existing rows as well. Tables that merge rows always move
	// them.
	WithRows bool `json:"with_rows,omitempty"`
	// ForRestart makes node-drain move only leaders away.
	ForRestart bool `json:"for_restart,omitempty"`
	// Force makes node-decommission and node-remove remove a voter from the metadata group even if no node can replace
	// it.
	Force bool `json:"force,omitempty"`
	// Confirm repeats the text of Answer.Confirm, to confirm an action that cannot be undone.
	Confirm string `json:"confirm,omitempty"`
	// Plan makes shard-remove only return what it would do.
	Plan bool `json:"plan,omitempty"`
}

// Answer is the answer to a request: the operation that was started or, for actions that complete at once, a message.
type Answer struct {
	Operation *Operation `json:"operation,omitempty"`
	Message   string     `json:"message,omitempty"`
	// Confirm, if set, means that nothing was done yet. To carry out what Message describes, send the request again
	// with this text in the field confirm.
	Confirm string `json:"confirm,omitempty"`
	// Removal, if set, is the requested plan. Nothing was done.
	Removal *Removal `json:"removal,omitempty"`
}

// Removal describes what shard-remove would do.
type Removal struct {
	Shard uint32 `json:"shard" yaml:"shard"`
	// Tables have rows on the shard or are written there. They are handed over, two at a time.
	Tables []TableMove `json:"tables" yaml:"tables"`
	// Bytes is the size of the data to copy, including rows of the tables on other shards.
	Bytes int64 `json:"bytes" yaml:"bytes"`
	// Waits lists the conditions that the operation would now have to wait for.
	Waits []string `json:"waits" yaml:"waits"`
}

// TableMove is a table whose rows move from their shards to other shards.
type TableMove struct {
	Table string   `json:"table" yaml:"table"`
	Bytes int64    `json:"bytes" yaml:"bytes"`
	From  []uint32 `json:"from" yaml:"from"`
	To    []uint32 `json:"to" yaml:"to"`
}

// Plan describes what a rebalance would do, and what would remain uneven.
type Plan struct {
	Moves   []Move   `json:"moves" yaml:"moves"`
	Blocked []string `json:"blocked" yaml:"blocked"`
	Paused  bool     `json:"paused" yaml:"paused"`
	// Nodes are the nodes that were considered. If nothing is moved for balance, Even is the reason.
	Nodes []Load `json:"nodes" yaml:"nodes"`
	Even  string `json:"even" yaml:"even"`
}

// Load is the load of a node. The field Load is a weighted sum of the used part of its disk (0.5), its share of all
// ingested bytes (0.3, less if the nodes ingest under 1 MiB/s each) and its share of all replicas (0.2).
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
