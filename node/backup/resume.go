package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"cordwood/node/backup/store"
)

// resumer reads a stream. If the stream breaks, it opens it again at the same position.
type resumer struct {
	ctx    context.Context
	what   string
	open   func(offset int64) (io.ReadCloser, error)
	body   io.ReadCloser
	offset int64
	fails  int // consecutive failures without a byte in between
}

// maxFails is the maximum number of consecutive failures without a received byte.
const maxFails = 6

func newResumer(ctx context.Context, what string, open func(offset int64) (io.ReadCloser, error)) *resumer {
	return &resumer{ctx: ctx, what: what, open: open}
}

// final marks an error after which a retry cannot succeed.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

func (r *resumer) Read(p []byte) (int, error) {
	for {
		n, err := r.read(p)
		if n > 0 {
			r.offset += int64(n)
			r.fails = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) || errors.Is(err, store.ErrNotFound) || errors.As(err, new(final)) || r.ctx.Err() != nil {
			return 0, err
		}
		r.close()
		if r.fails++; r.fails >= maxFails {
			return 0, fmt.Errorf("read %s at %d: %w", r.what, r.offset, err)
		}
		pause := 50 * time.Millisecond << r.fails
		t := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-t.C:
		case <-r.ctx.Done():
			t.Stop()
			return 0, err
		}
	}
}

func (r *resumer) read(p []byte) (int, error) {
	if r.body == nil {
		body, err := r.open(r.offset)
		if err != nil {
			return 0, final{err} // stores retry often enough by themselves
		}
		r.body = body
	}
	n, err := r.body.Read(p)
	if n > 0 {
		err = nil // the next read returns the error again
	}
	return n, err
}

func (r *resumer) close() {
	if r.body != nil {
		r.body.Close()
		r.body = nil
	}
}

// Limiter limits the rate of bytes. A nil Limiter does not limit.
type Limiter struct {
	rate int64
	mu   sync.Mutex // guards due
	due  time.Time  // when the bytes so far comply with the rate
}

// NewLimiter returns a Limiter of bytesPerSecond. If that is 0, it returns nil.
func NewLimiter(bytesPerSecond int64) *Limiter {
	if bytesPerSecond <= 0 {
		return nil
	}
	return &Limiter{rate: bytesPerSecond}
}

// wait waits until n bytes may pass.
func (l *Limiter) wait(ctx context.Context, n int) error {
	if l == nil || n == 0 {
		return ctx.Err()
	}
	l.mu.Lock()
	now := time.Now()
	if l.due.Before(now) {
		l.due = now
	}
	pause := l.due.Sub(now)
	l.due = l.due.Add(time.Duration(float64(n) / float64(l.rate) * float64(time.Second)))
	l.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reader returns r limited to the limiter's rate. passed is called with the number of bytes of each read.
func (l *Limiter) reader(ctx context.Context, r io.Reader, passed func(n int)) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if l != nil { // limit a read to the bytes of a quarter of a second, so that several readers share the rate
			p = p[:min(int64(len(p)), max(l.rate/4, 1))]
		}
		n, err := r.Read(p)
		passed(n)
		if werr := l.wait(ctx, n); werr != nil && err == nil {
			err = werr
		}
		return n, err
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func newByteReader(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(r, 64<<10) }
