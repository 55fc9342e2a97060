// Package write is the write path of a router: it takes what a pipeline made of one
// request, sees to it that tables and columns exist, splits the rows by table and shard,
// sends them, and counts what was stored.
//
// It does not parse, and it does not know HTTP. Rows come in as column builders and are
// encoded once; the same bytes go to the shard's log. Everything that is new in a request,
// over all its tables, goes to the metadata group in one command before any row is sent;
// a request whose tables are known costs no metadata call at all.
//
// Small requests to one shard that arrive together are sent together: each is answered
// when the rows of all are stored.
//
// A Writer is made once per process and lives as long as it. A goroutine that it starts
// ends with the call to a shard, or to the metadata group, that it makes. Write may be called concurrently, but an
// Output belongs to one call: Write sets the ids of its columns.
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
	// ShardRetired reports whether there was a shard with the id that was taken away.
	ShardRetired(id uint32) bool
	// Fresh waits until the local view has all that was acknowledged before the call.
	Fresh(ctx context.Context) error
	// Changed is closed at the next change of the local view.
	Changed() <-chan struct{}
}

// Shards is the part of the shard client that a Writer needs.
type Shards interface {
	// Write's refusals for epoch, schema or table are final: nothing of the batches was
	// appended, nor ever will be.
	Write(ctx context.Context, shard uint32, batches [][]byte,
		tables func(ids []uint64) []*schemapb.Table) (index uint64, err error)
	// DefineTables puts definitions into a shard's log.
	DefineTables(ctx context.Context, shard uint32, tables []*schemapb.Table) error
	// CheckKeys reports which batches of requests with a key a shard has appended.
	CheckKeys(ctx context.Context, shard uint32, keys []*shardpb.BatchKey) ([]bool, error)
	// Load is how many bytes are on their way to a shard.
	Load(shard uint32) int64
	// Pressed reports whether a write to a shard would most likely be refused because it is
	// busy, and when to try again.
	Pressed(shard uint32) (retryAfter time.Duration, yes bool)
	// Ailing reports whether the shard has had no leader for a while.
	Ailing(shard uint32) bool
}

// Config says what a Writer works with, and its sizes.
type Config struct {
	Meta   Meta
	Shards Shards
	// Session is the part of batch ids that no other writer has, ever; below 2^63. The default
	// value is one drawn at random.
	Session uint64

	// MaxBatchRows bounds the rows of a batch. The default value is 65,536.
	MaxBatchRows int
	// MaxBatchBytes is about the size, before encoding, at which a table's rows are
	// split into several batches. The default value is 8 MiB.
	MaxBatchBytes int
	// MaxCallBytes is about the size, before encoding, of all batches in one call to a
	// shard. The default value is 16 MiB.
	MaxCallBytes int
	// NoAutoCreate says that the server never creates tables for log writes, so that
	// refusals name the right cause. The pipelines enforce it. The default value is false.
	NoAutoCreate bool
	// ClusterVersion is the version of commands that every node understands. Requests
	// have keys since version 2. The default value is one that says the newest.
	ClusterVersion func() uint32
	// RefreshWait bounds the wait for the local view after a shard said that it is old, or the
	// metadata group refused what rows ask of a table.
	// The default value is 2 s.
	RefreshWait time.Duration
	// ClosedWait bounds the wait for a table whose rows are handed over. The default value
	// is 8 s.
	ClosedWait time.Duration

	// Logger takes what an operator should know. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	c.MaxBatchRows = cmp.Or(c.MaxBatchRows, 1<<16)
	c.MaxBatchBytes = cmp.Or(c.MaxBatchBytes, 8<<20)
	c.MaxCallBytes = cmp.Or(c.MaxCallBytes, 16<<20)
	c.RefreshWait = cmp.Or(c.RefreshWait, 2*time.Second)
	c.ClosedWait = cmp.Or(c.ClosedWait, 8*time.Second)
	if c.Session == 0 {
		c.Session = drawSession()
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
	// combiners by shard: uint32 → *combiner.
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

// maxRounds bounds how often one Write follows a table to a new schema or shard.
const maxRounds = 5

// Write stores the rows of out. When it returns nil, every row is on disk on a majority
// of its shard and visible to queries.
//
// ErrSchemaChanged says that nothing was stored and that the rows do not fit the tables
// as they are now: the caller runs its pipeline again, on the tables of that moment, which
// the local view has. A
// *PartialError says that some rows were stored. After any other error none was, except
// with reason errs.OutcomeUnknown.
func (w *Writer) Write(ctx context.Context, out *pipeline.Output) (Result, error) {
	return w.WriteKeyed(ctx, out, Key{})
}

// WriteKeyed is Write of a request that its client calls by a key: rows that were stored
// when it was sent before, by whichever router, are left out, and count as stored. Shards
// remember keys for 15 minutes, and each 200,000 batches: beyond that the user with the most loses the oldest. A
// *PartialError, and an error of reason errs.OutcomeUnknown, are mended by sending the request again.
//
// The same key with another body or other parameters is an error of status 422, and nothing is stored, as long as
// the shard that is asked remembers the key; two such requests at the same time may both be stored.
//
// It is not known again if its rows go to other tables or are cut up differently,
// because the pipeline or a table has changed.
func (w *Writer) WriteKeyed(ctx context.Context, out *pipeline.Output, key Key) (Result, error) {
	req := newRequest(w.cfg, out)
	if len(req.targets) == 0 {
		return Result{}, nil
	}
	if key != (Key{}) && w.cfg.ClusterVersion() < keysSince {
		key = Key{}
		req.warnings = append(req.warnings,
			"the header Idempotency-Key has no effect until all nodes are upgraded: a repetition is stored again")
	}
	switch version := w.cfg.ClusterVersion(); {
	case version < bodiesSince:
		key.Body = 0
	case key.Body != 0 && version >= paramsSince:
		key = key.withParams()
	}
	key.byUser = key != (Key{}) && w.cfg.ClusterVersion() >= metapb.ProtocolKeyUsers
	for round := 1; ; round++ {
		if err := w.ensure(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		}
		if waited, err := w.awaitOpen(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		} else if waited {
			round-- // nothing was tried
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
