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

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/router/httpapi/peer"
	"cordwood/shard/shardclient"
)

// httpServer serves users as soon as the port is open, so that they see a node that is alive but not ready. The real
// handler is set later.
type httpServer struct {
	handler atomic.Pointer[http.Handler]
	server  *http.Server
	addr    net.Addr
	done    chan error
	// leaving makes each response close its connection. Otherwise a client could send a request just when the
	// connection is closed, and would not learn the result.
	leaving atomic.Bool
}

// These timeouts of a connection protect against clients that send a byte a minute. The time limit of a request is
// --http-timeout.
const (
	readHeaderTimeout = 15 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// These limits apply to a port for HTTP/2 without TLS: calls per connection, bytes buffered per call, and
// connections. Further connections wait until others end. Idle connections are pinged.
const (
	http2Streams     = 100
	http2Buffer      = 256 << 10
	http2Connections = 4096
	http2Quiet       = 30 * time.Second
)

// userPort is the configuration of a port for users.
type userPort struct {
	// flag is the name of the setting that holds the address.
	flag, addr string
	tls        *tls.Config // nil without TLS
	// Each connection from proxies must begin with a PROXY protocol header, which contains the client's address. From
	// other clients, such a header is refused, since it is not HTTP.
	proxies peer.Proxies
	// http2 makes the port accept HTTP/2 without TLS, too, within limits of its own.
	http2 bool
	// before answers requests until the handler is set.
	before http.Handler
}

// open opens the port.
func (p userPort) open(log *slog.Logger) (*httpServer, error) {
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return nil, fmt.Errorf("listen for users: %w: choose another --%s, or stop what uses it", err, p.flag)
	}
	if p.http2 {
		l = netutil.LimitListener(l, http2Connections)
	}
	l = behindProxies(l, p.proxies)
	s := &httpServer{addr: l.Addr(), done: make(chan error, 1)}
	s.setHandler(p.before)
	s.server = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if s.leaving.Load() {
				w.Header().Set("Connection", "close")
			}
			(*s.handler.Load()).ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), // same format as other log lines
	}
	if p.http2 {
		s.server.Protocols = new(http.Protocols)
		s.server.Protocols.SetHTTP1(true)
		s.server.Protocols.SetHTTP2(true)
		s.server.Protocols.SetUnencryptedHTTP2(true)
		s.server.HTTP2 = &http.HTTP2Config{
			MaxConcurrentStreams: http2Streams, MaxReceiveBufferPerConnection: http2Buffer,
			MaxReceiveBufferPerStream: http2Buffer,
			SendPingTimeout:           http2Quiet, PingTimeout: handshakeTimeout,
		}
	}
	go func() {
		if p.tls == nil {
			s.done <- s.server.Serve(l)
			return
		}
		s.server.TLSConfig = p.tls
		s.done <- s.server.ServeTLS(l, "", "")
	}()
	return s, nil
}

func (s *httpServer) setHandler(h http.Handler) { s.handler.Store(&h) }

// close waits for open requests until ctx ends, and then aborts them.
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

// rpcServer serves other nodes over the port between nodes, and the roles of this process without a network.
type rpcServer struct {
	server *grpc.Server
	local  *bufconn.Listener
	conn   *localConn
	remote *grpc.ClientConn // for calls that conn does not make directly
	tails  *grpc.ClientConn // for calls that may leave their answers unread for a while
	// options are the additional options of remote and tails.
	options []grpc.DialOption
}

// localBuffer is the number of bytes that may be in flight between roles of the process, per direction and
// connection, before the sender waits.
const localBuffer = 256 << 10

// window is gRPC's flow-control window. It is large enough to send a batch without waiting for round trips.
const window = 8 << 20

// tailWindow is the window of tails: the number of bytes that are buffered for a tail whose reader has stopped.
const tailWindow = 64 << 10

// connOptions returns the options of a connection that allows window bytes in flight per call.
func connOptions(window int32) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2 * window),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxCallSendMsgSize(shardclient.MaxMessageBytes)),
	}
}

// newRPCServer returns a server without services, and the connections to it. around intercepts the calls that it
// answers. calls intercepts the calls that this process makes.
func newRPCServer(around []grpc.ServerOption, calls []grpc.DialOption) (_ *rpcServer, err error) {
	s := &rpcServer{local: bufconn.Listen(localBuffer), options: calls}
	s.server = grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxSendMsgSize(shardclient.MaxMessageBytes),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2 * window), grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.NumStreamWorkers(callWorkers),
	}, around...)...)
	if s.remote, err = s.dialLocal(window); err == nil {
		s.tails, err = s.dialLocal(tailWindow)
	}
	if err != nil {
		return nil, fmt.Errorf("connect the roles of this process: %w", err)
	}
	s.conn = &localConn{ClientConnInterface: s.remote}
	return s, nil
}

// callWorkers is the number of goroutines that answer calls one after the other. If all of them are busy, a call gets
// a goroutine of its own, whose stack has to grow first: for short calls this takes a tenth of the time.
const callWorkers = 8

// handshakeTimeout limits the handshake of a connection between nodes.
const handshakeTimeout = 5 * time.Second

// dialLocal opens a connection within the process. window is the number of bytes that may be in flight per call.
func (s *rpcServer) dialLocal(window int32) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///this-node", append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.local.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	}, append(connOptions(window), s.options...)...)...)
}

// serve starts to answer calls. All services must be registered before. It ends when the server or the port is
// closed.
func (s *rpcServer) serve(nodes net.Listener) {
	for _, l := range []net.Listener{nodes, s.local} {
		go func() { _ = s.server.Serve(l) }()
	}
}

// close waits for running calls until ctx ends, and then aborts them.
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
