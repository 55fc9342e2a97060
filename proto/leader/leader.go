// Package leader calls the leader of a raft group: it finds the leader among the group's nodes,
// calls it, and repeats the call while that may succeed. It serves every group of the cluster,
// shards and metadata alike, and reads that any node may answer.
//
// # A search
//
// A Search sends one request to the nodes until it is answered. It works in rounds; a round calls
// every node at most once:
//
//  1. Order of the nodes. The node that is believed to lead comes first, and the nodes that did
//     not answer recently come last (Group.Order).
//  2. Hint. A node that refuses because it does not lead may report the leader, which is called
//     next, unless it was called in this round. The caller need not have heard of that node. If
//     it did not answer recently, it keeps its place, because a follower continues to report a
//     dead leader until the next election. The hint is remembered for later searches.
//  3. Time of a call. If there is another node to call, the time of a call is limited: a process
//     that was stopped, or whose disk hangs, accepts connections and never answers. The caller
//     chooses the limit (Nodes.Call); Health.TryTimeout proposes one that depends on the node's
//     usual time. A call that streams, and may take as long as it needs, is watched instead
//     (Nodes.Watch): the node must send a first message in time, and is asked whether it is alive
//     while no message arrives. If there is no other node to call, only the second applies: the
//     call ends if the node has been silent for 8 s, or for two thirds of the caller's time.
//  4. Health. A node that does not answer in time, or whose connection breaks, is called after all
//     others for 1 s, which doubles up to 15 s with each failure. Then one caller tests the node.
//     A refusal is an answer: the node is healthy.
//  5. Pause. After a round in which no node led, the search pauses: MinPause, doubled up to
//     MaxPause, randomised by a quarter. Of the searches that wait for one group, one looks again
//     after 0.2 s at most, and the others continue as soon as it has found the leader. So an
//     election delays no request by a second, and the nodes are not called all the time.
//  6. Busy. A leader without room refuses with errs.Busy and the time after which to try again.
//     Then the same node is called again, and no other.
//
// A search ends when a node has answered, when a node refuses permanently, when its context ends or
// would end in the pause, or when one of the limits of Search is reached. Without a limit, and with
// a context that never ends, it searches for ever.
//
// # What may be sent again
//
// Judge decides by the code and the reason of an error, never by its text:
//
//	answer                                     effect     next
//	NotLeader, no connection, no such shard    none       another node
//	Busy                                       none       the same node, after a pause
//	OutcomeUnknown, connection broke,          possible   another node, if Search.Repeat
//	no answer in time, 503 or 504 otherwise
//	other reasons, status below 500            none       nothing: it is the answer
//	other statuses                             possible   nothing
//
// After a call with a possible effect the outcome of the search is unknown, whatever later calls
// return, because the first may still be carried out. Such a call may be repeated only if the
// receiver recognises it, by batch ids or the id of a proposal, or if it changes nothing; the
// caller sets Search.Repeat in this case. A later answer may decide the outcome: a shard that
// refuses batches because of their table's epoch, schema or end has searched its log, and batches
// that are not appended by then never will be (Verdict.Settled).
//
// # What it does not do
//
// It queues nothing. Only the caller knows how many requests a group can take at a time:
// shardclient has a window of bytes for each shard, the metadata leader a queue of schema changes.
//
// All methods may be called concurrently. Group and Nodes hold no goroutines and need no closing.
package leader

import (
	"context"
	"slices"
	"time"

	"cordwood/proto/errs"
)

// Search sends one request to the nodes until it is answered. The package comment describes the
// rules.
type Search struct {
	// Group is the group whose leader is called. It is nil if any node may answer.
	Group *Group
	// Nodes records the health of the nodes. It must be set.
	Nodes *Nodes
	// Order returns the nodes to call. It is called before every round.
	Order func() []string
	// None is the error if Order returns no node.
	None error
	// Call calls one node.
	Call func(ctx context.Context, node string, try Try) error
	// Judge decides what to do after an error of Call. The default value is the function Judge.
	Judge func(error) Verdict
	// Repeat is set if Call may be repeated although an earlier call may have had its effect.
	Repeat bool

	// MinPause and MaxPause are the minimum and maximum pause between two rounds.
	MinPause, MaxPause time.Duration
	// MaxTries is the maximum number of calls; 0 means no limit.
	MaxTries int
	// BusyFor is how long a busy leader is called again; 0 means no limit.
	BusyFor time.Duration
	// Continue reports, after a round in which no node led, whether another round should follow. The default value always
	// returns true.
	Continue func(round int, so *Failure) bool
	// Retrying is called after a failed call that will be repeated.
	Retrying func(node string, so *Failure)
}

