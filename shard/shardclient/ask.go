package shardclient

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/shardpb"
)

const (
	// answerWait is how long a node may take until its first message while there is another node to
	// ask. From the third round on it is longAnswerWait.
	answerWait     = time.Second
	longAnswerWait = 5 * answerWait
	// partialRounds is the maximum number of rounds over the nodes for a read that may return a
	// partial answer.
	partialRounds = 2
	// downWait is how long a read waits if no node accepts a connection. There is no election to
	// wait for, but a restarting process may be back soon.
	downWait = 2 * time.Second
	// electionWait is the maximum time of an election on a busy machine. If a shard has had no leader for longer, reads
	// ask each node only once.
	electionWait = 5 * time.Second
)

// readRequest is a call that changes nothing, which any node may answer.
type readRequest struct {
	// what is the call, for texts. If unnamed is set, errors do not begin with it, because the caller says more.
	what    string
	unnamed bool
	// leader means that the read needs the leader of shard.
	leader bool
	shard  uint32
	// nodes returns the nodes in the order in which they are asked. It is called before every
	// round.
	nodes func() []string
	dial  func(string) (grpc.ClientConnInterface, error) // nil means Config.Dial
	// rounds is the maximum number of rounds over the nodes; 0 means that Config.ReadWait limits
	// them.
	rounds int
	// answered, if not nil, becomes the node that answered.
	answered *string
}

// readCall calls one node; see leader.Nodes.Watch.
type readCall func(ctx context.Context, client shardpb.ShardServiceClient, p *leader.Pulse) error

// ask calls the nodes in turn until one answers. The answer may be an error about the request. The
// context of the successful call lives until cancel is called.
func (c *Client) ask(ctx context.Context, req readRequest, call readCall) (cancel context.CancelFunc, err error) {
	if req.dial == nil {
		req.dial = c.cfg.Dial
	}
	var group *leader.Group
	if req.leader {
		group = c.target(req.shard).group
		if req.rounds == 0 && group.Leaderless() > electionWait {
			req.rounds = 1
		}
	}
	var (
		start   = time.Now()
		reached bool     // whether a node answered, even with a refusal
		faults  []string // errors of the nodes in this round
		// refused is the number of nodes in this round that accepted no connection.
		refused int
		silent  bool // whether the only node has had its time to answer
		round   int
	)
	failure := leader.Search{
		Group: group, Nodes: &c.nodes, Order: req.nodes,
		None:   errs.New(errs.ShardUnreachable, "no node with shards is known"),
		Repeat: true, MinPause: c.cfg.MinBackoff, MaxPause: c.cfg.MaxBackoff,
		Call: func(ctx context.Context, node string, try leader.Try) (err error) {
			if try.Round != round {
				round, faults, refused = try.Round, nil, 0
			}
			cancel, err = c.readFrom(ctx, req.dial, node, patience(try), call)
			if err != nil {
				switch {
				case leader.Broken(err):
					refused++
				case !try.Others && leader.Silent(err):
					silent = true
				default:
					reached = true
				}
				faults = append(faults, fmt.Sprintf("node %s: %s", node, strings.TrimPrefix(req.reason(err), "node "+node+": ")))
			} else if req.answered != nil {
				*req.answered = node
			}
			return err
		},
		Judge: func(err error) leader.Verdict { return leader.Verdict{Retry: unreachable(err)} },
		Continue: func(round int, so *leader.Failure) bool {
			longest := c.cfg.ReadWait
			// Without more than half of its nodes, a shard elects no leader.
			if !reached || req.leader && 2*refused >= so.Known {
				longest = min(longest, downWait)
			}
			return so.Known > 0 && !silent && round != req.rounds && time.Since(start) <= longest
		},
		Retrying: func(node string, so *leader.Failure) {
			c.log.DebugContext(ctx, req.what+" is tried on the next node", "node", node, "error", so.Err)
		},
	}.Run(ctx)
	switch {
	case failure == nil:
		return cancel, nil
	case !failure.Verdict.Retry:
		return nil, failure.Err
	}
	last := *errs.From(failure.Err)
	if len(faults) > 0 {
		slices.Sort(faults)
		last.Msg, last.Err = strings.Join(faults, "; "), failure.Err
	}
	if req.unnamed {
		return nil, ofRead(&last)
	}
	return nil, ofRead(errs.Wrap(errs.ShardUnreachable, &last, "%s", req.what))
}

// patience returns how long a node may take until its first message, or 0 if there is no other node
// to ask; see leader.Nodes.Watch.
func patience(try leader.Try) time.Duration {
	switch {
	case !try.Others:
		return 0
	case try.Round > 2:
		return longAnswerWait
	}
	return answerWait
}

// readFrom asks one node.
func (c *Client) readFrom(ctx context.Context, dial func(string) (grpc.ClientConnInterface, error), node string,
	patience time.Duration, call readCall,
) (context.CancelFunc, error) {
	conn, err := dial(node)
	if err != nil {
		c.nodes.Health(node).Silent()
		return nil, errs.Wrap(errs.ShardUnreachable, err, "connect").WithReason(errs.OutcomeUnknown)
	}
	return c.nodes.Watch(ctx, node, conn, patience, func(ctx context.Context, p *leader.Pulse) error {
		return call(ctx, shardpb.NewShardServiceClient(conn), p)
	})
}

// unreachable reports whether another node may answer if this one did not.
func unreachable(err error) bool {
	e := errs.From(err)
	if e.Reason == errs.ShardAway {
		return false // the node that answered has searched for the leader
	}
	switch e.Code {
	case errs.ShardUnreachable, errs.ShardNotFound, errs.ShardNotReady:
		return true
	}
	return e.Reason == errs.NotLeader
}

// ofRead returns the error of a call that changes nothing. Even if the connection broke, the
// outcome does not matter.
func ofRead(e *errs.Error) *errs.Error {
	if e.Reason == errs.OutcomeUnknown {
		return e.WithReason("")
	}
	return e
}

// reason returns the text of an error for users. For a connection error it describes the state of the connection. It
// does not repeat what the error of ask, or its caller, begins with.
func (r *readRequest) reason(err error) string {
	text := strings.TrimSuffix(errs.From(err).Msg, " (a moment ago; it is retried)")
	if i := strings.LastIndex(text, "dial tcp "); i >= 0 && leader.Broken(err) {
		return strings.Trim(text[i:], `"`)
	}
	text = strings.TrimPrefix(text, "query: ")
	if r.leader || r.unnamed {
		text = strings.TrimPrefix(text, fmt.Sprintf("shard %d is not ready to read: ", r.shard))
		text = strings.TrimPrefix(text, fmt.Sprintf("shard %d: ", r.shard))
	}
	return text
}
