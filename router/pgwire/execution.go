package pgwire

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/query"
)

// execution is a statement that package query runs. Its goroutine waits with the rows until they are taken.
type execution struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	results chan query.Result
	// finish is closed when the rows are no longer needed, done when the statement has ended with err.
	finish, done chan struct{}
	err          error
	// running is the context of the rows, which ends with the time of the statement.
	running context.Context

	mu       sync.Mutex // guards what follows
	using    bool       // the connection's goroutine reads rows
	finished bool       // finish is closed
	// timer ends a statement whose time does not count while its client does not fetch; nil: its time counts. left is
	// what is left of it since the moment from.
	timer *time.Timer
	left  time.Duration
	from  time.Time
}

// execute begins a request of one statement. close ends it.
func (c *conn) execute(req query.Request) *execution {
	x := &execution{
		results: make(chan query.Result), finish: make(chan struct{}), done: make(chan struct{}), using: true,
	}
	x.ctx, x.cancel = context.WithCancelCause(context.Background())
	x.running = x.ctx
	c.setCurrent(x)
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
			// Even if it is canceled: the rows are valid until this returns.
			<-x.finish
			return nil
		})
	}()
	return x
}

// recoverTo turns a panic into an error of the statement: other connections go on.
func (c *conn) recoverTo(err *error) {
	if p := recover(); p != nil {
		c.srv.cfg.Logger.Error("panic in a statement of a PostgreSQL client", "remote", c.address, "panic",
			fmt.Sprint(p), "stack", string(debug.Stack()))
		*err = errs.New(errs.Internal, "panic in a statement: %v", p)
	}
}

// abandon ends what runs, for a connection whose goroutine cannot go on.
func (c *conn) abandon() {
	if x := c.executing; x != nil {
		x.stop(errGone)
	}
}

// setCurrent has x be what a request to cancel ends; nil: nothing.
func (c *conn) setCurrent(x *execution) {
	c.executing = x
	if x == nil {
		c.setCancel(nil)
		return
	}
	c.setCancel(x.cancel)
}

// setCancel sets what ends what runs.
func (c *conn) setCancel(cancel context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = cancel
	if cancel != nil && c.ending != nil && c.ending.State == "28000" {
		cancel(c.ending)
	}
}

// result waits for the result of the statement. ok is false if the statement had none, and then its error counts.
func (c *conn) result(x *execution) (res query.Result, ok bool) {
	defer c.watch(x.cancel)()
	select {
	case res = <-x.results:
		return res, true
	case <-x.done:
		return res, false
	}
}

// watch calls cancel when the client goes. What it returns ends the watching.
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

// reading watches the client while rows are read and sent, and cuts it off if it takes none when the time of the
// statement is over. What it returns ends that.
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

// lastWrite is how long the client of a statement that has ended has to take what is being written.
const lastWrite = time.Second

// end ends the statement, and returns its error with the cause for which its context ended, if it has.
func (x *execution) end() (err, cause error) {
	cause = context.Cause(x.ctx)
	x.release()
	<-x.done
	x.cancel(nil)
	return x.err, cause
}

// stop ends the statement without a look at the rest of its rows.
func (x *execution) stop(cause error) {
	x.cancel(cause)
	x.release()
	<-x.done
}

// release says that the rows are no longer needed.
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

// pause says that no rows are read until resume.
func (x *execution) pause() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.using = false
	if x.timer != nil && x.timer.Stop() {
		x.left -= time.Since(x.from)
	}
}

// resume reports whether the rows may be read again; they may not after evict.
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

// evict ends the statement if nobody reads its rows just now.
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
