package leader

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

const (
	// pulseAfter is the time that a stream waits for the next message before its node is asked whether it is alive.
	// pulseWait is the time that the node has to answer.
	pulseAfter = time.Second
	pulseWait  = 2 * time.Second
)

// errSilent is the error with which Watch ends a call.
var errSilent = errs.New(errs.ShardUnreachable, "the node did not answer in time")

// Watch makes a call to a node that may take as long as it needs while the node is alive, and records in the node's
// health whether it answered. The node must send a first message within the time patience; 0 means that there is no
// other node to call, so the call is not watched. The call reports the first message with Pulse.Alive, and waits for
// messages with Pulse.Receive. The context of a successful call lives until cancel.
func (n *Nodes) Watch(
	ctx context.Context, node string, conn grpc.ClientConnInterface, patience time.Duration,
	call func(context.Context, *Pulse) error,
) (cancel context.CancelFunc, err error) {
	ctx, end := context.WithCancelCause(ctx)
	p := &Pulse{
		conn: conn, cancel: end, cause: func() error { return context.Cause(ctx) }, watched: patience > 0, misses: 1,
	}
	if p.watched {
		p.first = time.AfterFunc(patience, func() { end(errSilent) })
	}
	err = errs.FromGRPC(call(ctx, p))
	p.Alive()
	if errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	if err == nil {
		n.Health(node).spoke()
		return func() { end(nil) }, nil
	}
	end(nil)
	if errors.Is(err, errSilent) || Broken(err) {
		n.Health(node).Silent()
		Wake(conn)
	} else {
		n.Health(node).spoke()
	}
	return nil, err
}

// Pulse watches the node of a call while the call waits for messages. A suspended process never
// sends anything, and gRPC closes its connection after 15 s at the earliest, since it supports no
// shorter keepalive. So the node is asked over the same connection, but only while no message
// arrives.
type Pulse struct {
	conn   grpc.ClientConnInterface
	cancel context.CancelCauseFunc // of the call
	cause  func() error            // why the call was cancelled
	first  *time.Timer             // ends the call if there is no first message; nil without a limit
	// watched is set if there is another node to call.
	watched bool
	// misses is the number of consecutive failures to answer that end the call: one while another
	// node can be asked for all rows, and two after some rows have arrived.
	misses int
}

// Alive records the first message.
func (p *Pulse) Alive() {
	if p.first != nil {
		p.first.Stop()
	}
}

// Receive waits for a message with recv.
func (p *Pulse) Receive(recv func() error) error {
	if !p.watched {
		return recv()
	}
	ctx, over := context.WithCancel(context.Background())
	defer over()
	misses := p.misses
	t := time.AfterFunc(pulseAfter, func() { p.ask(ctx, misses) })
	defer t.Stop()
	err := recv()
	if err != nil && errors.Is(p.cause(), errSilent) {
		return errSilent
	}
	if err == nil {
		p.misses = 2
	}
	return err
}

// ask asks the node repeatedly whether it is alive until ctx ends. It ends the call if the node
// does not answer misses times in a row.
func (p *Pulse) ask(ctx context.Context, misses int) {
	for missed := 0; ; {
		call, cancel := context.WithTimeout(ctx, pulseWait)
		_, err := metapb.NewPeerClient(p.conn).Echo(call, &metapb.EchoRequest{}, grpc.WaitForReady(true))
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case status.Code(err) == codes.DeadlineExceeded || status.Code(err) == codes.Unavailable:
			if missed++; missed >= misses {
				p.cancel(errSilent)
				return
			}
		default: // a program that does not know the call answers too
			missed = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pulseAfter):
		}
	}
}
