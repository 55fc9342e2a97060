// Package pgwire lets clients of PostgreSQL in: it speaks version 3 of PostgreSQL's protocol, and has package query run
// what the clients ask.
//
// A connection has one goroutine, and two more while a statement runs: the one of package query, which waits with the
// rows until they are taken, and one that notices when the client leaves. The rights, the limits, the places of queries
// and the metrics of statements are those of package query. This package has the state of a connection: its settings,
// prepared statements, portals, and what PostgreSQL calls a transaction.
//
// A Server is made once. Serve runs until Shutdown, which waits for statements that run.
package pgwire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/httpapi/auth"
	"cordwood/router/query"
	"cordwood/router/query/pgcatalog"
)

// Service runs statements; *query.Service is one.
type Service interface {
	Execute(ctx context.Context, req query.Request, each func(context.Context, query.Result) error) error
	Describe(ctx context.Context, sql string, req query.Request, types []string) (*query.Description, error)
	// Catalog returns what PostgreSQL's catalog is made from.
	Catalog(catalog, user string) *pgcatalog.Source
	// Table returns a table for the caller of ctx.
	Table(ctx context.Context, database, name string) (*schema.Table, error)
}

// Users checks who may sign in. *auth.Provider implements it.
type Users interface {
	Challenge(name string, from netip.Addr) (*auth.Challenge, error)
	Begin(s access.Sender, end func(error)) access.Work
}

// Config has the parts and settings of a Server. Service and HasDatabase must be set; the settings have defaults.
type Config struct {
	Service Service
	// HasDatabase reports whether there is a database.
	HasDatabase func(name string) bool
	// Users checks who may sign in; nil: everybody may do everything.
	Users Users
	// TLS has the settings for connections that request TLS; nil: there is no TLS.
	TLS *tls.Config
	// RequireTLS refuses connections without TLS, whose clients show no certificate.
	RequireTLS bool
	// Bodies has the memory of large messages, which all doors share; nil: it has no bound.
	Bodies *body.Reader
	// Version is the version of the program.
	Version string
	// Node is the id of the node.
	Node string

	// MaxConnections bounds the connections. The default value is 200.
	MaxConnections int
	// MaxPerAddress bounds the connections of one address. The default value is half of MaxConnections.
	MaxPerAddress int
	// MaxCursors bounds the portals and cursors of all connections that are open while their client does not fetch. The
	// default value is 8.
	MaxCursors int
	// Timeout is the statement_timeout of a connection that sets no other. The default value is 30 s.
	Timeout time.Duration
	// MaxTimeout is the longest statement_timeout that it may set. The default value is 1 hour.
	MaxTimeout time.Duration
	// StartTime bounds how long a client takes to sign in. The default value is 10 s.
	StartTime time.Duration
	// StallTime is how long a client may read none of its rows before its connection is closed, and how long the rest
	// of a message may take. The default value is 60 s.
	StallTime time.Duration

	// Logger logs messages for operators. By default nothing is logged.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

// maxStarting bounds the connections that have not signed in yet, and maxRefusing those that are being
// refused because there are too many.
const (
	maxStarting = 20
	maxRefusing = 100
)

func (c Config) withDefaults() Config {
	c.MaxConnections = cmp.Or(c.MaxConnections, 200)
	c.MaxPerAddress = cmp.Or(c.MaxPerAddress, max(1, c.MaxConnections/2))
	c.MaxCursors = cmp.Or(c.MaxCursors, 8)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.MaxTimeout = cmp.Or(c.MaxTimeout, time.Hour)
	c.StartTime = cmp.Or(c.StartTime, 10*time.Second)
	c.StallTime = cmp.Or(c.StallTime, time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports all faults of c at once.
func (c Config) Validate() error {
	var faults []error
	if c.Service == nil || c.HasDatabase == nil {
		faults = append(faults, errors.New("pgwire: Config.Service and Config.HasDatabase must be set"))
	}
	if c.MaxConnections < 0 || c.MaxPerAddress < 0 || c.MaxCursors < 0 || c.Timeout < 0 || c.MaxTimeout < 0 ||
		c.StartTime < 0 || c.StallTime < 0 {
		faults = append(faults, errors.New("pgwire: limits must not be negative"))
	}
	if c.RequireTLS && c.TLS == nil {
		faults = append(faults, errors.New("pgwire: Config.RequireTLS needs Config.TLS"))
	}
	return errors.Join(faults...)
}
