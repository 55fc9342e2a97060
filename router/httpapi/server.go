// Package httpapi is the HTTP API. It has all URLs and their permissions in one table (routes.go), and does what
// all requests have in common: limits, authentication, time limits, the format of errors, compression and metrics.
//
// It does not ingest logs (router/ingest), make rows (router/pipeline), store rows (router/write) or run SQL
// (router/query). It calls these packages in the right order and converts their results to HTTP. It does not open
// ports; package node does.
//
// A Server is created once, starts no goroutines and has nothing to close. Any number of listeners may use its
// handlers.
package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	oteltrace "go.opentelemetry.io/otel/trace"

	"cordwood/proto/schema"
	"cordwood/proto/turns"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/body"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/clusterapi"
	"cordwood/router/httpapi/explore"
	"cordwood/router/httpapi/lokiapi"
	"cordwood/router/httpapi/peer"
	"cordwood/router/httpapi/pipelineapi"
	"cordwood/router/httpapi/saved"
	"cordwood/router/httpapi/session"
	"cordwood/router/iceberg"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/pipeline"
)

// Authenticator finds out which user sends a request, and notices when the user loses a right.
type Authenticator interface {
	// Authenticate returns the user who sends r from the client's address. Its errors have a code of
	// the 7000s, or RateLimited.
	Authenticate(r *http.Request, from netip.Addr) (access.Sender, error)
	// SameCertificate returns an error if the client's certificate stands for another user than s. Authenticate has
	// checked that.
	SameCertificate(state *tls.ConnectionState, s access.Sender, from netip.Addr) error
	// Begin starts work for a sender. end is called once, with the reason, when the sender may no longer do the work.
	// If end is nil, only Require checks the rights.
	Begin(s access.Sender, end func(error)) access.Work
}

