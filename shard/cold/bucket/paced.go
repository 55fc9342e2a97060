package bucket

import (
	"context"
	"io"
	"sync"
	"time"
)

// Paced returns a bucket that takes at most a number of bytes of new objects a second. All its calls share them. Other
// requests are not slowed.
func Paced(b Bucket, rate int64) Bucket {
	if rate <= 0 {
		return b
	}
	return &paced{b, &pace{rate: rate}}
}

type paced struct {
	Bucket
	pace *pace
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
	pace *pace
}

// paceBytes is the most that is read at once, so that bytes flow all the time.
const paceBytes = 64 << 10

// ReadAt implements io.ReaderAt.
func (b pacedBody) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		part := p[n:min(n+paceBytes, len(p))]
		if err := b.pace.wait(b.ctx, len(part)); err != nil {
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

// pace limits bytes per second.
type pace struct {
	rate int64
	mu   sync.Mutex // guards next
	next time.Time  // when the next bytes may be read
}

// wait waits until bytes may be read.
func (p *pace) wait(ctx context.Context, bytes int) error {
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second)))
	p.mu.Unlock()
	if !at.After(now) {
		return ctx.Err()
	}
	timer := time.NewTimer(at.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
