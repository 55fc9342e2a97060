package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// The path and the protocol of a tunnel.
const (
	tunnelPath     = "/admin/rpc"
	tunnelProtocol = "cordwood-rpc"
)

// tunnelWindow is the flow-control window of a tunnel.
const tunnelWindow = 8 << 20

// Tunnel opens a connection for calls to the server's services, over the user port and with the client's credentials.
// The first error, such as a wrong password, is returned at once; after that the connection is reopened whenever it
// breaks.
func (c *Client) Tunnel(ctx context.Context) (*grpc.ClientConn, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	// Only HTTP/1.1 can change the protocol.
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	transport.TLSClientConfig = &tls.Config{NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}
	upgraded := &Client{cfg: c.cfg, servers: c.servers, now: c.now, http: &http.Client{Transport: transport}}
	upgraded.current.Store(c.current.Load())
	first, err := upgraded.upgrade(ctx)
	if err != nil {
		return nil, err
	}
	ready := make(chan net.Conn, 1)
	ready <- first
	upgraded.cfg.Attempts = 1 // gRPC has its own backoff
	return grpc.NewClient("passthrough:///"+upgraded.Server(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			select {
			case conn := <-ready:
				return conn, nil
			default:
				return upgraded.upgrade(ctx)
			}
		}),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the tunnel has TLS if the server has it
		grpc.WithInitialWindowSize(tunnelWindow), grpc.WithInitialConnWindowSize(2*tunnelWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                20 * time.Second,
			Timeout:             20 * time.Second,
			PermitWithoutStream: true,
		}),
		grpc.WithIdleTimeout(0),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)),
	)
}

// upgrade asks the server to use a connection for calls.
func (c *Client) upgrade(ctx context.Context) (net.Conn, error) {
	r := Request{
		Method: http.MethodGet,
		Path:   tunnelPath,
		Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {tunnelProtocol}},
	}
	resp, err := c.Do(ctx, r)
	if e := (*Error)(nil); errors.As(err, &e) && e.Status == http.StatusNotFound {
		return nil, fmt.Errorf("the server %s does not support backups: it is too old, or this is its --http-v1-addr",
			c.Server())
	}
	if err != nil {
		return nil, err
	}
	body, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, fmt.Errorf("the server %s answered %s to a request for a connection: is there a proxy in between that "+
			"does not allow it?", c.Server(), resp.Status)
	}
	return tunnelConn{body}, nil
}

// tunnelConn is an upgraded connection. It has no deadlines: its user closes it.
type tunnelConn struct{ io.ReadWriteCloser }

type tunnelAddr struct{}

func (tunnelAddr) Network() string { return "tunnel" }
func (tunnelAddr) String() string  { return "tunnel" }

func (tunnelConn) LocalAddr() net.Addr              { return tunnelAddr{} }
func (tunnelConn) RemoteAddr() net.Addr             { return tunnelAddr{} }
func (tunnelConn) SetDeadline(time.Time) error      { return nil }
func (tunnelConn) SetReadDeadline(time.Time) error  { return nil }
func (tunnelConn) SetWriteDeadline(time.Time) error { return nil }
