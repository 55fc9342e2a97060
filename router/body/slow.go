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

// A client may send a body slowly, but its time is limited, because the body holds a connection and a share of the
// memory. It has Config.Patience at first, and more time for every byte that arrives.
const (
	defaultPatience = 30 * time.Second
	// For every paceBytes that arrive, the deadline moves by paceTime: 16 KiB/s.
	paceBytes = 256 << 10
	paceTime  = 16 * time.Second
)

// pacedBody is the body of a request. Its read deadline moves as bytes arrive.
type pacedBody struct {
	io.ReadCloser
	control http.ResponseController
	// until is the current deadline. It never moves beyond last, unless last is zero.
	until, last time.Time
	fresh       int // bytes since the deadline moved
	// expired reports whether a read exceeded its deadline. net/http then cancels the request's context, which would
	// hide the reason.
	expired bool
}

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.expired = errors.Is(err, os.ErrDeadlineExceeded)
	for b.fresh += n; b.fresh >= paceBytes; b.fresh -= paceBytes {
		b.until = b.until.Add(paceTime)
		_ = b.control.SetReadDeadline(b.deadline()) // setting a deadline has worked before
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

// errSlowPace returns the error for a body that arrived too slowly.
func errSlowPace() *errs.Error {
	return errs.New(errs.DeadlineExceeded,
		"the body arrived too slowly (allowed: 30 s plus 1 s per 16 KiB): send smaller batches").
		WithStatus(http.StatusRequestTimeout)
}

// Bound limits how long the body of a request that arrived at start may take, whether a handler reads it or net/http
// discards it before the answer.
func (r *Reader) Bound(w http.ResponseWriter, req *http.Request, start time.Time) {
	if req.Body != nil && req.Body != http.NoBody {
		// Some connections have no deadlines.
		_ = http.NewResponseController(w).SetReadDeadline(start.Add(r.cfg.Patience))
	}
}

// Receive is like Open, but also ends if the client stops sending. The body must keep the pace of Bound, and be
// complete by last, the deadline of the request. If last is zero, the request has no deadline.
//
// A body that is too slow gets status 408 and code DeadlineExceeded.
func (r *Reader) Receive(w http.ResponseWriter, req *http.Request, start, last time.Time) (*Body, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return r.Open(req)
	}
	paced := &pacedBody{
		ReadCloser: req.Body, control: *http.NewResponseController(w), until: start.Add(r.cfg.Patience), last: last,
	}
	limited := paced.control.SetReadDeadline(paced.deadline()) == nil
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
		_ = paced.control.SetReadDeadline(time.Time{}) // setting a deadline has worked before
	}
	// After an error the deadline stays, because net/http reads the rest of a body before it sends the answer, and
	// would otherwise wait forever.
	return b, err
}
