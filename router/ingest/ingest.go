// Package ingest ingests requests with logs of all protocols. Records in some form, their destination and options
// become rows in tables, with an outcome for each record.
//
// A receiver decodes its protocol, calls Admit before it reads a body, calls Store, and answers in the format of the
// protocol. DESIGN.md explains how to add one. This package does not depend on a transport such as HTTP or sockets.
// It does not make rows (router/pipeline) or store them (router/write). It calls these packages in the right order
// and checks the sender's rights.
//
// A Service lives as long as the process. It runs no goroutines between calls and has nothing to close. Any number
// of receivers may use it at the same time.
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
	"cordwood/proto/turns"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// Catalog finds databases and tables in the router's local view.
type Catalog interface {
	Database(name string) (*schemapb.Database, bool)
	Table(database, name string) (*schema.Table, bool)
}

// Writer stores the rows that a pipeline made of a request.
type Writer interface {
	// WriteKeyed returns an error that wraps write.ErrSchemaChanged if the pipeline should run again. The zero key
	// means that there is no key.
	WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error)
	// Pressed reports whether rows for a table would probably be refused because its shards are busy, and when to
	// retry.
	Pressed(database, table string) (retryAfter time.Duration, yes bool)
	// Full returns an error if a table cannot be created because the quota of its database was used up a moment ago.
	Full(database, table string) error
}

// Quotas compares what databases take in with their quotas. Its errors have code RateLimited.
type Quotas interface {
	// Ready returns an error if a request for a database would be refused.
	Ready(database string) error
	// Take counts rows and bytes, unless it returns an error.
	Take(database string, rows, bytes int64) error
	// Owe counts rows and bytes of a request, a part of which Take has admitted.
	Owe(database string, rows, bytes int64)
	// GiveBack no longer counts rows and bytes that were not stored.
	GiveBack(database string, rows, bytes int64)
}

// Config has the parts and settings of a Service. Required parts must be set. The settings have defaults.
type Config struct {
	// Catalog is the local view of the metadata. Required.
	Catalog Catalog
	// Fresh waits until Catalog and Pipelines have everything that was acknowledged before the call. It is called
	// before a request is refused because something is missing there. By default it does nothing.
	Fresh func(ctx context.Context) error
	// Writer stores rows. Required.
	Writer Writer
	// Pipelines finds stored pipelines. Without it, svc_identity is the only pipeline.
	Pipelines *Pipelines
	// Quotas limits what databases take in. By default nothing is limited.
	Quotas Quotas
	// Lookup implements Service.Lookup. Without it, no texts are found.
	Lookup func(ctx context.Context, q *Lookup) ([]string, error)
	// NoClientVariables refuses records that contain svc_ttl, svc_table_suffix and other variables. Pipelines may set
	// variables in any case. The default value is false.
	NoClientVariables bool
	// StoreRejects stores skipped records in svc_private.rejects, unless a batch overrides it. The default value is
	// false.
	StoreRejects bool
	// RejectsTTL is how long rejects are kept. The default value is 7d.
	RejectsTTL string
	// NoAutoCreate forbids creating tables and columns. The default value is false.
	NoAutoCreate bool
	// TimestampColumn is the time column that is added to records without one. The default value is svc_timestamp.
	TimestampColumn string
	// MaxNewTables limits the number of tables that one batch creates, and MaxNewTablesPerMinute the tables that all
	// requests of a user create in a minute. The default values are 100 and 1000.
	MaxNewTables, MaxNewTablesPerMinute int
	// MaxColumns limits the number of columns of a table. The default value is 4096.
	MaxColumns int
	// MaxMadeColumns is the number of columns at which ingestion stops adding columns to a table. MaxNewColumns
	// limits the number of columns that one request adds. The default values are 2048 and 1000.
	MaxMadeColumns, MaxNewColumns int
	// Places limits the pipelines that run at a time, and divides them among databases. By default there is one for
	// this Service; a node has one for all its work.
	Places *turns.Places
	// PipelineSteps limits the work of a pipeline for all records of a batch. The default value is
	// pipeline.DefaultSteps.
	PipelineSteps int64
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
	// Writable returns the reason why rows are refused because a disk is full. By default rows are not refused.
	Writable func() error
	// Logger logs debug messages. By default nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics. By default they are not registered.
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
	if c.Quotas == nil {
		c.Quotas = unlimited{}
	}
	if c.Places == nil {
		c.Places = turns.NewPlaces()
	}
	if c.Writable == nil {
		c.Writable = func() error { return nil }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Service ingests requests. See the package comment.
type Service struct {
	cfg       Config
	log       *slog.Logger
	metrics   *metrics
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
		cfg: cfg, log: cfg.Logger, metrics: m, newTables: newTables{limit: cfg.MaxNewTablesPerMinute},
		fresh: newFreshView(cfg.Fresh),
	}
	if cfg.Pipelines != nil {
		cfg.Pipelines.fresh = s.fresh // this is safe, because nothing uses the pipelines yet
	}
	return s, nil
}

// Running returns the number of places for pipelines that are in use.
func (s *Service) Running() int { return s.cfg.Places.Count() }
