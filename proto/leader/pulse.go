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
	// aloneWait is how long a node may be silent if no other node can be called. The time that other calls have waited
	// for the node counts, because queries that wait for their turn would otherwise wait one after the other. If the
	// call has a deadline, it is at most two thirds of the time that is left, so that the caller can report the silent
	// node, or continue without it, before its own time is up. It is at least minAlone.
	aloneWait = 8 * time.Second
	minAlone  = time.Second
)

// errSilent is the error with which Watch ends a call.
var errSilent = errs.New(errs.ShardUnreachable, "the node did not answer in time")

// Watch makes a call to a node that may take as long as it needs while the node is alive, and records in the node's
// health whether it answered. The node must send a first message within the time patience; 0 means that there is no
// other node to call. Then the first message may be late while the node is alive. The call reports the first message
// with Pulse.Alive, and waits for messages with Pulse.Receive. The context of a successful call lives until cancel.
func (n *Nodes) Watch(
	ctx context.Context, node string, conn grpc.ClientConnInterface, patience time.Duration,
	call func(context.Context, *Pulse) error,
) (cancel context.CancelFunc, err error) {
	ctx, end := context.WithCancelCause(ctx)
	p := &Pulse{
		conn: conn, health: n.Health(node), cancel: end, cause: func() error { return context.Cause(ctx) },
		after: pulseAfter, wait: pulseWait, misses: 1, more: 2, stop: func() {},
	}
	if patience > 0 {
		first := time.AfterFunc(patience, func() { end(errSilent) })
		p.stop = func() { first.Stop() }
	} else {
		silence := aloneFor(ctx, n.Health(node))
		p.after = min(pulseAfter, silence/4)
		p.wait, p.more = silence-p.after, 1
		p.stop = p.watch()
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

// Silent reports whether Watch ended a call because the node sent nothing.
func Silent(err error) bool { return errors.Is(err, errSilent) }

// aloneFor returns how long a node may be silent in a call if no other node can be called.
func aloneFor(ctx context.Context, h *Health) time.Duration {
	now := time.Now()
	silence := aloneWait
	if heard := h.unheard(now); heard > 0 {
		silence -= pulseAfter + heard
	}
	if h.Down(now) {
		silence = 0
	}
	if deadline, ok := ctx.Deadline(); ok {
		silence = min(silence, deadline.Sub(now)*2/3)
	}
	return max(silence, minAlone)
}

// Pulse watches the node of a call while the call waits for messages. A suspended process never
// sends anything, and gRPC closes its connection after 15 s at the earliest, since it supports no
// shorter keepalive. So the node is asked over the same connection, but only while no message
// arrives.
type Pulse struct {
	conn   grpc.ClientConnInterface
	health *Health
	cancel context.CancelCauseFunc // of the call
	cause  func() error            // why the call was cancelled
	stop   func()                  // ends the wait for the first message
	// after is the time without a message after which the node is asked, and wait the time that it has to answer.
	after, wait time.Duration
	// misses is the number of consecutive failures to answer that end the call: one while another
	// node can be asked for all rows, and more after some rows have arrived.
	misses, more int
}

// Alive records the first message.
func (p *Pulse) Alive() { p.stop() }

// Receive waits for a message with recv.
func (p *Pulse) Receive(recv func() error) error {
	defer p.watch()()
	err := recv()
	if err != nil && errors.Is(p.cause(), errSilent) {
		return errSilent
	}
	if err == nil {
		p.misses = p.more
	}
	return err
}

// watch asks the node whether it is alive until stop is called.
func (p *Pulse) watch() (stop func()) {
	ctx, over := context.WithCancel(context.Background())
	misses := p.misses
	t := time.AfterFunc(p.after, func() { p.ask(ctx, misses) })
	return func() {
		t.Stop()
		over()
	}
}

// ask asks the node repeatedly whether it is alive until ctx ends. It ends the call if the node
// does not answer misses times in a row.
func (p *Pulse) ask(ctx context.Context, misses int) {
	for missed := 0; ; {
		call, cancel := context.WithTimeout(ctx, p.wait)
		done := p.health.ask(time.Now())
		_, err := metapb.NewPeerClient(p.conn).Echo(call, &metapb.EchoRequest{}, grpc.WaitForReady(true))
		cancel()
		silent := status.Code(err) == codes.DeadlineExceeded || status.Code(err) == codes.Unavailable
		done(!silent && ctx.Err() == nil)
		switch {
		case ctx.Err() != nil:
			return
		case silent:
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
		case <-time.After(p.after):
		}
	}
}
