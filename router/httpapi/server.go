// Package httpapi is the front that users talk to: every URL in one table (routes.go),
// with its permission, and around it what all requests have in common: limits,
// authentication, time limits, the one error shape, compression, metrics.
//
// It does not take in logs (router/ingest), make rows (router/pipeline), store
// (router/write) or run SQL (router/query): it decides in which order they are asked,
// and turns what they answer into HTTP. It opens no port; node does.
//
// A Server is made once, has no goroutines of its own and nothing to close. Its
// handlers may be used by any number of listeners.
package httpapi

import (
	"cmp"
	"context"
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
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/body"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/clusterapi"
	"cordwood/router/httpapi/explore"
	"cordwood/router/httpapi/peer"
	"cordwood/router/httpapi/pipelineapi"
	"cordwood/router/httpapi/saved"
	"cordwood/router/httpapi/session"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
	"cordwood/router/pipeline"
)

// Authenticator reports which user sends a request, and follows whether they still may.
type Authenticator interface {
	// Authenticate returns the user who sends r from the client's address. Its errors have a code of
	// the 7000s, or RateLimited.
	Authenticate(r *http.Request, from netip.Addr) (access.Sender, error)
	// Begin returns work of a sender. end is called once, with the reason, when they may no
	// longer do it; it may be nil, and then only Require says what is allowed.
	Begin(s access.Sender, end func(error)) access.Work
}

// Config is what a Server works with. The parts must be set; the settings have defaults.
type Config struct {
	// Catalog is the local view of the metadata. Required.
	Catalog ingest.Catalog
	// Fresh waits until Catalog and Pipelines hold all that was acknowledged before the call. The default value leaves
	// them as they are.
	Fresh func(ctx context.Context) error
	// Writer stores what pipelines made. Required.
	Writer ingest.Writer
	// Pipelines keeps the pipelines that clients upload. Without it their paths do not
	// exist, and svc_identity is the only pipeline.
	Pipelines pipelineapi.Store
	// Saved keeps what users save for a page. Without it its paths do not exist.
	Saved saved.Store
	// PipelineOptions is what pipelines are compiled with.
	PipelineOptions pipeline.Options
	// Lookup finds texts that are stored, for protocols whose clients send again what was stored. Without it such records
	// are known by their keys only.
	Lookup func(ctx context.Context, q *ingest.Lookup) ([]string, error)
	// NoClientVariables lets records that come with svc_ttl, svc_table_suffix and other
	// variables fail. Pipelines may set them in any case. The default value is false.
	NoClientVariables bool
	// StoreRejects keeps records that skip_error drops in svc_private.rejects, unless a
	// request says otherwise by on_reject. The default value is false.
	StoreRejects bool
	// RejectsTTL is how long they are kept. The default value is 7d.
	RejectsTTL string
	// SQL answers /v1/sql: it asks the caller in the context of a request before each
	// statement, keeps its own time limit and answers errors by WriteError. Without it the
	// path does not exist.
	SQL http.Handler
	// Page serves the page for browsers. Without it its paths do not exist.
	Page http.Handler
	// LogQuery answers the structured queries at /v1/logs, in the way of SQL. Without it /v1/logs takes OTLP alone.
	LogQuery http.Handler
	// Explore answers what a page for logs asks, at /v1/explore. Without it the paths do not exist.
	Explore *explore.Handler
	// Tunnel takes connections over which backup and restore call the parts of the node.
	// It asks the caller before each call, and must not block for long. Without it their
	// path does not exist.
	Tunnel func(conn net.Conn, caller *access.Caller)
	// NodeNames puts the names of nodes in the place of their ids in a text. The default value
	// changes nothing.
	NodeNames func(text string) string
	// Cluster describes the cluster and begins operations. Without it the paths under
	// /v1/cluster do not exist.
	Cluster clusterapi.Cluster
	// Auth reports which user asks. The default value is nil: authentication is off, and
	// everybody may do everything.
	Auth Authenticator
	// Sessions signs users in by a cookie. SignIn checks the password and returns the user, with the errors of Auth.
	// The default value is nil: there are no sessions.
	Sessions *session.Manager
	SignIn   func(ctx context.Context, user, password string, from netip.Addr) (access.Sender, error)
	// MetricsClosed asks for a user at /metrics too. The default value is false: anybody may
	// read them, but while there are users not the names of databases and tables.
	MetricsClosed bool
	// Tail answers /v1/tail, for users that may read. Without it the path does not exist.
	Tail http.Handler

	// Proxies are the proxies whose X-Forwarded-For and X-Forwarded-Proto count. The default
	// value is none: the client is the address that connects.
	Proxies peer.Proxies
	// Browsers decides which requests of browsers are answered; pages of its origins may
	// read answers. The default value lets no other origin in.
	Browsers *browser.Rules

	// Bodies bounds the size of a body and the memory of all bodies under way.
	// The default value allows 64 MiB for each, and no bound for all.
	Bodies *body.Reader
	// Timeout bounds a request that does not name another by x-svc-timeout. The
	// default value is 0: none.
	Timeout time.Duration

	// NoAutoCreate refuses to create tables and columns for all of ingestion. The
	// default value is false.
	NoAutoCreate bool
	// TimestampColumn is the time index that is added to records without one. The
	// default value is svc_timestamp.
	TimestampColumn string
	// MaxNewTables bounds the tables that one ingestion request makes, and MaxNewTablesPerMinute the
	// tables that the requests of a user make in a minute. The default values are 100 and 1000.
	MaxNewTables, MaxNewTablesPerMinute int
	// MaxColumns bounds the columns of a table. The default value is 4096.
	MaxColumns int
	// dryRunTime is how long the pipelines of a dry run may work. The default value is 10 s.
	dryRunTime time.Duration
	// MaxMadeColumns bounds the columns of a table up to which ingestion adds some, and MaxNewColumns the
	// columns that one request adds to tables. The default values are 2048 and 1000.
	MaxMadeColumns, MaxNewColumns int
	// PipelineSteps bounds the work of a pipeline on all records of a request. The default
	// value is pipeline.DefaultSteps.
	PipelineSteps int64
	// Now is the clock. The default value is time.Now.
	Now func() time.Time

	// Writable returns why rows are refused, for lack of room on a disk. It is asked
	// before a body is read. The default value refuses none.
	Writable func() error
	// Ready lists why the node is not ready to serve; empty when it is. The default
	// value is always ready.
	Ready func() []string
	// Warnings lists what fails while the node is ready. The default value
	// lists nothing.
	Warnings func() []string
	// Refusals lists why the node takes no rows at all while it is ready. The default
	// value lists nothing.
	Refusals func() []string
	// Status is the content of /status, besides what the process knows of itself.
	Status about.Status
	// ConfigText is the running configuration as TOML, for /config. The default
	// value is empty.
	ConfigText func() string

	// Tracer begins the traces of requests. The default value is nil: there are none.
	Tracer oteltrace.Tracer
	// Logger takes requests at debug level, internal errors and panics at error level.
	// The default value discards them.
	Logger *slog.Logger
	// Registerer takes the metrics, and Gatherer is what /metrics prints. The default
	// values are a registry of the server's own.
	Registerer prometheus.Registerer
	Gatherer   prometheus.Gatherer
}

