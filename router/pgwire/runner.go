package pgwire

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// execution is a statement that package query runs. The statement's goroutine waits until the rows have been read.
type execution struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	// interrupt is cancel for reasons from outside of the statement.
	interrupt context.CancelCauseFunc
	results   chan query.Result
	// finish is closed when the rows are no longer needed. done is closed when the statement has ended with err.
	finish, done chan struct{}
	err          error
	// running is the context of the rows, which ends at the statement's timeout.
	running context.Context

	mu       sync.Mutex // guards the fields below
	using    bool       // the connection's goroutine is reading rows
	finished bool       // finish is closed
	// timer ends a statement whose timeout does not run while the client does not fetch; nil means that the timeout
	// always runs. left is the remaining time at the moment from.
	timer *time.Timer
	left  time.Duration
	from  time.Time
}

// runner runs statements by package query in the name of the client, one after another.
type runner struct {
	cfg     *Config
	link    *link
	session *session
	shown   *shown
	sender  access.Sender

	// executing is the running statement.
	executing *execution
	// long is set while a statement starts that the client may fetch in parts.
	long bool
}

// currentSender returns the client's user with the user's current rights.
func (r *runner) currentSender() access.Sender {
	if r.cfg.Users == nil {
		return r.sender
	}
	return r.cfg.Users.Current(r.sender)
}

// caller returns a context with the caller of a statement.
func (r *runner) caller(ctx context.Context, end func(error)) (context.Context, func()) {
	caller := &access.Caller{Sender: r.currentSender(), Address: r.link.address}
	done := func() {}
	if r.cfg.Users != nil {
		caller.Work = r.cfg.Users.Begin(caller.Sender, end)
		done = caller.Work.End
	}
	return access.With(ctx, caller), done
}

// request returns a request with the settings of the session.
func (r *runner) request() query.Request {
	req := query.Request{
		Database: r.session.schema(), Catalog: r.session.database, Protocol: "pg", Timeout: r.session.timeout(),
		AllowPartial: r.session.get("cordwood.allow_partial") == "on",
	}
	if d, err := parseSpan(r.session.get("cordwood.max_staleness")); err == nil {
		req.MaxStaleness = d
	}
	return req
}

// target returns a table that the client may insert rows into.
func (r *runner) target(name statement.Name) (*schema.Table, error) {
	ctx, end := r.caller(context.Background(), func(error) {})
	defer end()
	return r.cfg.Service.Target(ctx, orElse(name.Database, r.session.schema()), name.Table)
}

// catalog returns the data from which PostgreSQL's catalog is built for the client.
func (r *runner) catalog() *pgcatalog.Source {
	ctx, end := r.caller(context.Background(), func(error) {})
	defer end()
	return r.cfg.Service.Catalog(ctx, r.session.database, r.session.user)
}

// describe lets the engine describe a query whose parameters have the given types, empty for an unknown one.
func (r *runner) describe(sql string, types []string) (*query.Description, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ctx, end := r.caller(ctx, func(err error) { cancel(err) })
	defer end()
	r.link.setCancel(cancel)
	defer r.link.setCancel(nil)
	defer r.link.watch(cancel)()
	d, err := r.cfg.Service.Describe(ctx, sql, r.request(), types)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, asError(err, cause)
	}
	return d, err
}

// execute starts a request with one statement. The caller must end it.
func (r *runner) execute(req query.Request) *execution {
	x := &execution{
		results: make(chan query.Result), finish: make(chan struct{}), done: make(chan struct{}), using: true,
	}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.running, x.interrupt = x.ctx, x.cancel
	if alters(req) {
		x.interrupt = func(cause error) {
			if errs.CodeOf(cause) != errs.UserPasswordMismatch {
				x.cancel(cause)
			}
		}
	}
	r.setCurrent(x)
	req.QueryID = query.NewID()
	r.shown.query(req.QueryID, strings.Join(req.Texts, "; "))
	if r.long {
		x.left, x.from = req.Timeout, time.Now()
		x.timer = time.AfterFunc(x.left, func() { x.cancel(errTimeUp) })
		req.Timeout = r.cfg.MaxTimeout
	}
	ctx, end := r.caller(x.ctx, x.interrupt)
	go func() {
		defer close(x.done)
		defer end()
		defer r.recoverTo(&x.err)
		x.err = r.cfg.Service.Execute(ctx, req, func(ctx context.Context, res query.Result) error {
			x.running = ctx
			select {
			case x.results <- res:
			case <-ctx.Done():
				return ctx.Err()
			}
			// Even if the context was canceled: the rows are valid until this function returns.
			<-x.finish
			return nil
		})
	}()
	return x
}

// recoverTo turns a panic into an error of the statement, so that other connections continue.
func (r *runner) recoverTo(err *error) {
	if p := recover(); p != nil {
		r.cfg.Logger.Error("panic in a statement of a PostgreSQL client", "remote", r.link.address, "panic",
			fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = errs.New(errs.Internal, "panic in a statement: %v", p)
	}
}

// abandon ends the running statement of a connection whose goroutine cannot continue.
func (r *runner) abandon() {
	if x := r.executing; x != nil {
		x.stop(errGone)
	}
}

// setCurrent makes x the statement that a cancel request ends; nil if there is none.
func (r *runner) setCurrent(x *execution) {
	if x == nil {
		r.clearCurrent(nil)
		return
	}
	r.executing = x
	r.link.setCancel(x.interrupt)
}

// clearCurrent forgets the statement that is executed. A request to cancel calls next from now on, if it is not nil.
func (r *runner) clearCurrent(next context.CancelCauseFunc) {
	r.executing = nil
	r.link.setCancel(next)
	r.shown.query("", "")
}

// alters reports whether a request changes a user. If it changes the password of its own user, the connection ends
// after it, but the client learns first that the password was changed.
func alters(req query.Request) bool {
	_, ok := req.Statements[0].(*statement.AlterUser)
	return ok
}

// result waits for the result of the statement. ok is false if the statement failed without a result.
func (r *runner) result(x *execution) (res query.Result, ok bool) {
	defer r.link.watch(x.cancel)()
	select {
	case res = <-x.results:
		return res, true
	case <-x.done:
		return res, false
	}
}

// end ends the statement. It returns the error of the statement, and the reason why its context ended, or nil.
func (x *execution) end() (err, cause error) {
	cause = context.Cause(x.ctx)
	x.release()
	<-x.done
	x.cancel(nil)
	return x.err, cause
}

// stop ends the statement and discards the rest of its rows.
func (x *execution) stop(cause error) {
	x.cancel(cause)
	x.release()
	<-x.done
}

// release marks the rows as no longer needed.
func (x *execution) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
	}
	if !x.finished {
		x.finished = true
		close(x.finish)
	}
}

// pause marks the rows as not being read until resume.
func (x *execution) pause() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.using = false
	if x.timer != nil && x.timer.Stop() {
		x.left -= time.Since(x.from)
	}
}

// resume reports whether the rows may be read again. They may not after evict.
func (x *execution) resume() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.finished {
		return false
	}
	x.using = true
	if x.timer != nil {
		x.from = time.Now()
		x.timer.Reset(max(x.left, 0))
	}
	return true
}

// evict ends the statement, unless its rows are being read, and reports whether it did.
func (x *execution) evict(cause error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.using || x.finished {
		return false
	}
	x.cancel(cause)
	x.finished = true
	close(x.finish)
	return true
}
