package worker

import (
	"context"
	"errors"
	"os"
	"time"

	"cordwood/shard/query"
)

// starvedGraces is how many grace periods a query may take to stop while its process gets little CPU time.
const starvedGraces = 5

// stopping is the state of a request that the child was asked to stop.
type stopping struct {
	// stopped means that the child was asked to stop. until is when the next check is due.
	stopped bool
	until   time.Time
	// asked is when the child was asked, and cpu is the CPU time that its process had used by then; cpu is negative if it
	// is not known.
	asked time.Time
	cpu   time.Duration
	// starved means that the process got so little CPU time that it may have been unable to stop.
	starved bool
}

// interrupted handles an error of reading. It returns nil if reading continues.
func (x *exchange) interrupted(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return errBroken
	}
	if !x.stopped {
		reason := byte(stopCancelled)
		if errors.Is(context.Cause(x.ctx), context.DeadlineExceeded) {
			reason = stopDeadline
		}
		return x.stop(reason)
	}
	if time.Until(x.until) <= 0 && !x.wait() {
		return errStuck
	}
	// Either the context ended after the child was asked to stop, or the child may take longer.
	_ = x.c.c.SetReadDeadline(x.until)
	return nil
}

// wait reports whether the child may take longer to stop, and sets the time of the next check. On a busy machine, the
// process may get no CPU time for seconds. So the grace period is over when the process has used half of it, which it
// has to use if a query computes without a pause, or after some grace periods at the latest.
func (x *exchange) wait() bool {
	grace := x.c.p.w.cfg.Grace
	used, ok := x.c.p.w.usedBy(x.c.p)
	if !ok || x.cpu < 0 {
		return false
	}
	x.starved = used-x.cpu < grace/2
	left := starvedGraces*grace - time.Since(x.asked)
	if !x.starved || left <= 0 {
		return false
	}
	x.until = time.Now().Add(min(grace/4, left))
	return true
}

// stop asks the child to stop. Any data that the child still sends is discarded.
func (x *exchange) stop(reason byte) error {
	x.stopped, x.asked, x.cpu = true, time.Now(), -1
	if used, ok := x.c.p.w.usedBy(x.c.p); ok {
		x.cpu = used
	}
	x.until = x.asked.Add(x.c.p.w.cfg.Grace)
	_ = x.c.c.SetDeadline(x.until)
	frame := make([]byte, headerSize, headerSize+1)
	putHeader(frame, frameCancel, 1)
	if _, err := x.c.c.Write(append(frame, reason)); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The context has ended meanwhile, or the child does not read. Try until the deadline of the grace period.
			return x.stopAgain(append(frame, reason))
		}
		return errBroken
	}
	return nil
}

func (x *exchange) stopAgain(frame []byte) error {
	_ = x.c.c.SetDeadline(x.until)
	if _, err := x.c.c.Write(frame); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return errStuck
		}
		return errBroken
	}
	return nil
}

// stuck records that the process is replaced because this request does not stop. If it ran past its deadline, the
// statement is a suspect, and after several of them the user is refused. If its client left, the statement may be run
// again, and the user is refused only for moments: a page leaves many queries, and none of them is wrong. KILL, and a
// machine that gives the process no CPU time, count against nobody. In all cases the user's next queries run apart.
func (x *exchange) stuck() {
	switch {
	case query.Killed(x.ctx):
		x.log("query worker: this statement was ended by KILL and did not stop")
		x.c.p.w.userEnds.recordKill(x.share)
	case x.starved:
		x.log("query worker: this statement did not stop; its process got too little CPU time")
		x.c.p.w.userEnds.recordKill(x.share)
	case errors.Is(context.Cause(x.ctx), context.DeadlineExceeded):
		x.blame()
	default:
		x.log("query worker: this statement was cancelled and did not stop")
		x.c.p.left(x.share)
	}
}
