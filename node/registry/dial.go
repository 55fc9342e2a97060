package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"cordwood/node/rpcport"
	"cordwood/proto/errs"
)

// DialRaft connects to the port of a node; raft sends the greeting.
func (r *Registry) DialRaft(ctx context.Context, id string) (net.Conn, error) {
	return r.dial(ctx, id, nil)
}

// dial tries the addresses of a node one after another. If all fail, it fails at once during the following pause.
// ready, if not nil, must accept the connection.
func (r *Registry) dial(
	ctx context.Context, id string, ready func(context.Context, net.Conn) error, protocols ...string,
) (net.Conn, error) {
	addrs := r.Addrs(id)
	if len(addrs) == 0 {
		return nil, fmt.Errorf("node %s: no address is known", id)
	}
	if err := r.away(id); err != nil {
		return nil, err
	}
	var faults []error
	for _, addr := range addrs {
		conn, err := r.try(ctx, rpcport.Target{Addr: addr, Node: id}, ready, protocols...)
		if err == nil {
			r.reached(id)
			return conn, nil
		}
		faults = append(faults, err)
		if ctx.Err() != nil {
			break
		}
	}
	err := fmt.Errorf("node %s: %w", id, errors.Join(faults...))
	if ctx.Err() == nil { // otherwise the caller's context ended
		r.missed(id, err)
	}
	return nil, err
}

func (r *Registry) try(
	ctx context.Context, t rpcport.Target, ready func(context.Context, net.Conn) error, protocols ...string,
) (net.Conn, error) {
	try, cancel := context.WithTimeout(ctx, r.cfg.DialTimeout)
	defer cancel()
	conn, err := r.cfg.Dialer.Dial(try, t, protocols...)
	if err != nil {
		return nil, r.mute(ctx, t, err)
	}
	if ready != nil {
		if err := ready(try, conn); err != nil {
			conn.Close()
			return nil, r.mute(ctx, t, err)
		}
	}
	r.notePlain(t.Node, rpcport.IsPlain(conn))
	return conn, nil
}

// muteError is the error of a node that accepted a connection and sent nothing.
type muteError struct {
	error
	addr  string
	limit time.Duration
}

func (e *muteError) Error() string {
	return fmt.Sprintf("%s accepted a connection, but did not answer within %s", e.addr, e.limit)
}

func (e *muteError) Unwrap() error { return e.error }

// mute replaces the text of an error if time was up after the connection was accepted. Otherwise the error of a
// suspended node would look like a fault of TLS.
func (r *Registry) mute(ctx context.Context, t rpcport.Target, err error) error {
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	if op := (*net.OpError)(nil); ctx.Err() != nil || !late || errors.As(err, &op) && op.Op == "dial" {
		return err
	}
	return &muteError{err, t.Addr, r.cfg.DialTimeout}
}

// notePlain records whether the newest connection to a node is without TLS.
func (r *Registry) notePlain(id string, plain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.nodes[id]; e != nil {
		e.plain = plain
	}
}

// Plain lists, by id, the nodes whose last connection was without TLS.
func (r *Registry) Plain() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, e := range r.nodes {
		if e.plain {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// Dial returns the connection for calls to a node. It does not block. If the node cannot be reached, the calls return
// the error.
func (r *Registry) Dial(id string) (grpc.ClientConnInterface, error) {
	if id == r.cfg.NodeID {
		return r.cfg.Local, nil
	}
	return r.conn(id, forCalls, r.cfg.Options)
}

// DialTail is Dial for tails, whose answers may stay unread for a while.
func (r *Registry) DialTail(id string) (grpc.ClientConnInterface, error) {
	if id == r.cfg.NodeID {
		return r.cfg.LocalTail, nil
	}
	return r.conn(id, forTails, r.cfg.TailOptions)
}

// DialFresh returns a separate connection for calls to a node, since the connection of Dial may be dead without being
// detected. closeConn is never nil.
func (r *Registry) DialFresh(id string) (conn grpc.ClientConnInterface, closeConn func(), err error) {
	if id == r.cfg.NodeID {
		return r.cfg.Local, func() {}, nil
	}
	r.mu.Lock()
	_, err = r.reachable(id)
	r.mu.Unlock()
	if err != nil {
		return nil, func() {}, err
	}
	c, err := r.newConn(id, r.cfg.Options)
	if err != nil {
		return nil, func() {}, err
	}
	return c, func() { _ = c.Close() }, nil // its calls have ended
}

// Knock opens a connection for calls to a node and closes it. It returns the reason if that fails. It does not use
// the existing connections.
func (r *Registry) Knock(ctx context.Context, id string) error {
	conn, err := r.dial(ctx, id, r.greeting(id), "h2")
	if err != nil {
		return err
	}
	return conn.Close()
}

// greeting returns a function that greets the dialed node.
func (r *Registry) greeting(id string) func(context.Context, net.Conn) error {
	return func(ctx context.Context, conn net.Conn) error { return rpcport.Greet(ctx, conn, r.cfg.Member(), id) }
}

func (r *Registry) conn(id string, kind int, options []grpc.DialOption) (grpc.ClientConnInterface, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, err := r.reachable(id)
	if err != nil {
		return nil, err
	}
	if e.conns[kind] == nil {
		c, err := r.newConn(id, options)
		if err != nil {
			return nil, err
		}
		e.conns[kind] = c
	}
	return e.conns[kind], nil
}

// reachable returns the entry of a node to dial. The caller holds mu.
func (r *Registry) reachable(id string) (*entry, error) {
	e := r.nodes[id]
	switch {
	case r.closed:
		return nil, errs.New(errs.ShardUnreachable, "node %s cannot be reached: this node is stopping", id)
	case e == nil:
		return nil, errs.New(errs.ShardUnreachable, "node %s cannot be reached: it is not known", id)
	}
	return e, nil
}

// newConn returns a connection, which dials when it is used.
func (r *Registry) newConn(id string, options []grpc.DialOption) (*grpc.ClientConn, error) {
	c, err := grpc.NewClient("passthrough:///"+id, append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return r.dial(ctx, id, r.greeting(id), "h2")
		}),
		// The dialer does the TLS handshake.
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay: 50 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: time.Second,
			},
			MinConnectTimeout: 2 * time.Second,
		}),
		// Keepalives notice a suspended node although its connection is open.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true,
		}),
		grpc.WithIdleTimeout(0),
	}, options...)...)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "connect to node %s", id)
	}
	return c, nil
}

// Close closes the connections. A second call has no effect.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	var all []*grpc.ClientConn
	for _, e := range r.nodes {
		all = append(all, e.conns[:]...)
		e.conns = [2]*grpc.ClientConn{}
	}
	r.mu.Unlock()
	return closeAll(all)
}

func closeAll(conns []*grpc.ClientConn) error {
	var faults []error
	for _, c := range conns {
		if c != nil {
			faults = append(faults, c.Close())
		}
	}
	return errors.Join(faults...)
}
