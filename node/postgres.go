package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/pgwire"
	"cordwood/router/query"
)

// postgres is the port for PostgreSQL clients.
type postgres struct {
	node     *front
	listener net.Listener
	tls      *tls.Config // nil without TLS
	// server is nil until the router exists. After that, done receives the error with which the server ends.
	server *pgwire.Server
	done   chan error
}

// openPostgres opens the port. Connections wait in the kernel until the router exists.
func (n *front) openPostgres(conf *tls.Config) error {
	if n.cfg.PG.Addr == "" {
		return nil
	}
	l, err := net.Listen("tcp", n.cfg.PG.Addr)
	if err != nil {
		return fmt.Errorf("listen for PostgreSQL clients: %w: choose another --pg-addr, or stop what uses it", err)
	}
	if n.cfg.HTTP.ProxyProtocol {
		l = behindProxies(l, n.proxies)
	}
	n.postgres = &postgres{node: n, listener: l, tls: conf, done: make(chan error, 1)}
	n.log.Info("listening", "for", "PostgreSQL clients", "addr", l.Addr().String())
	return nil
}

// servePostgres starts to accept connections.
func (n *node) servePostgres(service *query.Service, bodies *body.Reader) error {
	p := n.postgres
	if p == nil {
		return nil
	}
	cfg := pgwire.Config{
		Service: service, Bodies: bodies, TLS: p.tls, RequireTLS: n.cfg.TLS.ClientCA != "", Version: n.proc.Version.Version,
		Node: n.data.nodeID, MaxConnections: n.cfg.PG.MaxConnections, MaxCursors: max(1, n.cfg.Query.MaxConcurrent/2),
		Timeout: n.cfg.Query.Timeout, MaxTimeout: n.cfg.Query.MaxTimeout, Logger: n.log, Registerer: n.registry,
		Changes: n.changes, CancelElsewhere: n.sessions.cancelElsewhere,
		HasDatabase: func(s access.Sender, name string) bool {
			_, ok := n.meta.Database(name)
			return ok && s.SeesDatabase(name)
		},
	}
	if n.userList != nil { // a nil *Provider in the interface would not be nil
		cfg.Users = n.userList
	}
	var err error
	if p.server, err = pgwire.New(cfg); err != nil {
		return err
	}
	n.sessions.server.Store(p.server)
	go func() {
		err := p.server.Serve(p.listener)
		p.done <- err
		if !errors.Is(err, pgwire.ErrClosed) {
			n.fail(err)
		}
	}()
	return nil
}

// close waits for running statements until ctx ends.
func (p *postgres) close(ctx context.Context) error {
	if p.server == nil {
		return p.listener.Close()
	}
	if err := p.server.Shutdown(ctx); err != nil {
		return err
	}
	if err := <-p.done; !errors.Is(err, pgwire.ErrClosed) {
		return err
	}
	return nil
}