// Try describes one call of a search.
type Try struct {
	Round  int  // counts from 1
	Others bool // whether there is another node to call if this one does not answer
}

// Failure describes how a search failed.
type Failure struct {
	// Err is the error of the last call, and Verdict its meaning.
	Err     error
	Verdict Verdict
	// Unknown is set if a call may have had its effect.
	Unknown bool
	// Tries counts the calls, and rounds without a node to call.
	Tries int
	// Known is the number of nodes that Order last returned.
	Known int
	// OutOfTime is set if the context ended, or would have ended in the next pause.
	OutOfTime bool
}

// Run calls nodes until one answers, and then returns nil. Otherwise it describes the failure.
func (s Search) Run(ctx context.Context) *Failure {
	if s.Judge == nil {
		s.Judge = Judge
	}
	r := run{Search: s, pause: s.MinPause, asked: make([]string, 0, 4)}
	for round := 1; ; round++ {
		end := r.round(ctx, round)
		if end == answered {
			return nil
		}
		if end == refused || !r.rest(ctx, round, end == busy) {
			return &r.Failure
		}
	}
}

// run is the state of a running search.
type run struct {
	Search
	Failure

	pause     time.Duration // before the next round
	asked     []string      // in this round
	busySince time.Time     // when the leader was first busy in consecutive calls
}

// roundEnd is the result of a round.
type roundEnd int

const (
	answered roundEnd = iota
	refused           // a permanent refusal or the end of the search
	nobody            // no node led
	busy              // the leader has no room
)

// round calls the nodes in turn.
func (r *run) round(ctx context.Context, round int) roundEnd {
	nodes := r.Order()
	r.Known, r.asked = len(nodes), r.asked[:0]
	if len(nodes) == 0 {
		r.Tries++
		r.Err, r.Verdict = r.None, Verdict{Retry: true}
	}
	for len(nodes) > 0 {
		node := nodes[0]
		nodes, r.asked = nodes[1:], append(r.asked, node)
		r.Tries++
		err := r.Call(ctx, node, Try{Round: round, Others: r.Known > 1})
		if err == nil {
			if r.Group != nil {
				r.Group.Found(node)
			}
			return answered
		}
		r.note(err)
		if !r.Verdict.Retry || ctx.Err() != nil || r.spent() {
			return refused
		}
		if r.Retrying != nil {
			r.Retrying(node, &r.Failure)
		}
		if r.Verdict.Same {
			if !r.mayWait() {
				return refused
			}
			if r.Group != nil {
				r.Group.Found(node)
			}
			return busy
		}
		nodes = r.follow(node, nodes)
	}
	return nobody
}

// note records the error of a call.
func (r *run) note(err error) {
	v := r.Judge(err)
	r.Unknown = r.Unknown && !v.Settled || v.Unknown
	if v.Unknown && !r.Repeat {
		v.Retry = false
	}
	if !v.Same {
		r.busySince = time.Time{}
	}
	r.Err, r.Verdict = err, v
}

// spent reports whether the maximum number of tries is reached.
func (r *run) spent() bool { return r.MaxTries > 0 && r.Tries >= r.MaxTries }

// mayWait reports whether a busy leader is called again.
func (r *run) mayWait() bool {
	if r.busySince.IsZero() {
		r.busySince = time.Now()
	}
	return r.BusyFor == 0 || time.Since(r.busySince) < r.BusyFor
}

// follow records that the node does not lead, and puts the leader that it reports first.
func (r *run) follow(node string, nodes []string) []string {
	hint := errs.From(r.Err).Leader
	if r.Group != nil {
		r.Group.replace(node, hint)
	}
	if hint == "" || slices.Contains(r.asked, hint) {
		return nodes
	}
	if len(nodes) > 0 && r.Nodes.Health(hint).Down(time.Now()) {
		return nodes
	}
	rest := slices.DeleteFunc(slices.Clone(nodes), func(id string) bool { return id == hint })
	return append([]string{hint}, rest...)
}

// rest pauses after a round. It returns false if the search is over.
func (r *run) rest(ctx context.Context, round int, busy bool) bool {
	pause := r.pause
	r.pause = min(2*pause, r.MaxPause)
	rested := false
	switch {
	case r.spent():
		return false
	case busy:
		rested = sleep(ctx, max(errs.From(r.Err).RetryAfter, jitter(pause)), nil)
	default:
		if r.Group != nil && ctx.Err() == nil {
			r.Group.leaderless()
		}
		if r.Continue != nil && !r.Continue(round, &r.Failure) {
			return false
		}
		if r.Group == nil {
			rested = sleep(ctx, jitter(pause), nil)
		} else {
			rested = r.Group.await(ctx, pause)
		}
	}
	r.OutOfTime = !rested
	return rested
}
