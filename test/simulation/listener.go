package simulation

import (
	"net"
	"sync"

	"google.golang.org/grpc"

	"cordwood/shard/shardclient"
)

// newServer returns the server of a node's services.
func newServer() *grpc.Server {
	return grpc.NewServer(grpc.MaxRecvMsgSize(shardclient.MaxMessageBytes),
		grpc.MaxSendMsgSize(shardclient.MaxMessageBytes))
}

// acceptor is a listener that receives its connections from the network.
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
