package httpapi

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

// follow has the request end when its user may no longer send it: the returned request's
// context is cancelled then. The caller of x asks the list of users as it is from now on.
// A handler that asks for itself before its last step is not cancelled.
func (s *Server) follow(x *exchange, r *http.Request, rt route) (*http.Request, func()) {
	if s.cfg.Auth == nil {
		return r, func() {}
	}
	if rt.asksAgain {
		x.caller.Work = s.cfg.Auth.Begin(x.caller.Sender, nil)
		return r, x.caller.Work.End
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	f := &follower{cancel: cancel, rc: http.NewResponseController(x.ResponseWriter)}
	f.work = s.cfg.Auth.Begin(x.caller.Sender, f.end)
	x.caller.Work, x.follower = f.work, f
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
func (x *exchange) lostRight(err error) error {
	lost := x.follower.reason()
	if lost == nil || errs.ReasonOf(err) == errs.OutcomeUnknown || errs.From(err).Status() < 500 && errs.CodeOf(err) != errs.QueryTimeout {
		return err
	}
	_ = x.follower.rc.SetWriteDeadline(time.Now().Add(lostWait))
	return lost
}
