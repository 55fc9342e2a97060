// Package distribute answers a query over a table whose shards are on several nodes. The engine
// splits the statement (query.Split): each node runs a statement over its rows, and this node
// computes the answer from their partial results. If a statement cannot be split, the package
// reports that. The caller then fetches the rows, and gets the same answer.
//
// A query holds no slot for queries of this node while it waits for another node, so queries on two
// nodes cannot block each other.
//
// The package knows neither shards nor gRPC streams: it calls the functions of Config, and writes
// the answer to an Answer. Nodes is safe for concurrent use; a Statement is for one call of Run.
package distribute

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// Engine splits statements, and computes answers from partial results.
type Engine interface {
	Split(ctx context.Context, req *query.Request) (*query.Split, error)
	Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error
}

// Config contains the functions that call other nodes. Engine and Shows are required.
type Config struct {
	Engine Engine
	// Ask runs a part of a query on the node that leads most of its shards. If it is nil, no statement is split.
	Ask func(ctx context.Context, req *shardpb.QueryRequest) (Reader, error)
	// Rows runs a query that is a part of another one, and returns its rows as an Arrow IPC stream, and texts about what
	// is missing. If it is nil, no statement with a subquery is split.
	Rows func(ctx context.Context, req *shardpb.QueryRequest, progress Progress) (ipc []byte, missing []string, err error)
	// Shows reports whether this node can read the rows of a shard.
	Shows func(shard uint32, anyReplica bool) bool
	// Name returns the name of a node. If it is nil, texts contain the node's id.
	Name func(node string) string
	// Registerer registers the metrics. If it is nil, they are not registered.
	Registerer prometheus.Registerer
}

// Nodes answers queries by asking the nodes that have the rows.
type Nodes struct {
	cfg Config
	// These caches remember statements. For those in large, the partial results were too large. For
	// those in shared, too many values were on several nodes. Those in unproven ask for the largest
	// groups, and needed all groups of the nodes.
	large, shared, unproven *recent
	// partials is the size of the partial results that queries hold, in bytes.
	partials atomic.Int64
	metrics  *queryMetrics
}

// New returns Nodes with the given Config.
func New(cfg Config) *Nodes {
	return &Nodes{
		cfg: cfg, large: newRecent(), shared: newRecent(), unproven: newRecent(),
		metrics: newQueryMetrics(cfg.Registerer),
	}
}

// Answer receives the answer to a query. It is used by one goroutine.
type Answer interface {
	// Missing sends texts about what is missing in the answer. If it is called, it is called before
	// Rows.
	Missing(what []string) error
	// Rows sends bytes of an Arrow IPC stream.
	Rows(ipc []byte) error
}

// The phases of a query over several nodes.
const (
	PhaseAsk    = "asking nodes"
	PhaseFinish = "last step"
)

// Progress receives the progress of a query. It is safe for concurrent use.
type Progress interface {
	// Enter begins a phase.
	Enter(phase string)
	// Asks reports the number of parts that are requested. Answered reports that one of them is complete.
	Asks(parts int)
	Answered()
}
