package pgwire

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/query"
)

// execution is a statement that package query runs. The statement's goroutine waits until the rows have been read.
type execution struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	results chan query.Result
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

// execute starts a request with one statement. The caller must end it.
func (c *conn) execute(req query.Request) *execution {
	x := &execution{
		results: make(chan query.Result), finish: make(chan struct{}), done: make(chan struct{}), using: true,
	}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.running = x.ctx
	c.setCurrent(x)
	req.QueryID = query.NewID()
	c.showQuery(req.QueryID, strings.Join(req.Texts, "; "))
	if c.long {
		x.left, x.from = req.Timeout, time.Now()
		x.timer = time.AfterFunc(x.left, func() { x.cancel(errTimeUp) })
		req.Timeout = c.srv.cfg.MaxTimeout
	}
	ctx, end := c.caller(x.ctx, func(err error) { x.cancel(err) })
	go func() {
		defer close(x.done)
		defer end()
		defer c.recoverTo(&x.err)
		x.err = c.srv.cfg.Service.Execute(ctx, req, func(ctx context.Context, res query.Result) error {
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
func (c *conn) recoverTo(err *error) {
	if p := recover(); p != nil {
		c.srv.cfg.Logger.Error("panic in a statement of a PostgreSQL client", "remote", c.address, "panic",
			fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = errs.New(errs.Internal, "panic in a statement: %v", p)
	}
}

// abandon ends the running statement of a connection whose goroutine cannot continue.
func (c *conn) abandon() {
	if x := c.executing; x != nil {
		x.stop(errGone)
	}
}

// setCurrent makes x the statement that a cancel request ends; nil if there is none.
func (c *conn) setCurrent(x *execution) {
	c.executing = x
	if x == nil {
		c.setCancel(nil)
		c.showQuery("", "")
		return
	}
	c.setCancel(x.cancel)
}

// setCancel sets the function that ends the running statement.
func (c *conn) setCancel(cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = cancel
	if cancel != nil && c.ending != nil && c.ending.State == "28000" {
		cancel(c.ending)
	}
}

// result waits for the result of the statement. ok is false if the statement failed without a result.
func (c *conn) result(x *execution) (res query.Result, ok bool) {
	defer c.watch(x.cancel)()
	select {
	case res = <-x.results:
		return res, true
	case <-x.done:
		return res, false
	}
}

// watch calls cancel when the client disconnects. stop ends the watching.
func (c *conn) watch(cancel context.CancelCauseFunc) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.in.Watch(); err != nil {
			cancel(errGone)
		}
	}()
	return func() {
		_ = c.net.SetReadDeadline(time.Unix(1, 0)) // it fails if the connection has ended
		<-ended
		_ = c.net.SetReadDeadline(time.Time{})
	}
}

// reading watches the client while rows are read and sent. At the statement's timeout, it closes the connection if the
// client does not read. stop ends the watching.
func (c *conn) reading(x *execution) (stop func()) {
	if x == nil {
		return func() {}
	}
	unwatch := c.watch(x.cancel)
	over := make(chan struct{})
	forget := context.AfterFunc(x.running, func() {
		defer close(over)
		if !errors.Is(context.Cause(x.ctx), errUserCancel) {
			c.taking.endAt(time.Now().Add(lastWrite))
		}
	})
	return func() {
		if !forget() {
			<-over
		}
		c.taking.endAt(time.Time{})
		unwatch()
	}
}

// lastWrite is the time that a client has, after its statement has ended, to read the data being written.
const lastWrite = time.Second

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
