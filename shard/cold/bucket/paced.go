package bucket

import (
	"context"
	"io"
)

// Pace limits a rate. Wait waits until n more bytes may be sent. It may be used concurrently.
type Pace interface {
	Wait(ctx context.Context, n int) error
}

// Paced returns a bucket that takes the bytes of new objects at a pace; nil means that there is no limit. All its calls
// share the pace. Other requests are not slowed.
func Paced(b Bucket, pace Pace) Bucket {
	if pace == nil {
		return b
	}
	return &paced{b, pace}
}

type paced struct {
	Bucket
	pace Pace
}

// Put implements Bucket.
func (p *paced) Put(ctx context.Context, key string, c Content) error {
	c.Body = pacedBody{ctx, c.Body, p.pace}
	return p.Bucket.Put(ctx, key, c)
}

// pacedBody is the content of an object that is read at a pace.
type pacedBody struct {
	ctx  context.Context
	r    io.ReaderAt
	pace Pace
}

// paceBytes is the most that is read at once, so that bytes flow all the time.
const paceBytes = 64 << 10

// ReadAt implements io.ReaderAt.
func (b pacedBody) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		part := p[n:min(n+paceBytes, len(p))]
		if err := b.pace.Wait(b.ctx, len(part)); err != nil {
			return n, err
		}
		var more int
		more, err = b.r.ReadAt(part, off+int64(n))
		n += more
	}
	if n == len(p) {
		err = nil
	}
	return n, err
}
