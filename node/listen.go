package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"
	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/test/bufconn"

	"cordwood/router/httpapi/peer"
	"cordwood/shard/shardclient"
)

// httpServer serves users from the moment that the port is open, so that they see
// a node that is alive but not ready; the real handler comes when it exists.
type httpServer struct {
	handler atomic.Pointer[http.Handler]
	server  *http.Server
	addr    net.Addr
	done    chan error
	// leaving has each answer end its connection: a client that keeps one would else send a
	// request just when it is closed, and not know what became of it.
	leaving atomic.Bool
}

// Timeouts of a connection, against clients that send a byte a minute. A request's
// own time limit is --http-timeout.
const (
	readHeaderTimeout = 15 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Bounds of a port that speaks HTTP/2 without TLS: the calls of a connection, what is buffered of them, and the
// connections; more of them wait until others end. One that says nothing is asked whether it is still there.
const (
	http2Streams     = 100
	http2Buffer      = 256 << 10
	http2Connections = 4096
	http2Quiet       = 30 * time.Second
)

// userPort is what a port for users is opened with.
type userPort struct {
	// flag is the setting with the address.
	flag, addr string
	tls        *tls.Config // nil: without
	// Each connection of headed has to begin with a header of the PROXY protocol, which has the
	// client's address; from other clients such a header is not HTTP, and refused.
	headed peer.Proxies
	// http2 takes HTTP/2 without TLS, too, within bounds of its own.
	http2 bool
	// before answers until there is a handler.
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
	l = behindProxies(l, p.headed)
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
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), // of the form of all others
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

// behindProxies has each connection of headed begin with a header of the PROXY protocol.
func behindProxies(l net.Listener, headed peer.Proxies) net.Listener {
	if len(headed) == 0 {
		return l
	}
	return &proxyproto.Listener{
		Listener: l, ReadHeaderTimeout: handshakeTimeout,
		ConnPolicy: func(c proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			if from, err := netip.ParseAddrPort(c.Upstream.String()); err == nil &&
				headed.Trust(from.Addr().Unmap().WithZone("")) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.SKIP, nil
		},
	}
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

// rpcServer is the services of this process for other nodes, which come by the port
// between nodes, and for the roles of this process, which need no network.
type rpcServer struct {
	server *grpc.Server
	local  *bufconn.Listener
	conn   *localConn
	remote *grpc.ClientConn // what conn does not call directly
	tails  *grpc.ClientConn // for calls whose answers may stay unread for a while
	// options are the options of remote and tails, besides the usual ones.
	options []grpc.DialOption
}

// localBuffer is what may be under way between roles of the process before the
// sender waits, per direction and connection.
const localBuffer = 256 << 10

// window is the flow-control window of gRPC: large enough that a batch is not cut up
// into round trips.
const window = 8 << 20

// tailWindow is the window of tails: what a tail may hold after its reader has stopped.
const tailWindow = 64 << 10

// connOptions returns the options of a connection for calls; window bytes of each call may
// be under way.
func connOptions(window int32) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(2 * window),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxCallSendMsgSize(shardclient.MaxMessageBytes)),
	}
}

// newRPCServer returns a server without services, and the connections to it. around are
// interceptors of its calls, calls interceptors of the calls of this process.
func newRPCServer(around []grpc.ServerOption, calls []grpc.DialOption) (_ *rpcServer, err error) {
	s := &rpcServer{local: bufconn.Listen(localBuffer), options: calls}
	s.server = grpc.NewServer(append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxSendMsgSize(shardclient.MaxMessageBytes),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2 * window), grpc.ConnectionTimeout(handshakeTimeout),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
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

// handshakeTimeout is how long a connection between nodes may take to begin.
const handshakeTimeout = 5 * time.Second

// dialLocal makes a connection within the process; window bytes of a call may
// be under way.
func (s *rpcServer) dialLocal(window int32) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///this-node", append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return s.local.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	}, append(connOptions(window), s.options...)...)...)
}

// serve begins to answer; every service must have been registered before. What ends it is
// close, or the end of the port.
func (s *rpcServer) serve(nodes net.Listener) {
	for _, l := range []net.Listener{nodes, s.local} {
		go func() { _ = s.server.Serve(l) }()
	}
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
