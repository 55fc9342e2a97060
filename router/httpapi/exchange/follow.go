package exchange

import (
	"context"
	"net/http"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// lostWait is how long a client whose user lost a right may take to read the reason, or the rest of the answer.
const lostWait = 500 * time.Millisecond

// follower ends a request whose user lost a right. It cancels the request's context with the reason, and limits how
// long a write to the client may still block.
type follower struct {
	work   access.Work
	cancel context.CancelCauseFunc

	mu   sync.Mutex // guards the fields below
	rc   *http.ResponseController
	lost error // why the request was ended
	over bool
}

// Follow cancels the context of the returned request when its user may no longer send it. begin starts work for a
// sender (see httpapi.Authenticator). From then on, the caller of x uses the current list of users. The handler's
// caller must call stop when the handler has returned.
//
// If asksAgain is set, the handler checks the rights itself before its last step, and its context is not cancelled.
func (x *Exchange) Follow(r *http.Request, asksAgain bool,
	begin func(access.Sender, func(error)) access.Work,
) (_ *http.Request, stop func()) {
	if asksAgain {
		x.Caller.Work = begin(x.Caller.Sender, nil)
		return r, x.Caller.Work.End
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	f := &follower{cancel: cancel, rc: http.NewResponseController(x.ResponseWriter)}
	f.work = begin(x.Caller.Sender, f.end)
	x.Caller.Work, x.follower = f.work, f
	return r.WithContext(ctx), func() {
		f.work.End()
		f.finish()
		cancel(nil)
	}
}

// end cancels the request.
func (f *follower) end(why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	f.lost = why
	f.cancel(why)
	// Some connections have no deadlines.
	_ = f.rc.SetWriteDeadline(time.Now().Add(lostWait))
}

// finish must be called when the handler has returned. The connection may then serve another request.
func (f *follower) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	if f.lost != nil {
		_ = f.rc.SetWriteDeadline(time.Time{})
	}
}

// reason returns the reason why the request was ended, or nil if it was not ended.
func (f *follower) reason() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// lostRight replaces an error by the reason for ending the request, if the ended request caused the error. It gives
// the client time to read the reason.
func (x *Exchange) lostRight(err error) error {
	lost := x.follower.reason()
	if lost == nil || errs.ReasonOf(err) == errs.OutcomeUnknown ||
		errs.From(err).Status() < 500 && errs.CodeOf(err) != errs.QueryTimeout {
		return err
	}
	_ = x.follower.rc.SetWriteDeadline(time.Now().Add(lostWait))
	return lost
}
