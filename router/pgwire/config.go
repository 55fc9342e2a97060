// Package pgwire serves PostgreSQL clients: it implements version 3 of PostgreSQL's protocol. Package query runs the
// statements.
//
// A connection has one goroutine, and two more while a statement runs. In one of them, package query runs the statement
// and waits until its rows have been read. The other detects that the client disconnects. Package query enforces rights
// and limits, and has the metrics of statements. This package has the state of a connection: its settings, prepared
// statements, portals, and what PostgreSQL calls a transaction.
//
// A Server can be used once. Serve runs until Shutdown, which waits for running statements.
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
	"cordwood/router/audit"
	"cordwood/router/body"
	"cordwood/router/httpapi/auth"
	"cordwood/router/query"
	"cordwood/router/query/pgcatalog"
)

// Service runs statements. *query.Service implements it.
type Service interface {
	Execute(ctx context.Context, req query.Request, each func(context.Context, query.Result) error) error
	Describe(ctx context.Context, sql string, req query.Request, types []string) (*query.Description, error)
	// Catalog returns the data from which PostgreSQL's catalog is built for the caller in ctx.
	Catalog(ctx context.Context, catalog, user string) *pgcatalog.Source
	// Target returns a table that the caller in ctx may insert rows into.
	Target(ctx context.Context, database, name string) (*schema.Table, error)
}

// Users checks who may sign in. *auth.Provider implements it.
type Users interface {
	Challenge(name string, from netip.Addr) (*auth.Challenge, error)
	Begin(s access.Sender, end func(error)) access.Work
	// SameCertificate returns an error if the client's certificate stands for another user than s.
	SameCertificate(state *tls.ConnectionState, s access.Sender, from netip.Addr) error
	// Current returns the sender with the rights that the user has now.
	Current(s access.Sender) access.Sender
}

// Config has the parts and settings of a Server. Service and HasDatabase must be set; the settings have defaults.
type Config struct {
	Service Service
	// HasDatabase reports whether a database exists for a user.
	HasDatabase func(s access.Sender, name string) bool
	// Users authenticates clients. If it is nil, everyone may do everything.
	Users Users
	// TLS has the settings for connections that request TLS. If it is nil, TLS is not offered.
	TLS *tls.Config
	// RequireTLS refuses connections without TLS, because their clients show no certificate.
	RequireTLS bool
	// Bodies has the memory budget for large messages, which all protocols share. If it is nil, there is no limit.
	Bodies *body.Reader
	// Version is the version of the program.
	Version string
	// Node is the id of the node.
	Node string
	// CancelElsewhere cancels the statement of a connection of another node, and reports whether it exists and the key
	// is correct. If it is nil, there are no other nodes.
	CancelElsewhere func(ctx context.Context, pid, key uint32) bool

	// MaxConnections is the maximum number of connections. The default is 200.
	MaxConnections int
	// MaxPerAddress is the maximum number of connections from one address. The default is half of MaxConnections.
	MaxPerAddress int
	// MaxCursors is the maximum number of portals and cursors of all connections that wait for their clients to fetch.
	// The default is 8.
	MaxCursors int
	// Timeout is the default statement_timeout. The default is 30 s.
	Timeout time.Duration
	// MaxTimeout is the largest statement_timeout that a client may set. The default is 1 hour.
	MaxTimeout time.Duration
	// StartTime is the time limit for signing in. The default is 10 s.
	StartTime time.Duration
	// StallTime is the time limit for a client to read some of its rows, and to send the rest of a message. Beyond it,
	// the connection is closed. The default is 60 s.
	StallTime time.Duration

	// Changes makes the records of sign-ins. By default they are lines of Logger.
	Changes *audit.Log
	// Logger logs messages for operators. By default nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics. If it is nil, they are not registered.
	Registerer prometheus.Registerer
}

// maxStarting is the maximum number of connections that have not signed in yet, and maxRefusing the maximum number that
// wait for the error that there are too many connections.
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
	if c.Changes == nil {
		c.Changes = audit.New(c.Logger, nil)
	}
	return c
}

// Validate returns all errors in c.
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
