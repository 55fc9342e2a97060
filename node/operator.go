package node

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/shard/shardclient"
)

// operatorServer answers the calls of backup and restore to the services of this node, over
// connections of users. The tables of package access list the right that each call and each command
// needs.
type operatorServer struct {
	server *grpc.Server
	conns  chan net.Conn
	quit   chan struct{}
	once   sync.Once
	done   chan error
	// changes logs changes and refusals.
	changes *audit.Log
	// internal reports whether a table belongs to the server. Set it before the first call.
	internal func(table uint64) bool
}

func newOperatorServer(meta metapb.MetaServer, shards shardpb.ShardServiceServer, changes *audit.Log) *operatorServer {
	s := &operatorServer{
		conns: make(chan net.Conn), quit: make(chan struct{}), done: make(chan error, 1), changes: changes,
	}
	s.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxSendMsgSize(shardclient.MaxMessageBytes),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(2*window),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 30 * time.Second}),
		grpc.UnaryInterceptor(s.unary), grpc.StreamInterceptor(s.stream),
	)
	metapb.RegisterMetaServer(s.server, meta)
	shardpb.RegisterShardServiceServer(s.server, shards)
	go func() { s.done <- s.server.Serve(s) }()
	return s
}

// operatorConn is the state of a user's connection.
type operatorConn struct {
	caller *access.Caller
	// backup and restore are set once the start of a backup or a restore was logged.
	backup, restore atomic.Bool
	// refused counts the refused calls. The first maxRefused of each connection are logged.
	refused atomic.Int32
}

// maxRefused limits the log lines about refused calls of one connection.
const maxRefused = 10

// connOf returns the connection of a call. Calls over any other kind of connection are refused.
func connOf(ctx context.Context) *operatorConn {
	if p, ok := peer.FromContext(ctx); ok {
		if addr, ok := p.Addr.(userAddr); ok {
			return addr.conn
		}
	}
	return &operatorConn{caller: access.From(ctx)}
}

// unary executes a unary call if the user has the right, and logs the change that it made.
func (s *operatorServer) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	conn := connOf(ctx)
	if err := s.permit(ctx, conn, info.FullMethod, req); err != nil {
		return nil, errs.ToGRPC(err)
	}
	p, ok := req.(*metapb.ProposeRequest)
	if !ok || p.GetCommand() == nil {
		return next(ctx, req)
	}
	need, changes := access.OfCommand(p.Command)
	change := audit.Change{By: conn.caller, Need: need}
	auditedProposal(p.Command, change, changes)
	answer, err := next(ctx, req)
	if changes {
		result := (*metapb.Result)(nil)
		if r, ok := answer.(*metapb.ProposeResponse); ok {
			result = r.GetResult()
		}
		switch {
		case err != nil:
			change.Err = errs.FromGRPC(err)
		case result.GetErrorCode() != 0:
			change.Err = errs.New(errs.Code(result.ErrorCode), "%s", result.ErrorMessage)
		}
		s.changes.Committed(ctx, change, result.GetAudited())
	}
	return answer, err
}

// stream executes a streaming call if the user has the right.
func (s *operatorServer) stream(
	srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
) error {
	if err := s.permit(stream.Context(), connOf(stream.Context()), info.FullMethod, nil); err != nil {
		return errs.ToGRPC(err)
	}
	return next(srv, stream)
}

// permit refuses calls for which the user has no right, and logs the start of a backup or a restore.
func (s *operatorServer) permit(ctx context.Context, conn *operatorConn, method string, req any) error {
	need, begins := access.OfCall(method)
	if p, ok := req.(*metapb.ProposeRequest); ok {
		need, _ = access.OfCommand(p.GetCommand())
		begins = need.Privilege == access.Restore
	}
	err := conn.caller.Require(need)
	if err == nil {
		err = s.protect(req)
	}
	if err != nil {
		if conn.refused.Add(1) <= maxRefused {
			s.changes.Record(ctx, audit.Change{By: conn.caller, Need: need, Err: err})
		}
		return err
	}
	begun, action := &conn.backup, "back up"
	if need.Privilege == access.Restore {
		begun, action = &conn.restore, "restore"
	}
	if begins && !begun.Swap(true) {
		begin := access.Need{Privilege: need.Privilege, Action: action, Object: access.Object{Kind: access.Cluster}}
		s.changes.Record(ctx, audit.Change{By: conn.caller, Need: begin, Message: "begins"})
	}
	return nil
}

// protect refuses requests that would write or change a table of the server, such as that of the audit records.
// Backups do not contain these tables.
func (s *operatorServer) protect(req any) error {
	switch r := req.(type) {
	case *metapb.ProposeRequest:
		if schema.ReservedDatabase(r.GetCommand().GetAlterTable().GetDatabase()) {
			return errs.New(errs.PermissionDenied, "a restore cannot change tables of the server")
		}
	case *shardpb.WriteRequest:
		for _, batch := range r.GetBatches() {
			// The shard refuses a batch with another kind of fault.
			h, err := column.DecodeHeader(batch)
			if err == nil && s.internal != nil && s.internal(h.TableID) {
				return errs.New(errs.PermissionDenied, "a restore cannot write to tables of the server")
			}
		}
	}
	return nil
}

// userAddr is the address of a user's connection, together with the state of the connection.
type userAddr struct {
	net.Addr
	conn *operatorConn
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
	case s.conns <- userConn{c, userAddr{c.RemoteAddr(), &operatorConn{caller: caller}}}:
	case <-s.quit:
		c.Close()
	}
}

func (s *operatorServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.quit:
		return nil, net.ErrClosed
	}
}

func (s *operatorServer) Close() error {
	s.once.Do(func() { close(s.quit) })
	return nil
}

func (s *operatorServer) Addr() net.Addr {
	return userAddr{Addr: &net.UnixAddr{Name: "users", Net: "unix"}}
}

// stop aborts all calls. Backups retry them, and restores get an error.
func (s *operatorServer) stop(context.Context) error {
	s.server.Stop()
	if err := <-s.done; err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}
