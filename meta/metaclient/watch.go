package metaclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// checkEvery and pieceLimit are the interval of the checks whether the watch is behind, and the time limit for a
// piece of the state.
const (
	checkEvery = time.Second
	pieceLimit = 10 * time.Second
)

// Run keeps the view up to date until ctx ends, and then returns nil. If a watch breaks or falls
// behind the group's leader, it is restarted, at another member if there is one, after 50 ms at
// first and 2 s at most.
func (c *Client) Run(ctx context.Context) error {
	telling := make(chan struct{})
	go func() {
		defer close(telling)
		c.reportReached(ctx)
	}()
	defer func() { <-telling }()
	const shortest, longest = 50 * time.Millisecond, 2 * time.Second
	pause, before := shortest, ""
	for ctx.Err() == nil {
		id := c.nextWatched(before)
		complete, err := c.followChecked(ctx, id)
		if ctx.Err() != nil {
			break
		}
		if complete {
			pause = shortest
		}
		c.cfg.Logger.Info("the watch of the metadata ended; it is restarted", "member", id, "error", err, "pause", pause)
		before = id
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, longest)
	}
	return nil
}

// nextWatched returns the member to watch after the given one: the next in the list.
func (c *Client) nextWatched(before string) string {
	ids := c.members.list()
	if len(ids) == 0 {
		return ""
	}
	return ids[(slices.Index(ids, before)+1)%len(ids)]
}

var errBehind = errors.New("the member is behind the leader")

// followChecked is follow that ends when the member turns out to be behind.
func (c *Client) followChecked(ctx context.Context, id string) (complete bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		c.check(ctx, cancel)
	}()
	defer func() { cancel(nil); <-checked }()
	complete, err = c.follow(ctx, id)
	if cause := context.Cause(ctx); errors.Is(cause, errBehind) {
		err = cause
	}
	return complete, err
}

// check ends a watch whose member does not get the leader's commands. An idle watch cannot notice
// that by itself: a member that is cut off from the others sends nothing, like a member in an idle
// group.
func (c *Client) check(ctx context.Context, end context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(checkEvery):
		}
		if len(c.members.list()) < 2 {
			continue
		}
		at := c.view.index() // read before the request, because the answer may take long, and the view advances meanwhile
		index, err := c.readIndex(ctx)
		if err != nil {
			continue // there is no leader, so no member is better than this one
		}
		if at > index {
			c.cfg.Logger.Warn("the metadata group has lost commands that this node has seen, because a majority of its members "+
				"was lost; the "+
				"present metadata is used", "known", at, "now", index)
			c.lease.end()
			c.view.allowBack()
			end(errBehind)
			return
		}
		wait, cancel := context.WithTimeout(ctx, checkEvery)
		reached := c.view.wait(wait, index)
		cancel()
		if !reached && ctx.Err() == nil {
			end(errBehind)
			return
		}
	}
}

// follow runs one watch to its end. complete means that its state was shown.
func (c *Client) follow(ctx context.Context, id string) (complete bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := c.members.client(id)
	if err != nil {
		return false, err
	}
	slow := time.AfterFunc(pieceLimit, cancel)
	defer slow.Stop()
	stream, err := m.Watch(ctx, &metapb.WatchRequest{Access: c.cfg.OnAccess != nil}, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		c.members.redial(id)
		return false, errs.FromGRPC(err)
	}
	var next *state // the state that is being received
	whole := false  // it is complete but not shown yet, because the view is ahead of it
	for {
		resp, err := stream.Recv()
		if err != nil {
			if ctx.Err() == nil {
				c.members.redial(id)
			}
			return complete, errs.FromGRPC(err)
		}
		switch {
		case resp.Reset_:
			slow.Reset(pieceLimit)
			if next == nil {
				next = newState()
			}
			next.add(resp)
			whole = !resp.Partial
		case whole:
			next.add(resp)
		case complete:
			c.view.change(resp)
		default:
			return false, errs.New(errs.Unexpected, "watch the metadata: a change came before the state was complete")
		}
		if whole {
			slow.Stop()
			if c.view.replace(next) {
				next, whole, complete = nil, false, true
			}
		}
	}
}