// Config has the parts and settings of a Server. Parts marked as required must be set. All settings have defaults.
type Config struct {
	// Catalog is the local view of the metadata. Required.
	Catalog ingest.Catalog
	// Fresh waits until Catalog and Pipelines have everything that was acknowledged before the call. By default it
	// does nothing.
	Fresh func(ctx context.Context) error
	// Writer stores rows. Required.
	Writer ingest.Writer
	// Quotas limits what databases take in. By default nothing is limited.
	Quotas ingest.Quotas
	// Pipelines stores the pipelines that clients upload. Without it, the paths of pipelines do not exist, and
	// svc_identity is the only pipeline.
	Pipelines pipelineapi.Store
	// Saved stores values that users save in the page. Without it, the paths of saved values do not exist.
	Saved saved.Store
	// PipelineOptions are the options for compiling pipelines.
	PipelineOptions pipeline.Options
	// Lookup finds stored texts, for protocols whose clients resend stored records. Without it, only keys identify
	// such records.
	Lookup func(ctx context.Context, q *ingest.Lookup) ([]string, error)
	// NoClientVariables refuses records that contain svc_ttl, svc_table_suffix and other variables. Pipelines may set
	// variables in any case. The default value is false.
	NoClientVariables bool
	// StoreRejects stores records that skip_error skips in svc_private.rejects. A request can change this by
	// on_reject. The default value is false.
	StoreRejects bool
	// RejectsTTL is how long rejects are kept. The default value is 7d.
	RejectsTTL string
	// SQL answers /v1/sql. It checks the caller's rights before each statement, has its own time limit, and answers
	// errors by WriteError. Without it, the path does not exist.
	SQL http.Handler
	// Access runs the statements of requests about users, roles, grants and tokens. Without it, their paths under
	// /v1/access do not exist.
	Access Statements
	// Bootstrap creates the first administrator of the cluster, if the request has a bootstrap token. It sets the sender
	// of by, and records the change or the attempt. Without it, such requests are refused.
	Bootstrap func(by *access.Caller, r *http.Request, b Bootstrap) error
	// Page serves the page for browsers. Without it, the paths of the page do not exist.
	Page http.Handler
	// LogQuery answers structured queries at /v1/logs. Like SQL, it has its own time limit. Without it,
	// /v1/logs accepts only OTLP.
	LogQuery http.Handler
	// Explore answers requests of the page for logs at /v1/explore. Without it, the paths do not exist.
	Explore *explore.Handler
	// Loki serves the paths of Loki's API for reading. Without it, these paths do not exist.
	Loki *lokiapi.Handler
	// Iceberg is the catalog for other engines. Without it, the paths under /iceberg do not exist.
	Iceberg *iceberg.Catalog
	// Tunnel serves connections over which backup and restore call the parts of the node. It checks the caller's
	// rights before each call, and must not block for long. Without it, the path of the tunnel does not exist.
	Tunnel func(conn net.Conn, caller *access.Caller)
	// NodeNames replaces the ids of nodes in a text by their names. By default nothing is replaced.
	NodeNames func(text string) string
	// Cluster describes the cluster and starts operations. Without it, the paths under /v1/cluster do not exist.
	Cluster clusterapi.Cluster
	// Auth finds out which user sends a request. If it is nil, authentication is off, and everybody may do everything.
	Auth Authenticator
	// Changes makes the records of changes. By default they are lines of Logger.
	Changes *audit.Log
	// Sessions signs users in with a cookie. SignIn checks the credentials of a sign-in. If Sessions is nil, there are
	// no sessions.
	Sessions *session.Manager
	SignIn   SignIn
	// OIDC signs users of browsers in with an OpenID Connect provider, and People admits them. By default there is none.
	// OIDCRedirect is the URL to which the provider sends browsers back. By default it has the host of the request.
	OIDC         OIDC
	People       People
	OIDCRedirect string
	// MetricsClosed requires a user for /metrics. By default anybody may read metrics, but if the server has users,
	// the names of databases and tables are left out.
	MetricsClosed bool
	// Tail answers /v1/tail. Without it, the path does not exist.
	Tail http.Handler

	// Proxies are the trusted proxies, whose X-Forwarded-For and X-Forwarded-Proto are used. By default there are
	// none, and the client is the address that connects.
	Proxies peer.Proxies
	// Browsers decides which requests of browsers are answered, and which pages may read answers. By default no other
	// origin is allowed.
	Browsers *browser.Rules

	// Bodies limits the size of a body and the memory of all bodies together. By default a body may have 64 MiB, and
	// the memory is not limited.
	Bodies *body.Reader
	// Timeout limits the time of requests without the header x-svc-timeout. The default value is 0, which means no
	// limit.
	Timeout time.Duration

	// NoAutoCreate stops ingestion from creating tables and columns. The default value is false.
	NoAutoCreate bool
	// TimestampColumn is the time column that is added to records without one. The default value is svc_timestamp.
	TimestampColumn string
	// MaxNewTables limits the number of tables that one ingestion request creates, and MaxNewTablesPerMinute the
	// tables that all requests of a user create in a minute. The default values are 100 and 1000.
	MaxNewTables, MaxNewTablesPerMinute int
	// MaxColumns limits the number of columns of a table. The default value is 4096.
	MaxColumns int
	// dryRunTime is how long the pipelines of a dry run may work. The default value is 10 s.
	dryRunTime time.Duration
	// dryRuns limits the dry runs at a time. The default is that of package dryrun.
	dryRuns *turns.Gate
	// MaxMadeColumns is the number of columns at which ingestion stops adding columns to a table. MaxNewColumns
	// limits the columns that one request adds. The default values are 2048 and 1000.
	MaxMadeColumns, MaxNewColumns int
	// Places is ingest.Config.Places.
	Places *turns.Places
	// PipelineSteps limits the work of a pipeline for all records of a request. The default value is
	// pipeline.DefaultSteps.
	PipelineSteps int64
	// Now is the clock. The default value is time.Now.
	Now func() time.Time

	// Writable returns the reason why rows are refused because a disk is full. It is called before a body is read. By
	// default rows are not refused.
	Writable func() error
	// Ready returns the reasons why the node cannot serve. There are none if it can, which is the default.
	Ready func() []string
	// Warnings returns faults that do not prevent the node from serving. By default there are none.
	Warnings func() []string
	// Refusals returns the reasons why the node accepts no rows although it is ready. By default there are none.
	Refusals func() []string
	// Status is the content of /status, without the values that the process finds out itself.
	Status about.Status
	// ConfigText is the running configuration as TOML, for /config. The default
	// value is empty.
	ConfigText func() string

	// Tracer creates the traces of requests. If it is nil, there are none.
	Tracer oteltrace.Tracer
	// Logger logs requests at debug level, and internal errors and panics at error level. By default nothing is
	// logged.
	Logger *slog.Logger
	// Registerer registers the metrics, and /metrics prints what Gatherer returns. By default the server has its own
	// registry.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

func (c Config) withDefaults() (Config, error) {
	if c.Changes == nil {
		c.Changes = audit.New(c.Logger, nil)
	}
	if c.Bodies == nil {
		var err error
		if c.Bodies, err = body.New(body.Config{MaxBytes: 64 << 20}); err != nil {
			return c, err
		}
	}
	if c.Browsers == nil {
		var err error
		if c.Browsers, err = browser.New(browser.Config{Users: c.Auth != nil}); err != nil {
			return c, err
		}
	}
	c.TimestampColumn = cmp.Or(c.TimestampColumn, "svc_timestamp")
	c.PipelineOptions.TimestampColumn = cmp.Or(c.PipelineOptions.TimestampColumn, c.TimestampColumn)
	c.MaxNewTables = cmp.Or(c.MaxNewTables, 100)
	c.MaxNewTablesPerMinute = cmp.Or(c.MaxNewTablesPerMinute, 1000)
	c.MaxColumns = cmp.Or(c.MaxColumns, 4096)
	ttl, err := schema.NormalizeOption(schema.OptionTTL, cmp.Or(c.RejectsTTL, "7d"))
	if err != nil {
		return c, fmt.Errorf("httpapi: Config.RejectsTTL: %w", err)
	}
	c.RejectsTTL = ttl
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registerer == nil || c.Gatherer == nil {
		own := prometheus.NewRegistry()
		c.Registerer, c.Gatherer = own, own
	}
	c.Status = c.Status.WithDefaults()
	return c.withFunctions(), nil
}

// withFunctions sets the functions that are nil to their defaults.
func (c Config) withFunctions() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Writable == nil {
		c.Writable = func() error { return nil }
	}
	if c.Refusals == nil {
		c.Refusals = func() []string { return nil }
	}
	if c.Warnings == nil {
		c.Warnings = func() []string { return nil }
	}
	if c.Ready == nil {
		c.Ready = func() []string { return nil }
	}
	if c.ConfigText == nil {
		c.ConfigText = func() string { return "" }
	}
	return c
}

