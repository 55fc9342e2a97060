package simulation

import (
	"context"
	"net"
	"sync"

	"google.golang.org/grpc"

	"cordwood/proto/shardpb"
	"cordwood/shard/shardclient"
)

// newServer is the server of a node's services.
func newServer(m Mutant) *grpc.Server {
	options := []grpc.ServerOption{grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes), grpc.MaxSendMsgSize(shardclient.MaxMessageBytes)}
	if m == SkipSeal {
		options = append(options, grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if _, seals := req.(*shardpb.DefineTablesRequest); seals {
				return &shardpb.DefineTablesResponse{Index: 1}, nil
			}
			return handle(ctx, req)
		}))
	}
	return grpc.NewServer(options...)
}

// acceptor is a listener that is given its connections.
type acceptor struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newAcceptor() *acceptor {
	return &acceptor{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (a *acceptor) take(c net.Conn) {
	select {
	case a.conns <- c:
	case <-a.done:
		_ = c.Close()
	}
}

func (a *acceptor) Accept() (net.Conn, error) {
	select {
	case c := <-a.conns:
		return c, nil
	case <-a.done:
		return nil, net.ErrClosed
	}
}

func (a *acceptor) Close() error {
	a.once.Do(func() { close(a.done) })
	return nil
}

func (a *acceptor) Addr() net.Addr { return addr("listener") }
