package rpcport

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"cordwood/node/certs"
)

// Dialer opens connections to the ports of other nodes.
type Dialer struct {
	// TLS, if not nil, is the certificate of this node.
	TLS *certs.Source
	// ServerName, if not empty, is what the certificates of all nodes must be for, wherever they
	// are reached: for nodes whose addresses no certificate can name.
	ServerName string
}

// Dial connects to an address, HOST:PORT. With TLS the other side's certificate must be
// for HOST, or for ServerName. protocols are what is offered by ALPN.
func (d Dialer) Dial(ctx context.Context, addr string, protocols ...string) (net.Conn, error) {
	return d.DialNamed(ctx, addr, "", protocols...)
}

// DialNamed is Dial of an address that was found by a name: with TLS the certificate must be for
// that. Without a name it must be for the address's own host. ServerName wins over both.
func (d Dialer) DialNamed(ctx context.Context, addr, name string, protocols ...string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil || d.TLS == nil {
		return conn, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		conn.Close()
		return nil, err
	}
	secure := tls.Client(conn, d.TLS.Client(cmp.Or(d.ServerName, name, host), protocols...))
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	return secure, nil
}
