package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/body"
)

// A client may take its time to send a body, but not for ever: it holds a connection and
// its share of the memory for bodies. It has bodyPatience, and more with every byte that
// comes.
const (
	bodyPatience = 30 * time.Second
	// bodyStep is how much must come for another bodyStepTime: 16 KiB/s.
	bodyStep     = 256 << 10
	bodyStepTime = 16 * time.Second
)

// slowBody is the body of a request, read under a deadline that moves as bytes come.
type slowBody struct {
	io.ReadCloser
	control *http.ResponseController
	// until is the deadline now; last is where it never moves beyond, zero: nowhere.
	until, last time.Time
	fresh       int // bytes since it moved
	// expired: a read did not end in time. The request's context is cancelled with it,
	// which would hide why.
	expired bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.expired = errors.Is(err, os.ErrDeadlineExceeded)
	for b.fresh += n; b.fresh >= bodyStep; b.fresh -= bodyStep {
		b.until = b.until.Add(bodyStepTime)
		_ = b.control.SetReadDeadline(b.deadline()) // worked at the start
	}
	return n, err
}

// Stop is body.Stopper's.
func (b *slowBody) Stop() { _ = b.control.SetReadDeadline(time.Unix(1, 0)) }

func (b *slowBody) deadline() time.Time {
	if !b.last.IsZero() && b.last.Before(b.until) {
		return b.last
	}
	return b.until
}

// boundBody bounds how long the body of a request may take, whether a handler reads it
// or the server before it sends an answer.
func (s *Server) boundBody(x *exchange, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		// Not every connection has deadlines.
		_ = http.NewResponseController(x.ResponseWriter).SetReadDeadline(x.start.Add(s.patience))
	}
}

// readBody reads and decompresses the body, within the request's time limit even if the
// client stops sending, and in reasonable time if it has none.
func (s *Server) readBody(x *exchange, r *http.Request) (b *body.Body, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return s.cfg.Bodies.Open(r)
	}
	control := http.NewResponseController(x.ResponseWriter)
	slow := &slowBody{ReadCloser: r.Body, control: control, until: x.start.Add(s.patience), last: x.deadline}
	limited := control.SetReadDeadline(slow.deadline()) == nil
	if limited {
		r.Body = slow
	}
	b, err = s.cfg.Bodies.Open(r)
	switch {
	case err != nil && x.timedOut():
		err = errs.Wrap(errs.DeadlineExceeded, context.DeadlineExceeded, "read the body")
	case err != nil && slow.expired && errs.CodeOf(err) != errs.RateLimited:
		err = errs.New(errs.DeadlineExceeded, "the body did not come in reasonable time, 30 s and 1 s for every 16 KiB: send smaller batches").
			WithStatus(http.StatusRequestTimeout)
	case err == nil && limited:
		_ = control.SetReadDeadline(time.Time{}) // worked a moment ago
	}
	// After an error the deadline stays: the server reads what is left of a body before it
	// sends the answer, and would wait for it without end.
	return b, err
}