// Server is the HTTP API. See the package comment.
type Server struct {
	ingestion  *ingest.Service
	handlers   *handlers
	gate       *gate
	middleware *middleware
	table      []route
	whole      http.Handler
	public     http.Handler
}

// New returns a Server. Catalog and Writer must be set.
func New(cfg Config) (*Server, error) {
	if cfg.Catalog == nil || cfg.Writer == nil {
		return nil, errors.New("httpapi: Config.Catalog and Config.Writer must be set")
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	var compiled *ingest.Pipelines
	if cfg.Pipelines != nil {
		if compiled, err = ingest.NewPipelines(cfg.Pipelines, cfg.PipelineOptions, cfg.Registerer); err != nil {
			return nil, err
		}
	}
	ingestion, err := newIngestion(cfg, compiled)
	if err != nil {
		return nil, err
	}
	s := &Server{ingestion: ingestion}
	s.handlers = newHandlers(&cfg, ingestion, compiled, s)
	s.gate = &gate{
		auth: cfg.Auth, sessions: cfg.Sessions, oidc: cfg.OIDC != nil, proxies: cfg.Proxies,
		timeout: cfg.Timeout, tracer: cfg.Tracer,
		metrics: m, changes: cfg.Changes, receivers: s.handlers.receivers,
	}
	s.middleware = &middleware{
		browsers: cfg.Browsers, proxies: cfg.Proxies, bodies: cfg.Bodies, nodeNames: cfg.NodeNames, metrics: m,
		log: cfg.Logger,
	}
	s.table = s.handlers.routes(&cfg)
	if s.whole, err = s.build(s.table, protocolUnder); err != nil {
		return nil, err
	}
	if s.public, err = s.build(publicRoutes(s.table), protocolUnder); err != nil {
		return nil, err
	}
	return s, nil
}

// newIngestion returns the ingestion service.
func newIngestion(cfg Config, compiled *ingest.Pipelines) (*ingest.Service, error) {
	return ingest.New(ingest.Config{
		Catalog: cfg.Catalog, Fresh: cfg.Fresh, Writer: cfg.Writer, Pipelines: compiled, Lookup: cfg.Lookup,
		Quotas:            cfg.Quotas,
		NoClientVariables: cfg.NoClientVariables,
		StoreRejects:      cfg.StoreRejects, RejectsTTL: cfg.RejectsTTL, NoAutoCreate: cfg.NoAutoCreate,
		TimestampColumn: cfg.TimestampColumn,
		MaxNewTables:    cfg.MaxNewTables, MaxNewTablesPerMinute: cfg.MaxNewTablesPerMinute, MaxColumns: cfg.MaxColumns,
		MaxMadeColumns: cfg.MaxMadeColumns, MaxNewColumns: cfg.MaxNewColumns,
		Places: cfg.Places, PipelineSteps: cfg.PipelineSteps, Now: cfg.Now, Writable: cfg.Writable, Logger: cfg.Logger,
		Registerer: cfg.Registerer,
	})
}

// build returns a handler for some routes, within the layers that all requests pass. For a path without a route,
// speaks returns the protocol that its client probably uses, or nil.
func (s *Server) build(routes []route, speaks func(path string) *protocol) (http.Handler, error) {
	d, err := s.gate.dispatch(routes, speaks)
	if err != nil {
		return nil, err
	}
	return s.middleware.around(d), nil
}

// Ingestion returns the ingestion service, for listeners that do not speak HTTP.
func (s *Server) Ingestion() *ingest.Service { return s.ingestion }

// Handler serves every path.
func (s *Server) Handler() http.Handler { return s.whole }

// PublicHandler serves only the paths under /v1/, the paths of other systems' protocols and the page, for a listener
// that users can reach.
func (s *Server) PublicHandler() http.Handler { return s.public }

// ReceiverHandler serves the paths of one protocol, as the other system has them, for a separate listener. d has the
// default destination of records; the server sets its other parts. ReceiverHandler returns an error if there is no such
// protocol over HTTP.
func (s *Server) ReceiverHandler(name ingest.Protocol, d httpreceiver.Receiver) (http.Handler, error) {
	for i := range protocols {
		if p := &protocols[i]; p.name == name {
			routes := s.handlers.receivers.routesOf(p, "", d)
			routes = append(routes, route{methods: getPost, path: "/ready", needs: access.Open, handler: s.handlers.about.Ready})
			return s.build(routes, func(string) *protocol { return p })
		}
	}
	return nil, fmt.Errorf("httpapi: there is no protocol over HTTP with the name %s", name)
}
