package node

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/shard/shardclient"
)

// operatorServer answers the calls that backup and restore make of the parts of this
// node, over connections that came in on the user port: those of users. What each call and
// each command needs is in the tables of package access.
type operatorServer struct {
	server *grpc.Server
	conns  chan net.Conn
	quit   chan struct{}
	once   sync.Once
	done   chan error
}

func newOperatorServer(meta metapb.MetaServer, shards shardpb.ShardServiceServer) *operatorServer {
	s := &operatorServer{conns: make(chan net.Conn), quit: make(chan struct{}), done: make(chan error, 1)}
	s.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxSendMsgSize(shardclient.MaxMessageBytes),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2*window),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 30 * time.Second}),
		grpc.UnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			if err := permit(ctx, info.FullMethod, req); err != nil {
				return nil, errs.ToGRPC(err)
			}
			return next(ctx, req)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			if err := permit(stream.Context(), info.FullMethod, nil); err != nil {
				return errs.ToGRPC(err)
			}
			return next(srv, stream)
		}),
	)
	metapb.RegisterMetaServer(s.server, meta)
	shardpb.RegisterShardServiceServer(s.server, shards)
	go func() { s.done <- s.server.Serve(s) }()
	return s
}

// permit refuses calls that the user of the connection may not make.
func permit(ctx context.Context, method string, req any) error {
	caller := access.From(ctx) // nobody
	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.Addr.(userAddr); ok {
			caller = addr.caller
		}
	}
	need, _ := access.OfCall(method)
	if p, ok := req.(*metapb.ProposeRequest); ok {
		need, _ = access.OfCommand(p.GetCommand())
	}
	return caller.Require(need)
}

// userAddr is the address of a user's connection, with the user.
type userAddr struct {
	net.Addr
	caller *access.Caller
}

// userConn is a connection of a user.
type userConn struct {
	net.Conn
	addr userAddr
}

func (c userConn) RemoteAddr() net.Addr { return c.addr }

// serve answers the calls on a connection, until one side closes it.
func (s *operatorServer) serve(c net.Conn, caller *access.Caller) {
	select {
	case s.conns <- userConn{c, userAddr{c.RemoteAddr(), caller}}:
	case <-s.quit:
		c.Close()
	}
}

// Accept is that of net.Listener.
func (s *operatorServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.quit:
		return nil, net.ErrClosed
	}
}

// Close is that of net.Listener.
func (s *operatorServer) Close() error {
	s.once.Do(func() { close(s.quit) })
	return nil
}

// Addr is that of net.Listener.
func (s *operatorServer) Addr() net.Addr {
	return userAddr{Addr: &net.UnixAddr{Name: "users", Net: "unix"}}
}

// stop cuts off all calls: backups begin them again, restores are told.
func (s *operatorServer) stop(context.Context) error {
	s.server.Stop()
	if err := <-s.done; err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}
