// Package ingest is the way of a request with logs, whatever protocol it came by: records in
// some form, where they go, and options become rows in tables, and the outcome of each record.
//
// A door decodes its protocol, asks Admit before it takes a body, calls Store, and answers in the
// protocol's own words. DESIGN.md says how one is added. The package knows no transport: no
// HTTP, no sockets. It makes no rows itself (router/pipeline) and stores none (router/write): it
// decides in which order they are asked, and which senders may ask.
//
// A Service lives as long as the process, has no goroutines of its own between calls and nothing
// to close. It may be used by any number of doors at once.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// Catalog is what the service must know of databases and tables: the router's own view.
type Catalog interface {
	Database(name string) (*schemapb.Database, bool)
	Table(database, name string) (*schema.Table, bool)
}

// Writer stores what a pipeline made of a request.
type Writer interface {
	// WriteKeyed returns an error with write.ErrSchemaChanged in its chain if the pipeline
	// should run again. The zero key is none.
	WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error)
	// Pressed reports whether rows for a table would most likely be refused because its
	// shards are busy, and when to try again.
	Pressed(database, table string) (retryAfter time.Duration, yes bool)
}

// Config is what a Service works with. The parts must be set; the settings have defaults.
type Config struct {
	// Catalog is the local view of the metadata. Required.
	Catalog Catalog
	// Fresh waits until Catalog and Pipelines hold all that was acknowledged before the call. It is asked before a
	// request is refused for what they do not hold. The default value leaves them as they are.
	Fresh func(ctx context.Context) error
	// Writer stores what pipelines made. Required.
	Writer Writer
	// Pipelines finds stored pipelines. Without it svc_identity is the only pipeline.
	Pipelines *Pipelines
	// Lookup answers Service.Lookup. Without it no table has any texts.
	Lookup func(ctx context.Context, q *Lookup) ([]string, error)
	// NoClientVariables lets records that come with svc_ttl, svc_table_suffix and other
	// variables fail. Pipelines may set them in any case. The default value is false.
	NoClientVariables bool
	// StoreRejects keeps records that are skipped in svc_private.rejects, unless a batch says
	// otherwise. The default value is false.
	StoreRejects bool
	// RejectsTTL is how long they are kept. The default value is 7d.
	RejectsTTL string
	// NoAutoCreate refuses to create tables and columns. The default value is false.
	NoAutoCreate bool
	// TimestampColumn is the time index that is added to records without one. The
	// default value is svc_timestamp.
	TimestampColumn string
	// MaxNewTables bounds the tables that one batch makes, and MaxNewTablesPerMinute the tables that
	// the requests of a user make in a minute. The default values are 100 and 1000.
	MaxNewTables, MaxNewTablesPerMinute int
	// MaxColumns bounds the columns of a table. The default value is 4096.
	MaxColumns int
	// MaxMadeColumns bounds the columns of a table up to which ingestion adds some, and MaxNewColumns the
	// columns that one request adds to tables. The default values are 2048 and 1000.
	MaxMadeColumns, MaxNewColumns int
	// PipelineSteps bounds the work of a pipeline on all records of a batch. The default
	// value is pipeline.DefaultSteps.
	PipelineSteps int64
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
	// Writable returns why rows are refused, for lack of room on a disk. The default value
	// refuses none.
	Writable func() error
	// Logger gets messages for debugging. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() (Config, error) {
	if c.RejectsTTL == "" {
		c.RejectsTTL = "7d"
	}
	ttl, err := schema.NormalizeOption(schema.OptionTTL, c.RejectsTTL)
	if err != nil {
		return c, fmt.Errorf("ingest: Config.RejectsTTL: %w", err)
	}
	c.RejectsTTL = ttl
	if c.TimestampColumn == "" {
		c.TimestampColumn = pipeline.DefaultTimestampColumn
	}
	if c.MaxNewTables == 0 {
		c.MaxNewTables = 100
	}
	if c.MaxNewTablesPerMinute == 0 {
		c.MaxNewTablesPerMinute = 1000
	}
	if c.MaxColumns == 0 {
		c.MaxColumns = 4096
	}
	c.MaxMadeColumns, c.MaxNewColumns = cmp.Or(c.MaxMadeColumns, 2048), cmp.Or(c.MaxNewColumns, 1000)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Writable == nil {
		c.Writable = func() error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Service is the way of a request. See the package comment.
type Service struct {
	cfg       Config
	log       *slog.Logger
	metrics   *metrics
	running   running
	newTables newTables
	waiting   waiting
	bodies    bodies
	refusals  refusals
	fresh     *freshView
}

// New returns a Service. Catalog and Writer must be set.
func New(cfg Config) (*Service, error) {
	if cfg.Catalog == nil || cfg.Writer == nil {
		return nil, errors.New("ingest: Config.Catalog and Config.Writer must be set")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Service{
		cfg: cfg, log: cfg.Logger, metrics: m, running: newRunning(), newTables: newTables{limit: cfg.MaxNewTablesPerMinute},
		fresh: newFreshView(cfg.Fresh),
	}
	if cfg.Pipelines != nil {
		cfg.Pipelines.fresh = s.fresh // nothing looks for pipelines yet
	}
	return s, nil
}

// Running returns the number of pipelines that run now.
func (s *Service) Running() int { return len(s.running) }
