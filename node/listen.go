package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/node/certs"
	"cordwood/shard/shardclient"
)

// httpServer serves users from the moment that the port is open, so that they see
// a node that is alive but not ready; the real handler comes when it exists.
type httpServer struct {
	handler atomic.Pointer[http.Handler]
	server  *http.Server
	addr    net.Addr
	done    chan error
}

// Timeouts of a connection, against clients that send a byte a minute. A request's
// own time limit is --http-timeout.
const (
	readHeaderTimeout = 15 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

func listenHTTP(addr string, tlsConf *tls.Config, before http.Handler) (*httpServer, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for users: %w: choose another --http-addr, or stop what uses it", err)
	}
	s := &httpServer{addr: l.Addr(), done: make(chan error, 1)}
	s.setHandler(before)
	s.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*s.handler.Load()).ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	go func() {
		if tlsConf == nil {
			s.done <- s.server.Serve(l)
			return
		}
		s.server.TLSConfig = tlsConf
		s.done <- s.server.ServeTLS(l, "", "")
	}()
	return s, nil
}

func (s *httpServer) setHandler(h http.Handler) { s.handler.Store(&h) }

// close finishes the requests under way until ctx ends, then cuts them off.
func (s *httpServer) close(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("requests were still under way: %w", err), s.server.Close())
	}
	if serr := <-s.done; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

// rpcServer is the port for nodes, and the same services without a network for
// the roles of this process.
type rpcServer struct {
	server *grpc.Server
	port   net.Listener
	local  *bufconn.Listener
	conn   *localConn
	remote *grpc.ClientConn // what conn does not call directly
	tails  *grpc.ClientConn // for calls whose answers nobody may read for a while
	done   chan error
}

// localBuffer is what may be under way between roles of the process before the
// sender waits, per direction and connection.
const localBuffer = 256 << 10

// window is the flow-control window of gRPC: large enough that a batch is not cut up
// into round trips.
const window = 8 << 20

// tailWindow is that of tails: what one whose reader has stopped may hold.
const tailWindow = 64 << 10

// listenRPC opens the port for nodes, with TLS if tlsConf is set.
func listenRPC(addr string, tlsConf *tls.Config) (*rpcServer, error) {
	port, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for nodes: %w: choose another --rpc-addr, or stop what uses it", err)
	}
	if tlsConf != nil {
		port = tls.NewListener(port, tlsConf) // the roles of this process do without
	}
	s := &rpcServer{port: port, local: bufconn.Listen(localBuffer), done: make(chan error, 2)}
	s.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxSendMsgSize(shardclient.MaxMessageBytes),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2*window),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	)
	if s.remote, err = s.dialLocal(window); err == nil {
		s.tails, err = s.dialLocal(tailWindow)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect the roles of this process: %w", err), port.Close())
	}
	s.conn = &localConn{ClientConnInterface: s.remote}
	return s, nil
}

// dialLocal makes a connection within the process, of which window bytes of a call may
// be under way.
func (s *rpcServer) dialLocal(window int32) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///this-node",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.local.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2*window),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxCallSendMsgSize(shardclient.MaxMessageBytes)),
	)
}

// serve begins to answer; every service must have been registered before.
func (s *rpcServer) serve() {
	go func() { s.done <- s.server.Serve(s.port) }()
	go func() { s.done <- s.server.Serve(s.local) }()
}

// close finishes the calls under way until ctx ends, then cuts them off.
func (s *rpcServer) close(ctx context.Context) error {
	stopped := make(chan struct{})
	go func() {
		s.conn.close(ctx)
		s.server.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
		s.server.Stop()
		<-stopped
	}
	return errors.Join(s.remote.Close(), s.tails.Close())
}

// tlsConfig is the configuration of the user port; nil if it has no certificate.
func (c *TLSConfig) tlsConfig(logger *slog.Logger) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	source, err := certs.Open(certs.Files{Cert: c.Cert, Key: c.Key, CA: c.ClientCA}, logger)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key or --tls-client-ca: %w", err)
	}
	return source.Server("h2", "http/1.1"), nil
}

// tlsConfig is the configuration of the port between nodes; nil if it has none.
func (c *RPCTLSConfig) tlsConfig(logger *slog.Logger) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	source, err := certs.Open(certs.Files{Cert: c.Cert, Key: c.Key, CA: c.CA}, logger)
	if err != nil {
		return nil, fmt.Errorf("--rpc-tls-cert, --rpc-tls-key or --rpc-tls-ca: %w", err)
	}
	return source.Server("h2"), nil
}
