package body

import (
	"context"
	"errors"
	"net/http"
	"time"

	"cordwood/proto/errs"
)

// Body is a body that was read, and its share of the budget.
type Body struct {
	// Data is the body, decompressed. At least Pad bytes of capacity follow it, and the first
	// Pad of them are zero.
	Data []byte

	reader   *Reader
	buf      *buffer
	res      reservation
	released bool
}

// Reserve sets the memory for the rows of the body to n bytes, besides the memory for the body itself. It waits for
// memory in the same way as Read. Errors are *errs.Error: status 413 if body and rows are larger than the whole
// budget, 429 (RateLimited) if there is not enough memory, and Cancelled or DeadlineExceeded if the context ended.
func (b *Body) Reserve(ctx context.Context, n int64) error {
	err := b.res.hold(ctx, int64(len(b.Data))+n, true)
	limit := b.reader.cfg.MaxInFlight
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNeverFits):
		b.reader.refused.WithLabelValues("rows").Inc()
		return errs.New(errs.InvalidArguments,
			"the body of %d bytes becomes rows of %d bytes so far, and both together may take %d: "+
				"send smaller batches or raise --http-inflight-limit",
			len(b.Data), n, limit).WithStatus(http.StatusRequestEntityTooLarge)
	case errors.Is(err, errBudget):
		b.reader.refused.WithLabelValues("rows").Inc()
		return errs.New(errs.RateLimited, "no memory for the rows of the request: "+
			"too much of the %d bytes for bodies and rows is in use: try again later",
			limit).WithRetryAfter(time.Second)
	}
	return b.reader.explain(ctx, err)
}

// TryReserve is like Reserve, but does not wait. If there is not enough memory, it changes nothing and returns false.
func (b *Body) TryReserve(n int64) bool {
	return b.res.hold(context.Background(), int64(len(b.Data))+n, false) == nil
}

// Release returns the memory. The data must not be used afterwards. Further calls do nothing.
func (b *Body) Release() {
	if b.released {
		return
	}
	b.released = true
	if b.buf != nil {
		b.buf.release()
	}
	b.res.release()
}

// Hold returns a Body for data that did not arrive over HTTP, with its share of the budget. It waits for memory like
// Read, with the same errors. If a scanner reads the data in place, at least Pad zero bytes must follow it in its
// capacity.
func (r *Reader) Hold(ctx context.Context, data []byte) (*Body, error) {
	n := int64(len(data))
	if r.cfg.MaxBytes > 0 && n > r.cfg.MaxBytes {
		return nil, r.tooLarge()
	}
	b := r.newBody(ctx)
	res := &b.res
	err := res.begin(ctx, n)
	if err == nil {
		res.filled.Store(n) // all bytes have arrived already
		err = res.advance(ctx, n)
	}
	if err != nil {
		res.release()
		return nil, r.explain(ctx, err)
	}
	res.end(n)
	b.Data = data
	return b, nil
}
