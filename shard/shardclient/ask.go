package shardclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

const (
	// signOfLife is how long a node may take to answer anything at all, while there is
	// another one to ask.
	signOfLife = time.Second
	// partialRounds is how often the nodes are asked for a read that can do without them.
	partialRounds = 2
	// downWait is how long a read waits for nodes none of which can be connected to: there is
	// no election to wait for, and a process that starts again may be back.
	downWait = 2 * time.Second
)

// asking is a call that changes nothing, to whichever node answers.
type asking struct {
	what string
	// leader tells that the leader of shard is looked for.
	leader bool
	shard  uint32
	// nodes lists the nodes in the order in which they are asked; it is called before
	// every round.
	nodes func() []string
	dial  func(string) (grpc.ClientConnInterface, error) // nil: Config.Dial
	// rounds bounds the rounds over the nodes; 0: Config.ReadWait does.
	rounds int
}

// ask calls the nodes in turn until one answers, be it with an error of the request
// itself. The call tells of a sign of life by pulse.alive and waits for messages by
// pulse.receive; a node that gives none in time is left for the next one. The context of the call that succeeded lives until cancel.
func (c *Client) ask(ctx context.Context, a asking, call func(ctx context.Context, client shardpb.ShardServiceClient, p *pulse) error) (cancel context.CancelFunc, err error) {
	if a.dial == nil {
		a.dial = c.cfg.Dial
	}
	if a.leader && a.rounds == 0 && c.Ailing(a.shard) {
		a.rounds = 1 // it lacks a leader for longer than an election takes
	}
	start, backoff := time.Now(), c.cfg.MinBackoff
	last := error(errs.New(errs.ShardUnreachable, "no node with shards is known"))
	reached := false // a node answered, be it with a refusal
	for round := 1; ; round++ {
		nodes := a.nodes()
		several := len(nodes) > 1
		var asked, faults []string
		for len(nodes) > 0 {
			node := nodes[0]
			nodes, asked = nodes[1:], append(asked, node)
			patience := signOfLife
			switch {
			case !several:
				patience = 0 // there is nobody else to ask
			case round > 2:
				patience = 5 * signOfLife
			}
			cancel, err = c.askOne(ctx, a.dial, node, patience, call)
			if err == nil {
				if a.leader {
					c.found(a.shard, node)
				}
				return cancel, nil
			}
			if !unreachable(err) {
				return nil, err
			}
			reached = reached || !cut(err)
			faults = append(faults, fmt.Sprintf("node %s: %s", node, reason(err)))
			e := errs.Wrap(errs.ShardUnreachable, err, "node %s", node)
			e.Msg = strings.Join(faults, "; ")
			last = e
			if ctx.Err() != nil {
				break
			}
			c.log.DebugContext(ctx, a.what+" is tried on the next node", "node", node, "error", err)
			if leader := errs.From(err).Leader; leader != "" && !slices.Contains(asked, leader) && !c.health(leader).down(time.Now()) {
				nodes = append([]string{leader}, slices.DeleteFunc(slices.Clone(nodes), func(id string) bool { return id == leader })...)
				if a.leader {
					c.learn(a.shard, leader)
				}
			}
		}
		if a.leader && ctx.Err() == nil {
			c.leaderless(a.shard)
		}
		patience := c.cfg.ReadWait
		if !reached {
			patience = min(patience, downWait)
		}
		if len(asked) == 0 || round == a.rounds || time.Since(start) > patience || !sleep(ctx, jitter(backoff)) {
			return nil, ofRead(errs.Wrap(errs.ShardUnreachable, last, "%s", a.what))
		}
		backoff = min(2*backoff, c.cfg.MaxBackoff)
	}
}

// askOne calls one node, which must give a sign of life in time; patience 0: at any time.
func (c *Client) askOne(ctx context.Context, dial func(string) (grpc.ClientConnInterface, error), node string, patience time.Duration, call func(context.Context, shardpb.ShardServiceClient, *pulse) error) (context.CancelFunc, error) {
	conn, err := dial(node)
	if err != nil {
		c.health(node).silent(time.Now())
		return nil, errs.Wrap(errs.ShardUnreachable, err, "connect")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	alive := func() {}
	if patience > 0 {
		timer := time.AfterFunc(patience, func() { cancel(errSilent) })
		alive = func() { timer.Stop() }
	}
	p := &pulse{conn: conn, cancel: cancel, cause: func() error { return context.Cause(ctx) }, alive: alive, watched: patience > 0, misses: 1}
	err = errs.FromGRPC(call(ctx, shardpb.NewShardServiceClient(conn), p))
	alive()
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		cancel(nil)
		c.health(node).silent(time.Now())
		wake(conn)
		return nil, errSilent
	case err == nil:
		c.health(node).spoke()
		return func() { cancel(nil) }, nil
	}
	cancel(nil)
	if cut(err) {
		c.health(node).silent(time.Now())
		wake(conn)
	} else {
		c.health(node).spoke()
	}
	return nil, err
}

// ofRead is the error of a call that changes nothing: also where the connection broke there is
// no outcome that could be unknown.
func ofRead(e *errs.Error) *errs.Error {
	if e.Reason == errs.OutcomeUnknown {
		return e.WithReason("")
	}
	return e
}

// reason is an error for people: of a connection, what became of it.
func reason(err error) string {
	text := errs.From(err).Msg
	if i := strings.LastIndex(text, "dial tcp "); i >= 0 && cut(err) {
		text = strings.Trim(text[i:], `"`)
	}
	return text
}

var errSilent = errs.New(errs.ShardUnreachable, "it gave no sign of life in time")
