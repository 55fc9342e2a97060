// Package write is the write path of a router. It takes the rows that a pipeline made of one request, creates
// missing tables and columns, divides the rows by table and shard, sends them, and counts what was stored.
//
// It does not parse, and it does not know HTTP. Rows arrive in column builders and are encoded once. The same bytes
// go into the shard's log. All new tables and columns of a request go to the metadata group in one command before
// any row is sent. If a request needs none, it makes no metadata call.
//
// Small requests to one shard that arrive together are sent together. Each is answered when the rows of all of them
// are stored.
//
// A Writer is made once per process and lives as long as the process. A goroutine that it starts ends with its call
// to a shard or to the metadata group. Write may be called concurrently, but an Output belongs to one call, because
// Write sets the ids of its columns.
package write

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/pipeline"
)

// Meta is the part of the metadata client that a Writer needs.
type Meta interface {
	// Propose puts a command through the metadata log; the tables of its result are in
	// the local view before it returns.
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	Table(database, name string) (*schema.Table, bool)
	TableByID(id uint64) (*schema.Table, bool)
	// ShardRetired reports whether a shard with the id existed and was removed.
	ShardRetired(id uint32) bool
	// Fresh waits until the local view has everything that was acknowledged before the call.
	Fresh(ctx context.Context) error
	// Changed returns a channel that is closed when the local view changes.
	Changed() <-chan struct{}
}

// Shards is the part of the shard client that a Writer needs.
type Shards interface {
	// Write sends batches to a shard. If it refuses them because of their epoch, schema or table, none of the batches
	// was or will be appended.
	Write(ctx context.Context, shard uint32, batches [][]byte,
		tables func(ids []uint64) []*schemapb.Table) (index uint64, err error)
	// DefineTables adds definitions to a shard's log.
	DefineTables(ctx context.Context, shard uint32, tables []*schemapb.Table) error
	// CheckKeys reports which batches of requests with a key a shard has appended.
	CheckKeys(ctx context.Context, shard uint32, keys []*shardpb.BatchKey) ([]bool, error)
	// Load returns how many bytes are being sent to a shard.
	Load(shard uint32) int64
	// Pressed reports whether a shard would probably refuse a write of a database because it is busy, and when to retry.
	Pressed(shard uint32, database string) (retryAfter time.Duration, yes bool)
	// Ailing reports whether the shard has had no leader for a while.
	Ailing(shard uint32) bool
}

