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
	// Insecure allows calls without TLS after TLS failed, while a cluster changes to TLS or back.
	Insecure bool
	// Logger logs calls without TLS that Insecure allowed. If it is nil, they are not logged.
	Logger *slog.Logger
}

// Target is a node to connect to.
type Target struct {
	// Addr is its HOST:PORT.
	Addr string
	// Name is the name that was resolved to the address, if there was one. Certificates in files must contain this
	// name, or without it the host of the address.
	Name string
	// Node is the id of the node, which a certificate by the cluster's secret must contain. It is empty if any node
	// of the cluster is accepted.
	Node string
}

// Dial connects to a node. It offers protocols by ALPN. The error is an *Unproven if the nodes did not authenticate
// each other.
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

// secure performs the TLS handshake on a connection, and closes the connection if that fails.
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

// IsPlain reports whether a connection of Dial has no TLS.
func IsPlain(conn net.Conn) bool {
	_, secure := conn.(*tls.Conn)
	return !secure
}

// Proven returns the authenticated id of the other side of a connection of Dial, or an empty text.
func (d Dialer) Proven(conn net.Conn) string {
	if secure, ok := conn.(*tls.Conn); ok && d.Credentials != nil {
		return d.Credentials.Node(secure.ConnectionState())
	}
	return ""
}