func (c Config) withDefaults() (Config, error) {
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

// withFunctions sets the functions that are nil: nothing is wrong, and the clock tells the time.
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

// Server is the HTTP front. See the package comment.
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
		auth: cfg.Auth, sessions: cfg.Sessions, proxies: cfg.Proxies, timeout: cfg.Timeout, tracer: cfg.Tracer,
		metrics: m, changes: audit.New(cfg.Logger), doors: s.handlers.doors,
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

// newIngestion returns the way of requests with logs.
func newIngestion(cfg Config, compiled *ingest.Pipelines) (*ingest.Service, error) {
	return ingest.New(ingest.Config{
		Catalog: cfg.Catalog, Fresh: cfg.Fresh, Writer: cfg.Writer, Pipelines: compiled, Lookup: cfg.Lookup,
		NoClientVariables: cfg.NoClientVariables,
		StoreRejects:      cfg.StoreRejects, RejectsTTL: cfg.RejectsTTL, NoAutoCreate: cfg.NoAutoCreate,
		TimestampColumn: cfg.TimestampColumn,
		MaxNewTables:    cfg.MaxNewTables, MaxNewTablesPerMinute: cfg.MaxNewTablesPerMinute, MaxColumns: cfg.MaxColumns,
		MaxMadeColumns: cfg.MaxMadeColumns, MaxNewColumns: cfg.MaxNewColumns,
		PipelineSteps: cfg.PipelineSteps, Now: cfg.Now, Writable: cfg.Writable, Logger: cfg.Logger,
		Registerer: cfg.Registerer,
	})
}

// build returns the handler for some routes, with everything that requests have in common. speaks returns the protocol
// whose clients ask for a path that does not exist; nil: none.
func (s *Server) build(routes []route, speaks func(path string) *protocol) (http.Handler, error) {
	d, err := s.gate.dispatch(routes, speaks)
	if err != nil {
		return nil, err
	}
	return s.middleware.around(d), nil
}

// Ingestion returns the way of requests with logs, for doors that are not URLs.
func (s *Server) Ingestion() *ingest.Service { return s.ingestion }

// Handler serves every path.
func (s *Server) Handler() http.Handler { return s.whole }

// PublicHandler serves only the paths under /v1/ and the paths of the page, for a listener that is
// open to users.
func (s *Server) PublicHandler() http.Handler { return s.public }

// DoorHandler serves the paths of one protocol, as the other system has them, for a listener of its
// own. d says where records go that do not say it; the server sets its parts. The error is that there is
// no such protocol over HTTP.
func (s *Server) DoorHandler(name ingest.Protocol, d httpdoor.Door) (http.Handler, error) {
	for i := range protocols {
		if p := &protocols[i]; p.name == name {
			routes := s.handlers.doors.routesOf(p, "", d)
			routes = append(routes, route{methods: getPost, path: "/ready", needs: access.Open, handler: s.handlers.about.Ready})
			return s.build(routes, func(string) *protocol { return p })
		}
	}
	return nil, fmt.Errorf("httpapi: no protocol over HTTP is called %s", name)
}
