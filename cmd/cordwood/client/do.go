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

// Request is one HTTP request.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Header http.Header
	Body   []byte
	// Reads means that the request changes nothing, although its method is POST.
	Reads bool
	// Within, if not 0, limits all tries together, except that the server's own limit applies to
	// the first one. Later tries send the server the remaining time, in the header x-svc-timeout.
	// It replaces Config.Attempts.
	Within time.Duration
	// Limit, if not 0, limits the first try too: the request has it in its header x-svc-timeout.
	Limit time.Duration
}

const (
	firstWait = 250 * time.Millisecond
	// maxWait is the maximum wait before a retry, even if the server requests more.
	maxWait = 30 * time.Second
	// answerGrace is the additional time for an answer after its limit, so that the server can report the timeout.
	answerGrace = 2 * time.Second
)

// maxConnects is the number of tries to connect, about 3 s in total: long enough for a server that
// is starting, and short for a wrong address.
const maxConnects = 5

// Do sends a request and returns its answer, of status 2xx; the caller closes the body.
//
// It retries the request if the table rules allows this for the kind of request, up to the limits of Config.Attempts
// or Request.Within. If a server does not answer, it tries the next one at once; otherwise it waits first. The server
// that answered is tried first from then on. An answer with a status other than 2xx becomes an *Error. MayBeDone
// reports whether a request that failed may have been executed.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	d := trial{c: c, r: r, kind: r.kind(), start: c.now(), pause: firstWait, server: int(c.current.Load())}
	for {
		resp, err := c.send(ctx, d.request(), d.server, d.answerWait())
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

// trial is a request that is being tried on the servers, round by round.
type trial struct {
	c      *Client
	r      Request
	kind   kind
	start  time.Time
	server int // the next one to try

	round  int // finished rounds
	asked  int // servers tried in this round
	silent int // consecutive rounds without any answer
	heard  bool
	tries  int
	pause  time.Duration
	// unknown is set after a try that may have had an effect.
	unknown bool
	// cause is the last failure other than the timeout.
	cause error
}

// request returns the request of the next try.
func (d *trial) request() Request {
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

// limit returns the limit of all tries together; 0 means no limit.
func (d *trial) limit() time.Duration { return cmp.Or(d.r.Limit, d.r.Within) }

func (d *trial) left() time.Duration { return d.limit() - d.c.now().Sub(d.start) }

// answerWait returns the time that the next try waits for an answer; 0 means no limit.
func (d *trial) answerWait() time.Duration {
	if d.limit() == 0 || d.r.Limit == 0 && d.tries <= 1 {
		return 0
	}
	return max(d.left(), 0) + answerGrace
}

// failed records a failed try. It returns the pause before the next one, and whether there is one.
func (d *trial) failed(err error) (wait time.Duration, again bool) {
	how := failureOf(err)
	if d.kind == reading {
		how.stored = false // a read stores nothing
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

// endRound records that all servers were tried, and returns the pause before the next round.
func (d *trial) endRound(err error) (wait time.Duration) {
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

// late reports whether a try after a wait would start too late.
func (d *trial) late(wait time.Duration) bool {
	return d.r.Within > 0 && d.c.now().Add(wait).Sub(d.start) >= d.r.Within
}

// forgotten reports whether servers may have forgotten the key of a request that may have had an effect. With
// Config.Forever, it is retried nevertheless.
func (d *trial) forgotten() bool {
	return d.kind == keyed && d.unknown && !d.c.cfg.Forever && d.c.now().Sub(d.start) > keyMemory
}

// end returns the error of a request that is not tried again.
func (d *trial) end(err error) error {
	if timeUp(err) && d.cause != nil {
		err = d.cause // it is the reason for the timeout
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

// errNoAnswer is the error of a try that waited too long for an answer.
var errNoAnswer = fmt.Errorf("no answer arrived in time: %w", context.DeadlineExceeded)

// send sends a request to one server.
func (c *Client) send(ctx context.Context, r Request, server int, wait time.Duration) (*http.Response, error) {
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
	if wait > 0 {
		timer := time.AfterFunc(wait, func() { cancel(errNoAnswer) })
		defer timer.Stop()
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errNoAnswer) {
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
	e := readError(resp)
	e.Path, e.credentials = r.Path, s.user != ""
	return nil, e
}

// ending is the body of an answer. Closing it ends the context of the request.
type ending struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (e ending) Close() error {
	defer e.cancel(nil)
	return e.ReadCloser.Close()
}

// endingConn is ending for a connection that was upgraded to another protocol.
type endingConn struct {
	io.ReadWriteCloser
	cancel context.CancelCauseFunc
}

func (e endingConn) Close() error {
	defer e.cancel(nil)
	return e.ReadWriteCloser.Close()
}
