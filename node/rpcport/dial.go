package rpcport

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
)

// Dialer opens connections to the ports of other nodes.
type Dialer struct {
	// Credentials, if not nil, are this node's credentials.
	Credentials Credentials
	// Insecure lets a node be called without TLS if TLS fails: while a
	// cluster changes from the one to the other.
	Insecure bool
	// Logger takes calls without TLS that Insecure allowed. The default value discards.
	Logger *slog.Logger
}

// Target is a node to connect to.
type Target struct {
	// Addr is where it is, HOST:PORT.
	Addr string
	// Name is the name by which the address was found, if it was. Certificates in files must be
	// for that; without it they must be for the address's host.
	Name string
	// Node is its id, which a certificate by the cluster's secret must be for; empty: any node
	// of the cluster will do.
	Node string
}

// Dial connects to a node. protocols are what is offered by ALPN. The error is an *Unproven if
// the nodes did not prove themselves to each other.
func (d Dialer) Dial(ctx context.Context, t Target, protocols ...string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", t.Addr)
	if err != nil || d.Credentials == nil {
		return conn, err
	}
	secure, err := d.secure(ctx, conn, t, protocols)
	if err == nil || !d.Insecure || ctx.Err() != nil {
		return secure, err
	}
	plain, perr := (&net.Dialer{}).DialContext(ctx, "tcp", t.Addr)
	if perr != nil {
		return nil, err
	}
	if d.Logger != nil {
		d.Logger.Debug("a node is called without TLS, which --rpc-insecure allows", "addr", t.Addr, "node", t.Node,
			"error", err)
	}
	return plain, nil
}

// secure makes TLS of a connection, which it closes if that fails.
func (d Dialer) secure(ctx context.Context, conn net.Conn, t Target, protocols []string) (net.Conn, error) {
	name := t.Name
	if name == "" {
		host, _, err := net.SplitHostPort(t.Addr)
		if err != nil {
			conn.Close()
			return nil, err
		}
		name = host
	}
	secure := tls.Client(conn, d.Credentials.Client(name, t.Node, protocols...))
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w", t.Addr, explain(err, d.Credentials, true))
	}
	return secure, nil
}

// IsPlain reports whether neither side has proved anything on a connection that Dial returned.
func IsPlain(conn net.Conn) bool {
	_, secure := conn.(*tls.Conn)
	return !secure
}

// Proven returns the id that the other side of a connection that Dial returned has proved to have;
// empty if it has not.
func (d Dialer) Proven(conn net.Conn) string {
	if secure, ok := conn.(*tls.Conn); ok && d.Credentials != nil {
		return d.Credentials.Node(secure.ConnectionState())
	}
	return ""
}
