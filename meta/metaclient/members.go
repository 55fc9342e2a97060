package metaclient

import (
	"cmp"
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/metapb"
)

// members calls the members of the metadata group. Package leader finds the leader.
type members struct {
	list func() []string
	dial func(nodeID string) (grpc.ClientConnInterface, error)
	try  time.Duration // time limit of a call to one of several members
	// lostAfter is Config.LostAfter.
	lostAfter time.Duration

	nodes leader.Nodes
	group *leader.Group
}

func newMembers(cfg Config) *members {
	m := &members{list: cfg.Members, dial: cfg.Dial, try: cfg.TryTimeout, lostAfter: cmp.Or(cfg.LostAfter, lostAfter)}
	m.group = leader.NewGroup(&m.nodes)
	if cfg.Conn != nil {
		m.list = func() []string { return []string{""} }
		m.dial = func(string) (grpc.ClientConnInterface, error) { return cfg.Conn, nil }
	}
	return m
}

// client returns the present client of the member.
func (m *members) client(id string) (metapb.MetaClient, error) {
	conn, err := m.conn(id)
	if err != nil {
		return nil, err
	}
	return metapb.NewMetaClient(conn), nil
}

// conn returns the connection to a member.
func (m *members) conn(id string) (grpc.ClientConnInterface, error) {
	conn, err := m.dial(id)
	if err != nil {
		return nil, errs.Wrap(errs.ShardUnreachable, err, "reach node %s of the metadata group", id).
			WithRetryAfter(100 * time.Millisecond)
	}
	return conn, nil
}

// redial makes the next call reconnect a broken connection at once. Otherwise gRPC would pause
// between its attempts, for up to minutes.
func (m *members) redial(id string) {
	if conn, err := m.dial(id); err == nil {
		leader.Wake(conn)
	}
}

const (
	// minPause and maxPause are the minimum and maximum pause between two rounds of calls.
	minPause = 20 * time.Millisecond
	maxPause = 500 * time.Millisecond
	// lostAfter is the default value of Config.LostAfter. An election takes less, so a longer wait would be useless.
	// The calls of each second detect when a member leads again.
	lostAfter = 5 * time.Second
)

// ask calls f with the leader until f succeeds, fails permanently, or ctx ends. The time of a call
// to one of several members is limited, so that a suspended member does not block the others.
// repeat means that f may be executed twice, so that a call with an unknown outcome is repeated
// too.
func (m *members) ask(
	ctx context.Context, what string, repeat bool, f func(ctx context.Context, c metapb.MetaClient) error,
) error {
	try, lost := m.try, time.Duration(0)
	failure := leader.Search{
		Group: m.group, Nodes: &m.nodes, Order: func() []string { return m.group.Order(m.list()) },
		None: errs.New(errs.ShardNotReady, "%s: no member of the metadata group is known yet", what).
			WithRetryAfter(time.Second),
		Judge: judge, Repeat: repeat, MinPause: minPause, MaxPause: maxPause,
		Call: func(ctx context.Context, id string, t leader.Try) error {
			bound := try
			if !t.Others {
				bound = 0
			}
			late, err := m.call(ctx, id, bound, f)
			if late {
				try *= 2 // the member may be slow rather than suspended
			}
			return err
		},
		Continue: func(_ int, so *leader.Failure) bool {
			lost = m.group.Leaderless()
			return lost <= m.lostAfter || so.Known <= 1
		},
	}.Run(ctx)
	switch {
	case failure == nil:
		return nil
	case lost > m.lostAfter && failure.Known > 1 && failure.Verdict.Retry && ctx.Err() == nil:
		return lostLeader(what, lost, failure)
	}
	return giveUp(ctx, what, failure)
}

// call makes one call, with a time limit unless bound is 0.
func (m *members) call(
	ctx context.Context, id string, bound time.Duration, f func(ctx context.Context, c metapb.MetaClient) error,
) (late bool, err error) {
	conn, err := m.conn(id)
	if err != nil {
		m.nodes.Health(id).Silent()
		return false, err
	}
	return m.nodes.Call(ctx, id, conn, bound, func(ctx context.Context) error {
		return f(ctx, metapb.NewMetaClient(conn))
	})
}

// judge is leader.Judge for the metadata group. A refusal without a reason is an answer for the
// user; a shard's refusal might instead mean that another node has to be found.
func judge(err error) leader.Verdict {
	e := errs.From(err)
	switch {
	case e.Reason == errs.NotLeader, e.Reason == errs.Busy, e.Reason == errs.OutcomeUnknown:
		return leader.Judge(err)
	case e.Code == errs.ShardUnreachable && e.Reason == "":
		return leader.Verdict{Retry: true} // there is no connection, so nothing was sent
	case e.Code == errs.ShardUnreachable, e.Code == errs.DeadlineExceeded:
		return leader.Verdict{Retry: true, Unknown: true}
	}
	return leader.Verdict{}
}

// giveUp returns the error of a call that found no leader in time, or was refused.
func giveUp(ctx context.Context, what string, so *leader.Failure) error {
	last := errs.From(so.Err)
	timeIsUp := so.OutOfTime && !errors.Is(ctx.Err(), context.Canceled) || errors.Is(ctx.Err(), context.DeadlineExceeded)
	unanswered := last.Code == errs.DeadlineExceeded || errors.Is(last, context.DeadlineExceeded)
	if !timeIsUp || so.Known <= 1 && !unanswered {
		return last
	}
	if so.Known <= 1 {
		// The member is running, but its log waits for the disk.
		return notReady(errs.Wrap(errs.ShardNotReady, last,
			"%s: it did not answer in time, and the outcome is unknown; check whether its disk is full or "+
				"slow", what), time.Second, true)
	}
	return notReady(errs.Wrap(errs.ShardNotReady, last,
		"%s: none of %d members of the metadata group answered as its leader in time; check that a majority is "+
			"running", what, so.Known),
		time.Second, so.Unknown)
}

// lostLeader returns the error of a call while no member has led for longer than an election takes.
func lostLeader(what string, since time.Duration, so *leader.Failure) error {
	return notReady(errs.Wrap(errs.ShardNotReady, so.Err, "%s: the metadata group has had no leader for %s: more "+
		"than half of its voters must be up; none of the %d members known here leads",
		what, since.Round(time.Second), so.Known), 2*time.Second, so.Unknown)
}

// notReady converts an error of a call to an error that the group has no leader now.
func notReady(e *errs.Error, retryAfter time.Duration, unknown bool) *errs.Error {
	e.Code, e.RetryAfter, e.Leader = errs.ShardNotReady, retryAfter, ""
	if unknown {
		e.Reason = errs.OutcomeUnknown
	}
	return e
}
