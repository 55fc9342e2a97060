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
	"cordwood/proto/words"
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
	// Own runs a part of a query over shards of this node that it leads, without a call, and passes its rows to emit,
	// which must not keep them. If it is nil, or this node no longer leads a shard, Ask runs the part.
	Own func(ctx context.Context, req *shardpb.QueryRequest, emit func(ipc []byte) error) (OwnAnswer, error)
	// Rows runs a query that is a part of another one. If it is nil, no statement with a subquery is split.
	Rows func(ctx context.Context, req *shardpb.QueryRequest, progress Progress) (InnerAnswer, error)
	// Shows reports whether this node can read the rows of a shard.
	Shows func(shard uint32, anyReplica bool) bool
	// Leader returns the node that leads a shard, as far as this node knows, or "". If it is nil, or returns "", the
	// leader is the one that the request presumes.
	Leader func(shard uint32) string
	// ClusterVersion returns the protocol version that the cluster uses. If it is nil, the version is 1.
	ClusterVersion func() uint32
	// Name returns the name of a node. If it is nil, texts contain the node's id.
	Name func(node string) string
	// KeptAnswers is the maximum number of bytes of answers that are kept, with the partial results from which they were
	// computed. With 0, none are.
	KeptAnswers int64
	// Registerer registers the metrics. If it is nil, they are not registered.
	Registerer prometheus.Registerer
}

// OwnAnswer describes the answer of this node to a part of a query.
type OwnAnswer struct {
	// Missing are texts about what is missing in the answer.
	Missing []words.Missing
	// Stages are the durations of its stages.
	Stages *shardpb.PartStages
}

// InnerAnswer is the answer to a query that is a part of another one.
type InnerAnswer struct {
	// IPC are its rows as an Arrow IPC stream.
	IPC []byte
	// Missing are texts about what is missing in the answer.
	Missing []words.Missing
	// Ran says which nodes sent what, if the request asks for stages. It is empty if no other node was asked.
	Ran string
}

// Nodes answers queries by asking the nodes that have the rows.
type Nodes struct {
	cfg Config
	// These caches remember statements. For those in large, the partial results were too large. For
	// those in shared, too many values were on several nodes. Those in unproven ask for the largest
	// groups, and needed all groups of the nodes.
	large, shared, unproven *recent
	// known are the answers of repeated statements.
	known *known
	// partials is the size of the partial results that queries hold, in bytes.
	partials atomic.Int64
	metrics  *queryMetrics
}

// New returns Nodes with the given Config.
func New(cfg Config) *Nodes {
	return &Nodes{
		cfg: cfg, large: newRecent(), shared: newRecent(), unproven: newRecent(),
		known:   newKnown(cfg.KeptAnswers),
		metrics: newQueryMetrics(cfg.Registerer),
	}
}

// Answer receives the answer to a query. It is used by one goroutine.
type Answer interface {
	// Missing sends texts about what is missing in the answer. If it is called, it is called before
	// Rows.
	Missing(what []words.Missing) error
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
	// Asks reports that more parts are requested. Answered reports that one of them has ended.
	Asks(parts int)
	Answered()
	// Received reports bytes of partial results or rows that nodes have sent.
	Received(bytes int)
}
