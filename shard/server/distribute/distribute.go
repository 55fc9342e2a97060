// Package distribute answers a query over a table whose shards lie on several nodes. The engine takes the statement
// apart (query.Split): each node runs a statement over the rows that it has, and this node makes the answer of their
// partial results. It says so if that cannot be done; then the caller fetches the rows instead, and the answer is
// the same.
//
// A query holds no place among the queries of this node while it waits for another node, so queries that ask each
// other's nodes cannot wait for each other.
//
// The package knows neither shards nor gRPC streams: Config has functions for what it asks, and Answer is where
// the answer goes. Nodes is safe for concurrent use; a Statement is for one call of Run.
package distribute

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// Engine takes statements apart, and runs the last step over partial results.
type Engine interface {
	Split(ctx context.Context, req *query.Request) (*query.Split, error)
	Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error
}

// Config says how other nodes are asked. Engine and Shows are required.
type Config struct {
	Engine Engine
	// Ask runs a part of a query on the node that leads most shards of it. Without it no statement is taken apart.
	Ask func(ctx context.Context, req *shardpb.QueryRequest) (Reader, error)
	// Shows reports whether this node can show the rows of a shard.
	Shows func(shard uint32, anyReplica bool) bool
	// Name returns what people call a node. Without it they read its id.
	Name func(node string) string
	// Registerer gets the metrics. Without it they are not read.
	Registerer prometheus.Registerer
}

// Nodes answers queries by asking the nodes that have the rows.
type Nodes struct {
	cfg Config
	// large are statements whose partial results were too large, shared statements of which too many values lie on
	// several nodes, and unproven statements for the largest groups whose nodes had to be asked for all groups.
	large, shared, unproven *recent
	// partials are the bytes of partial results that queries hold.
	partials atomic.Int64
	metrics  *queryMetrics
}

// New returns what asks the nodes.
func New(cfg Config) *Nodes {
	return &Nodes{
		cfg: cfg, large: newRecent(), shared: newRecent(), unproven: newRecent(), metrics: newQueryMetrics(cfg.Registerer),
	}
}

// Answer is where the answer to a query goes. One goroutine uses it.
type Answer interface {
	// Missing says what the answer lacks. It is called before Rows, if at all.
	Missing(what []string) error
	// Rows sends bytes of an Arrow IPC stream.
	Rows(ipc []byte) error
}

// The phases of a query that asks nodes.
const (
	PhaseAsk    = "asking nodes"
	PhaseFinish = "last step"
)

// Progress takes note of how far a query is. It is safe for concurrent use.
type Progress interface {
	// Enter begins a phase.
	Enter(phase string)
	// Asks begins to ask for a number of parts, and Answered ends one of them.
	Asks(parts int)
	Answered()
}
