package exchange

import (
	"context"
	"net/http"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// lostWait is how long a client whose user lost a right may take to read why, or the rest
// of what was written to it already.
const lostWait = 500 * time.Millisecond

// follower ends a request whose user may no longer send it: it cancels the request's
// context with the reason, and bounds how long a write to the client may still block.
type follower struct {
	work   access.Work
	cancel context.CancelCauseFunc

	mu   sync.Mutex // guards what follows
	rc   *http.ResponseController
	lost error // why the request was ended
	over bool
}

// Follow has the request end when its user may no longer send it: the returned request's
// context is cancelled then. begin begins the work of a sender (see httpapi.Authenticator);
// the caller of x asks the list of users as it is from now on. stop must be called when the
// handler has returned.
//
// The context of a handler that asks again itself, before its last step, is not cancelled.
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
	// Not every connection has deadlines.
	_ = f.rc.SetWriteDeadline(time.Now().Add(lostWait))
}

// finish says that the handler has returned: the connection may serve another request.
func (f *follower) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	if f.lost != nil {
		_ = f.rc.SetWriteDeadline(time.Time{})
	}
}

// reason returns why the request was ended; nil: it was not.
func (f *follower) reason() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// lostRight replaces an error that came about because the request was ended by the reason
// for that, and gives the client time to read it.
func (x *Exchange) lostRight(err error) error {
	lost := x.follower.reason()
	if lost == nil || errs.ReasonOf(err) == errs.OutcomeUnknown ||
		errs.From(err).Status() < 500 && errs.CodeOf(err) != errs.QueryTimeout {
		return err
	}
	_ = x.follower.rc.SetWriteDeadline(time.Now().Add(lostWait))
	return lost
}
