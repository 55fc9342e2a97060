package query

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// Meta is the part of the metadata client that a Service needs.
type Meta interface {
	// Propose sends a command through the metadata log. When it returns, its changes are in the local view.
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// Fresh waits until the local view holds all that was acknowledged, or shown to anybody, before the call.
	Fresh(ctx context.Context) error
	// Acknowledged waits until the local view holds all that was acknowledged before the call. It is cheaper.
	Acknowledged(ctx context.Context) error
	Database(name string) (*schemapb.Database, bool)
	Databases() []*schemapb.Database
	Table(database, name string) (*schema.Table, bool)
	Tables(database string) []*schema.Table
	TableByID(id uint64) (*schema.Table, bool)
	Shards() []*metapb.Shard
	Nodes() []*metapb.Node
	Operations() []*metapb.Operation
	// Status asks the leader of the metadata group for the state of the cluster.
	Status(ctx context.Context) (*metapb.StatusResponse, error)
	// EachPipelineText reads every version of every pipeline.
	EachPipelineText(ctx context.Context, f func(p *metapb.PipelineVersion, source []byte) error) error
}

// Shards is the part of the shard client that a Service needs.
type Shards interface {
	Analyze(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error)
	// DefineTables adds definitions to a shard's log.
	DefineTables(ctx context.Context, shard uint32, tables []*schemapb.Table) error
	// Query answers with an Arrow IPC stream, which must be closed.
	Query(ctx context.Context, req *shardpb.QueryRequest) (io.ReadCloser, error)
	Stats(ctx context.Context, req *shardpb.StatsRequest) ([]*shardpb.ShardStats, error)
	// Describe returns the columns of the answer to a SELECT.
	Describe(ctx context.Context, req *shardpb.DescribeRequest) (*shardpb.DescribeResponse, error)
	// Queries lists the running queries on all nodes. If it returns an error, it still returns what is known.
	Queries(ctx context.Context) ([]*shardpb.RunningQuery, error)
	// KillQuery ends a query on all nodes, and returns how many calls it ended.
	KillQuery(ctx context.Context, req *shardpb.KillQueryRequest) (killed int, err error)
}

// Accounts is the part of the list of users that a Service needs. *auth.Provider implements it.
type Accounts interface {
	// Listed reports whether a user comes from the list of users of this router.
	Listed(name string) bool
	// Principals lists the users and roles of the metadata by name.
	Principals() []*metapb.AccessPrincipal
	// StoredTokens lists the tokens of the metadata by name.
	StoredTokens() []*metapb.AccessToken
	// Check checks a password.
	Check(ctx context.Context, user, password string, from netip.Addr) (access.Sender, error)
}

// Quotas compares what databases take in with their quotas. Its errors have code RateLimited.
type Quotas interface {
	// Take counts rows and bytes, unless it returns an error.
	Take(database string, rows, bytes int64) error
	// GiveBack no longer counts rows and bytes that were not stored.
	GiveBack(database string, rows, bytes int64)
	// QueryLimit returns the number of queries of a database that may run here at a time; ok is false if there is no
	// limit. OverQueries returns the error for more.
	QueryLimit(database string) (n int, ok bool)
	OverQueries(database string) error
	// QueryReady returns an error if the queries of a database have used up its CPU time, and QueryTime the time limit of
	// a query; ok is false if there is none.
	QueryReady(database string) error
	QueryTime(database string) (limit time.Duration, ok bool)
	// Value returns the present value of a quota in the cluster. ok is false if it is not known.
	Value(database, quota string) (value uint64, ok bool)
}

// Writer is the write path, for INSERT and DELETE.
type Writer interface {
	Write(ctx context.Context, out *pipeline.Output) (write.Result, error)
	// WriteKeyed stores rows like Write, but leaves out rows that were stored under the key before. The zero key means
	// that there is no key.
	WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error)
}

// Config has the parts, settings and limits of a Service.
type Config struct {
	Meta   Meta
	Shards Shards
	Writer Writer
	// ClusterVersion returns the protocol version that the cluster uses. Without it, the version is 1.
	ClusterVersion func() uint32
	// Quotas limits what INSERT stores. By default nothing is limited.
	Quotas Quotas
	// Accounts has the users and roles; nil: users are not authenticated.
	Accounts Accounts

	// Users returns all users who may sign in, with their rights. By default there are none.
	Users func() []access.Sender
	// Sessions returns the sessions of PostgreSQL clients: of all nodes, or only of this one. If some nodes do not
	// answer, it returns an error and what is known. By default there are none.
	Sessions func(ctx context.Context, all bool) ([]*metapb.ClientSession, error)

	// Timeout limits requests without their own time limit. The default value is 30 s.
	Timeout time.Duration
	// MaxTimeout is the largest time limit that a request may have. The default value is 1 hour.
	MaxTimeout time.Duration
	// Running limits the concurrent SELECTs. The default value is 16.
	Running int
	// RunningPerUser limits the number of running queries of one user, or, without authentication, of one client's
	// address. The default value is three quarters of Running.
	RunningPerUser int
	// Waiting limits the number of queries that wait for their turn. The default value is 64.
	Waiting int
	// WaitingPerUser limits how many queries of one user wait. The default value is half of Waiting.
	WaitingPerUser int
	// MaxWait limits the time that a query waits. The default value is 10 s.
	MaxWait time.Duration
	// MaxColumns limits the number of columns of a table. The default value is 4096.
	MaxColumns int
	// Writable returns the reason why rows are refused because a disk is full. By default rows are not refused.
	Writable func() error
	// Now is the clock. The default value is time.Now.
	Now func() time.Time

	// Changes makes the records of changes. By default they are lines of Logger.
	Changes *audit.Log
	// Logger logs what an operator should know. By default nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics. By default they are not registered.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	if c.Changes == nil {
		c.Changes = audit.New(c.Logger, nil)
	}
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.MaxTimeout = cmp.Or(c.MaxTimeout, time.Hour)
	c.Running = cmp.Or(c.Running, 16)
	c.Waiting = cmp.Or(c.Waiting, 64)
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Second)
	c.MaxColumns = cmp.Or(c.MaxColumns, 4096)
	if c.Writable == nil {
		c.Writable = func() error { return nil }
	}
	if c.Users == nil {
		c.Users = func() []access.Sender { return nil }
	}
	if c.Sessions == nil {
		c.Sessions = func(context.Context, bool) ([]*metapb.ClientSession, error) { return nil, nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate returns an error with all faults of c.
func (c Config) Validate() error {
	var faults []error
	if c.Meta == nil || c.Shards == nil || c.Writer == nil {
		faults = append(faults, errors.New("query: Config.Meta, Config.Shards and Config.Writer must be set"))
	}
	if c.Timeout < 0 || c.MaxTimeout < 0 || c.MaxWait < 0 || c.Running < 0 || c.RunningPerUser < 0 || c.Waiting < 0 ||
		c.WaitingPerUser < 0 || c.MaxColumns < 0 {
		faults = append(faults, errors.New("query: limits must not be negative"))
	}
	return errors.Join(faults...)
}
