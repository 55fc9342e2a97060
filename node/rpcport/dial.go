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
}

// Dial connects to an address, HOST:PORT. With TLS the other side's certificate must be
// for HOST. protocols are what is offered by ALPN.
func (d Dialer) Dial(ctx context.Context, addr string, protocols ...string) (net.Conn, error) {
	return d.DialNamed(ctx, addr, "", protocols...)
}

// DialNamed is Dial of an address that was found by a name: with TLS the certificate must be for
// that. Without a name it must be for the address's own host.
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
	secure := tls.Client(conn, d.TLS.Client(cmp.Or(name, host), protocols...))
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with %s: %w", addr, err)
	}
	return secure, nil
}
