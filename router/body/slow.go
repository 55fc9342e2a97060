package body

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"cordwood/proto/errs"
)

// A client may take its time to send a body, but not for ever: it holds a connection and
// its share of the memory for bodies. It has Config.Patience, and more with every byte that
// arrives.
const (
	defaultPatience = 30 * time.Second
	// paceBytes must arrive for another paceTime: 16 KiB/s.
	paceBytes = 256 << 10
	paceTime  = 16 * time.Second
)

// pacedBody is the body of a request, read under a deadline that moves as bytes arrive.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController
	// until is the deadline now. It never moves beyond last; zero: there is no such bound.
	until, last time.Time
	fresh       int // bytes since it moved
	// expired: a read did not end in time. The request's context is cancelled with it,
	// which would hide why.
	expired bool
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.expired = errors.Is(err, os.ErrDeadlineExceeded)
	for b.fresh += n; b.fresh >= paceBytes; b.fresh -= paceBytes {
		b.until = b.until.Add(paceTime)
		_ = b.control.SetReadDeadline(b.deadline()) // it worked at the start
	}
	return n, err
}

// Stop implements Stopper.
func (b *pacedBody) Stop() { _ = b.control.SetReadDeadline(time.Unix(1, 0)) }

func (b *pacedBody) deadline() time.Time {
	if !b.last.IsZero() && b.last.Before(b.until) {
		return b.last
	}
	return b.until
}

// errSlowPace returns the error of a body that came too slowly.
func errSlowPace() *errs.Error {
	return errs.New(errs.DeadlineExceeded,
		"the body arrived too slowly (allowed: 30 s plus 1 s per 16 KiB): send smaller batches").
		WithStatus(http.StatusRequestTimeout)
}

// Bound bounds how long the body of a request that arrived at start may take, whether a
// handler reads it or net/http does before it sends an answer.
func (r *Reader) Bound(w http.ResponseWriter, req *http.Request, start time.Time) {
	if req.Body != nil && req.Body != http.NoBody {
		// Not every connection has deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(start.Add(r.cfg.Patience))
	}
}

// Receive is Open within a time: until last, the deadline of the request (zero: it has none),
// even if the client stops sending, and at the pace that Bound begins with.
//
// A body that is too slow is answered by 408 and code DeadlineExceeded.
func (r *Reader) Receive(w http.ResponseWriter, req *http.Request, start, last time.Time) (*Body, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return r.Open(req)
	}
	control := http.NewResponseController(w)
	paced := &pacedBody{ReadCloser: req.Body, control: control, until: start.Add(r.cfg.Patience), last: last}
	limited := control.SetReadDeadline(paced.deadline()) == nil
	if limited {
		req.Body = paced
	}
	b, err := r.Open(req)
	switch {
	case err != nil && !last.IsZero() && !time.Now().Before(last):
		err = errs.Wrap(errs.DeadlineExceeded, context.DeadlineExceeded, "read the body")
	case err != nil && paced.expired && errs.CodeOf(err) != errs.RateLimited:
		err = errSlowPace()
	case err == nil && limited:
		_ = control.SetReadDeadline(time.Time{}) // it worked a moment ago
	}
	// After an error the deadline stays: net/http reads what is left of a body before it
	// sends the answer, and would wait for it without end.
	return b, err
}
