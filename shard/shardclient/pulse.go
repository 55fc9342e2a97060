package shardclient

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/metapb"
)

const (
	// pulseAfter is how long a read waits for the next message until the node is asked
	// whether it lives, and pulseWait how long that may take.
	pulseAfter = time.Second
	pulseWait  = 2 * time.Second
)

// pulse watches the node of a call while that waits for messages. A query may take as long as
// it needs, but a process that was stopped where it was says nothing for ever, and its
// connection is given up no sooner than after 15 s: gRPC takes no shorter keepalive. So the node
// is asked over the same connection, and only while nothing comes.
type pulse struct {
	conn   grpc.ClientConnInterface
	cancel context.CancelCauseFunc // of the call
	cause  func() error            // why the call was cancelled
	alive  func()                  // the node gave a sign of life
	// watched: there is another node to ask.
	watched bool
	// misses is how often in a row the node must say nothing: once, while another one can be
	// asked for all rows, and twice after some came.
	misses int
}

// receive waits for a message by recv.
func (p *pulse) receive(recv func() error) error {
	if !p.watched {
		return recv()
	}
	ctx, over := context.WithCancel(context.Background())
	defer over()
	misses := p.misses
	t := time.AfterFunc(pulseAfter, func() { p.feel(ctx, misses) })
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

// feel asks the node whether it lives, again and again until ctx ends, and ends the call if
// it does not so many times in a row.
func (p *pulse) feel(ctx context.Context, misses int) {
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
		default: // also a program that does not know the call answers
			missed = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pulseAfter):
		}
	}
}
