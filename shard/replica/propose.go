package replica

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
	"cordwood/proto/tracing"
)

var (
	// ErrTooLarge is the cause of the error for an entry larger than Config.MaxEntryBytes.
	ErrTooLarge = errors.New("entry is too large for the log")
	// ErrClosed is the cause of the error for an entry that a closed replica refuses.
	ErrClosed = errors.New("replica is closed")
)

// Applied is the outcome of a proposal that was committed and applied.
type Applied struct {
	Index uint64
	// Result is what FSM.Apply returned.
	Result any
}

// Propose appends data to the log and waits until it is durable on a majority and applied here.
//
// Afterwards data belongs to the log and the state machine, whatever Propose returns, so the caller
// must not change it. An error is an *errs.Error whose reason tells the caller what happened to the
// entry:
//
//	NotLeader       not appended; another replica leads (its id is in the text)
//	Busy            not appended; try again after RetryAfter
//	BadBatch        not appended, and never will be: ErrTooLarge
//	OutcomeUnknown  appended or not: leadership lost, store error, shutdown, or ctx
//	                ended while the entry was in flight
//	(none)          not appended: ctx had ended before
func (r *Replica) Propose(ctx context.Context, data []byte) (_ Applied, err error) {
	_, span := tracing.Start(ctx, "raft propose and apply")
	span.Text("group", r.cfg.Group)
	span.Number("bytes", int64(len(data)))
	defer func() { span.End(err) }()
	if err := ctx.Err(); err != nil {
		return Applied{}, errs.Wrap(errs.ContextCode(err), err, "propose to %s", r.cfg.Group)
	}
	if len(data) > r.cfg.MaxEntryBytes {
		return Applied{}, errs.Wrap(errs.InvalidArguments, ErrTooLarge,
			"propose to %s: %d bytes, at most %d are allowed; send fewer rows at once", r.cfg.Group, len(data),
			r.cfg.MaxEntryBytes).WithReason(errs.BadBatch)
	}
	if err := r.failure(); err != nil {
		return Applied{}, errs.Wrap(errs.StorageUnavailable, err, "propose to %s",
			r.cfg.Group).WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	if !r.enter() {
		return Applied{}, errs.Wrap(errs.ShardNotReady, ErrClosed, "propose to %s", r.cfg.Group).WithReason(errs.NotLeader)
	}
	timeout := r.cfg.EnqueueTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = max(min(timeout, time.Until(deadline)), time.Nanosecond)
	}
	type outcome struct {
		applied Applied
		err     error
	}
	done := make(chan outcome, 1)
	go func() {
		defer r.inflight.Done()
		future := r.raft.Apply(data, timeout)
		if err := r.await(future); err != nil {
			done <- outcome{err: err}
			return
		}
		done <- outcome{applied: Applied{Index: future.Index(), Result: future.Response()}}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return Applied{}, r.refusal(o.err)
		}
		if halt := (*haltError)(nil); asHalt(o.applied.Result, &halt) {
			return Applied{}, unknown(r.cfg.Group, errs.StorageUnavailable, halt)
		}
		return o.applied, nil
	case <-ctx.Done():
		return Applied{}, unknown(r.cfg.Group, errs.ContextCode(ctx.Err()), ctx.Err())
	case <-r.failed:
		return Applied{}, unknown(r.cfg.Group, errs.StorageUnavailable, r.failErr)
	}
}

// refusal converts raft's error to an error with a reason.
func (r *Replica) refusal(err error) *errs.Error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		_, leader := r.raft.LeaderWithID()
		hint := "no leader is known, try again"
		if leader != "" {
			hint = "leader is " + string(leader)
		}
		return errs.New(errs.ShardNotReady, "propose to %s: node %s does not lead it; %s", r.cfg.Group, r.cfg.NodeID, hint).
			WithLeader(string(leader)).WithRetryAfter(50 * time.Millisecond)
	case errors.Is(err, raft.ErrLeadershipTransferInProgress):
		// The reason is not Busy, because callers repeat Busy only for a short time.
		return errs.Wrap(errs.ShardNotReady, err, "propose to %s: another member takes over", r.cfg.Group).
			WithLeader("").WithRetryAfter(50 * time.Millisecond)
	case errors.Is(err, raft.ErrEnqueueTimeout), errors.Is(err, raft.ErrAbortedByRestore):
		return errs.Wrap(errs.ShardBusy, err, "propose to %s",
			r.cfg.Group).WithReason(errs.Busy).WithRetryAfter(100 * time.Millisecond)
	default: // leadership lost, shutdown, an error of the log store
		return unknown(r.cfg.Group, errs.StorageUnavailable, err)
	}
}

// unknown returns the error for an entry that may or may not have been appended.
func unknown(group string, code errs.Code, err error) *errs.Error {
	return errs.Wrap(code, err, "propose to %s: the outcome is unknown", group).WithReason(errs.OutcomeUnknown)
}