// Config has the parts, settings and limits of a Writer.
type Config struct {
	Meta   Meta
	Shards Shards
	// Session is the session id in batch ids. No other writer may ever use it, and it must be below 2^63. By default
	// it is random.
	Session uint64

	// MaxBatchRows limits the number of rows of a batch. The default value is 65,536.
	MaxBatchRows int
	// MaxBatchBytes is the estimated size before encoding at which a table's rows are split into several batches. The
	// default value is 8 MiB.
	MaxBatchBytes int
	// MaxCallBytes is the estimated size before encoding of all batches in one call to a shard. The default value is
	// 16 MiB.
	MaxCallBytes int
	// NoAutoCreate is set if the server never creates tables for log writes. Pipelines enforce it; here it only
	// selects the reason in the text of a refusal. The default value is false.
	NoAutoCreate bool
	// ClusterVersion returns the version of commands that every node understands. Keys of requests need version 2. By
	// default it is the newest version.
	ClusterVersion func() uint32
	// RefreshWait limits the wait for the local view after a shard reported that the view is old, or after the
	// metadata group refused a change. The default value is 2 s.
	RefreshWait time.Duration
	// ClosedWait limits the wait for a table whose rows are being handed over. The default value is 8 s.
	ClosedWait time.Duration

	// Logger logs messages for the operator. By default nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics. By default they are not registered.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	c.MaxBatchRows = cmp.Or(c.MaxBatchRows, 1<<16)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, 8<<20)
	c.MaxCallBytes = cmp.Or(c.MaxCallBytes, 16<<20)
	c.RefreshWait = cmp.Or(c.RefreshWait, 2*time.Second)
	c.ClosedWait = cmp.Or(c.ClosedWait, 8*time.Second)
	if c.Session == 0 {
		c.Session = newSessionID()
	}
	if c.ClusterVersion == nil {
		c.ClusterVersion = func() uint32 { return math.MaxUint32 }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Writer is the write path. See the package comment.
type Writer struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	session session
	// combiners has a combiner for each shard: uint32 → *combiner.
	combiners  sync.Map
	partitions partitions
	schemas    schemas
	seals      sealed
	epochs     epochs
}

// New returns a Writer. Meta and Shards must be set.
func New(cfg Config) (*Writer, error) {
	if cfg.Meta == nil || cfg.Shards == nil {
		return nil, errors.New("write: Config.Meta and Config.Shards must be set")
	}
	cfg = cfg.withDefaults()
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	w := &Writer{cfg: cfg, log: cfg.Logger, metrics: m}
	w.schemas.meta, w.schemas.command, w.schemas.wait = cfg.Meta, w.command, cfg.RefreshWait
	w.session.init(cfg.Session)
	return w, nil
}

// maxRounds limits how often one Write retries with a new schema or shard.
const maxRounds = 5

// Write stores the rows of out. When it returns nil, every row is on the disks of a majority of its shard's
// replicas and visible to queries.
//
// ErrSchemaChanged means that nothing was stored, because the rows do not fit the current tables. The local view has
// the current tables, so the caller runs its pipeline again. A *PartialError means that some rows were stored. After
// any other error nothing was stored, unless the reason is errs.OutcomeUnknown.
func (w *Writer) Write(ctx context.Context, out *pipeline.Output) (Result, error) {
	return w.WriteKeyed(ctx, out, Key{})
}

// WriteKeyed stores rows like Write, for a request with a key. Rows that any router stored when the request was sent
// before are not written again, but count as stored. Shards remember keys for 15 minutes, and at most 200,000 batches
// each. Beyond that, the user with the most batches loses the oldest. After a *PartialError or an error with reason
// errs.OutcomeUnknown, the client should send the request again.
//
// The same key with another body or other parameters is an error of status 422, and nothing is stored, as long as
// the shard remembers the key. If two such requests arrive at the same time, both may be stored.
//
// A repeated request is not recognised if its rows go to other tables or are divided differently, because the
// pipeline or a table has changed.
func (w *Writer) WriteKeyed(ctx context.Context, out *pipeline.Output, key Key) (Result, error) {
	req := newRequest(&w.cfg, out)
	if len(req.targets) == 0 {
		return Result{}, nil
	}
	key = w.supported(key, req)
	for round := 1; ; round++ {
		if err := w.ensure(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		}
		if waited, err := w.awaitOpen(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		} else if waited {
			round-- // nothing was sent
			continue
		}
		if err := req.divide(); err != nil {
			return Result{}, w.fail(req, err)
		}
		req.identify(key)
		err := w.send(ctx, w.session.id, req)
		if err == nil {
			w.noteAdapted(req)
			return req.result(), nil
		}
		stale, ok := req.again()
		if !ok || round == maxRounds {
			return Result{}, w.fail(req, err)
		}
		w.log.DebugContext(ctx, "rows are sent again", "stale", stale, "round", round, "error", err)
		if !stale {
			continue
		}
		if err := w.awaitNewer(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		}
	}
}

// supported returns the part of a key that all nodes of the cluster understand.
func (w *Writer) supported(key Key, req *request) Key {
	version := w.cfg.ClusterVersion()
	if key != (Key{}) && version < keysSince {
		key = Key{}
		req.warnings = append(req.warnings,
			"the header Idempotency-Key has no effect until all nodes are upgraded: a repetition is stored again")
	}
	switch {
	case version < bodiesSince:
		key.Body = 0
	case key.Body != 0 && version >= paramsSince:
		key = key.withParams()
	}
	key.byUser = key != (Key{}) && version >= metapb.ProtocolKeyUsers
	return key
}
