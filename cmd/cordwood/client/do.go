package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// Request is one request.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Reads says that the request changes nothing, although its method is POST.
	Reads bool
	// Within, if not 0, bounds all tries together, except that the server's own limit holds for
	// the first one. Later tries send the server the time that is left, in the header
	// x-svc-timeout. It takes the place of Config.Attempts.
	Within time.Duration
	// Limit, if not 0, bounds the first try, too: the request has it in its header x-svc-timeout.
	Limit time.Duration
}

const (
	firstWait = 250 * time.Millisecond
	// maxWait bounds one wait, also if the server asks for more.
	maxWait = 30 * time.Second
	// answerGrace is how much longer than its limit an answer may take to come: the
	// server has to say that the time is over.
	answerGrace = 2 * time.Second
)

// maxConnects is how often a connection is tried, about 3 s in all: long enough for a server that
// is starting, and short for a wrong address.
const maxConnects = 5

// Do sends a request and returns its answer, of status 2xx; the caller closes the body.
//
// It sends the request again if the table rules allows that for its kind, and as long as
// Config.Attempts or Request.Within does: to the next server at once if one is not there,
// else after a wait. The server that answered is asked first from then on. MayBeDone says what the
// error means for the rows. An answer of another status than 2xx is an *Error.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	d := doing{c: c, r: r, kind: r.kind(), start: c.now(), pause: firstWait, server: int(c.current.Load())}
	for {
		resp, err := c.send(ctx, d.request(), d.server, d.patience())
		if err == nil {
			c.current.Store(int64(d.server))
			return resp, nil
		}
		wait, again := d.failed(err)
		if !again || ctx.Err() != nil {
			return nil, d.end(err)
		}
		if c.cfg.OnRetry != nil {
			c.cfg.OnRetry(err, wait)
		}
		if wait == 0 {
			continue
		}
		if c.cfg.Wait(ctx, wait) != nil {
			return nil, d.end(err)
		}
	}
}

// doing is a request on its way through the servers, round by round.
type doing struct {
	c      *Client
	r      Request
	kind   kind
	start  time.Time
	server int // to ask next

	round  int // that are over
	asked  int // servers in this round
	silent int // rounds in a row without any answer
	heard  bool
	tries  int
	pause  time.Duration
	// unknown is set once a try may have done what the request asks for.
	unknown bool
	// cause is the last failure that was not the end of the time.
	cause error
}

// request returns what is sent next.
func (d *doing) request() Request {
	r := d.r
	if d.tries++; d.tries > 1 && d.limit() > 0 {
		r.Header = r.Header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set("X-Svc-Timeout", max(d.left(), time.Millisecond).Round(time.Millisecond).String())
	}
	return r
}

// limit returns what bounds all tries together; 0: nothing does.
func (d *doing) limit() time.Duration { return cmp.Or(d.r.Limit, d.r.Within) }

func (d *doing) left() time.Duration { return d.limit() - d.c.now().Sub(d.start) }

// patience returns how long the next try waits for an answer; 0: without a bound.
func (d *doing) patience() time.Duration {
	if d.limit() == 0 || d.r.Limit == 0 && d.tries <= 1 {
		return 0
	}
	return max(d.left(), 0) + answerGrace
}

// failed notes that a try failed. It returns the pause before the next one, and whether there is to be one.
func (d *doing) failed(err error) (wait time.Duration, again bool) {
	how := failureOf(err)
	if d.kind == reading {
		how.stored = false // a read stores nothing, whatever the answer says
	}
	if !timeUp(err) {
		d.cause = err
	}
	rule := rules[how]
	d.unknown = d.unknown || rule.unknown
	d.heard = d.heard || how.status > 0
	d.asked++
	if misdirected(err) || !rule.allows(d.kind) || d.forgotten() {
		return 0, false
	}
	servers := len(d.c.servers)
	d.server = (d.server + 1) % servers
	if rule.elsewhere && d.asked < servers {
		return 0, !d.late(0)
	}
	wait = d.endRound(err)
	switch {
	case d.c.cfg.Forever:
		return wait, true
	case d.silent >= maxConnects && !d.unknown:
		return 0, false
	case d.r.Within > 0:
		return wait, !d.late(wait)
	}
	return wait, d.round < d.c.cfg.Attempts
}

