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
// ends with the call to a shard that it makes. Write may be called concurrently, but an Output belongs to
// one call: Write sets the ids of its columns.
package write

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/pipeline"
)

// Meta is the part of the metadata client that a Writer needs.
type Meta interface {
	// Propose puts a command through the metadata log; the tables of its result are in
	// the local view before it returns.
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	Table(database, name string) (*schema.Table, bool)
	TableByID(id uint64) (*schema.Table, bool)
	// Changed is closed at the next change of the local view.
	Changed() <-chan struct{}
}

// Shards is the part of the shard client that a Writer needs.
type Shards interface {
	Write(ctx context.Context, shard uint32, batches [][]byte, tables func(ids []uint64) []*schemapb.Table) (index uint64, err error)
}

// Config says what a Writer works with, and its sizes.
type Config struct {
	Meta   Meta
	Shards Shards
	// NodeID is the node under whose name the session of batch ids is registered.
	NodeID string

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
	// RefreshWait bounds the wait for the local view after a shard said that it is old.
	// The default value is 2 s.
	RefreshWait time.Duration

	// Logger takes what an operator should know. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	setDefault(&c.MaxBatchRows, 1<<16)
	setDefault(&c.MaxBatchBytes, 8<<20)
	setDefault(&c.MaxCallBytes, 16<<20)
	setDefault(&c.RefreshWait, 2*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	if *field == *new(T) {
		*field = value
	}
}

// Writer is the write path. See the package comment.
type Writer struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	session session
	// combiners by shard: uint32 → *combiner.
	combiners sync.Map
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
	w.session.init(cfg.Meta, cfg.NodeID)
	return w, nil
}

// Start registers the session of batch ids ahead of the first Write, which else does it.
func (w *Writer) Start(ctx context.Context) error {
	_, err := w.session.id(ctx)
	return err
}

// maxRounds bounds how often one Write follows a table to a new schema or shard.
const maxRounds = 5

// Write stores the rows of out. When it returns nil, every row is on disk on a majority
// of its shard and visible to queries.
//
// ErrSchemaChanged says that nothing was stored and that the rows do not fit the tables
// as they are now: the caller runs its pipeline again, on the tables of that moment. A
// *PartialError says that some rows were stored. After any other error none was, except
// with reason errs.OutcomeUnknown.
func (w *Writer) Write(ctx context.Context, out *pipeline.Output) (Result, error) {
	req := newRequest(w.cfg, out)
	if len(req.targets) == 0 {
		return Result{}, nil
	}
	sessionID, err := w.session.id(ctx)
	if err != nil {
		return Result{}, err
	}
	for round := 1; ; round++ {
		if err := w.ensure(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		}
		err := w.send(ctx, sessionID, req)
		if err == nil {
			return req.result(), nil
		}
		if !req.refreshable() || round == maxRounds {
			return Result{}, w.fail(req, err)
		}
		w.log.DebugContext(ctx, "a shard knows a newer table", "round", round, "err", err)
		if err := w.awaitNewer(ctx, req); err != nil {
			return Result{}, w.fail(req, err)
		}
	}
}