// endRound notes that all servers that may be asked were asked, and returns the pause before the next round.
func (d *doing) endRound(err error) (wait time.Duration) {
	d.round++
	d.silent++
	if d.heard {
		d.silent = 0
	}
	d.asked, d.heard = 0, false
	wait = d.pause/2 + rand.N(d.pause/2)
	d.pause = min(2*d.pause, maxWait)
	if d.r.Within > 0 {
		d.pause = max(min(d.pause, d.r.Within/8), firstWait)
	}
	if e, ok := asError(err); ok {
		wait = max(wait, e.retryAfter)
	}
	return min(wait, maxWait)
}

// late reports whether a try after a wait would begin too late.
func (d *doing) late(wait time.Duration) bool {
	return d.r.Within > 0 && d.c.now().Add(wait).Sub(d.start) >= d.r.Within
}

// forgotten reports whether servers may have forgotten the key of a request that may have been
// done. With Config.Forever, it is sent again all the same.
func (d *doing) forgotten() bool {
	return d.kind == keyed && d.unknown && !d.c.cfg.Forever && d.c.now().Sub(d.start) > keyMemory
}

// end returns the error of a request that is given up.
func (d *doing) end(err error) error {
	if timeUp(err) && d.cause != nil {
		err = d.cause // which says what the time went by with
	}
	if d.tries > 1 && d.r.Within > 0 {
		err = fmt.Errorf("%w; given up after %d tries in %s", err, d.tries,
			d.c.now().Sub(d.start).Round(100*time.Millisecond))
	}
	if d.unknown && !rules[failureOf(err)].unknown {
		return &unknownError{err}
	}
	return err
}

// errPatience ends a try that waited too long for an answer.
var errPatience = fmt.Errorf("no answer came in time: %w", context.DeadlineExceeded)

// send sends a request to one server.
func (c *Client) send(ctx context.Context, r Request, server int, patience time.Duration) (*http.Response, error) {
	s := c.servers[server]
	target := s.base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var connected atomic.Bool
	ctx, cancel := context.WithCancelCause(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(r.Body))
	if err != nil {
		cancel(nil)
		return nil, fmt.Errorf("%s: %w", r.Path, err)
	}
	for k, v := range r.Header {
		req.Header[k] = v
	}
	if c.cfg.UserAgent != "" {
		req.Header.Set("User-Agent", c.cfg.UserAgent)
	}
	if s.user != "" {
		req.SetBasicAuth(s.user, s.password)
	}
	if patience > 0 {
		timer := time.AfterFunc(patience, func() { cancel(errPatience) })
		defer timer.Stop()
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errPatience) {
			err = cause
		}
		cancel(nil)
		if err = c.explain(s, err); !connected.Load() {
			err = &unsentError{err}
		}
		return nil, err
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusSwitchingProtocols {
		if body, ok := resp.Body.(io.ReadWriteCloser); ok {
			resp.Body = endingConn{body, cancel}
		} else {
			resp.Body = ending{resp.Body, cancel}
		}
		return resp, nil
	}
	defer cancel(nil)
	defer resp.Body.Close()
	return nil, readError(resp)
}

// ending is the body of an answer, whose context ends with it.
type ending struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (e ending) Close() error {
	defer e.cancel(nil)
	return e.ReadCloser.Close()
}

// endingConn is ending for a connection whose protocol was changed.
type endingConn struct {
	io.ReadWriteCloser
	cancel context.CancelCauseFunc
}

func (e endingConn) Close() error {
	defer e.cancel(nil)
	return e.ReadWriteCloser.Close()
}
