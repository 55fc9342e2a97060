package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// stallGuard breaks off requests whose bytes stand still, in either direction. Time in
// which no answer is awaited does not count.
type stallGuard struct {
	next  http.RoundTripper
	after time.Duration
}

// RoundTrip sends a request.
func (g stallGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	w := &watch{after: g.after, cancel: cancel}
	w.timer = time.AfterFunc(g.after, w.expire)
	r = r.Clone(ctx)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = sent{r.Body, w}
	}
	resp, err := g.next.RoundTrip(r)
	w.pause()
	if err != nil {
		cancel()
		return nil, w.explain(err)
	}
	resp.Body = received{resp.Body, w}
	return resp, nil
}

// watch is a timer that every byte sets anew.
type watch struct {
	after  time.Duration
	cancel context.CancelFunc

	mu      sync.Mutex // guards all below
	timer   *time.Timer
	stalled bool
}

func (w *watch) expire() {
	w.mu.Lock()
	w.stalled = true
	w.mu.Unlock()
	w.cancel()
}

func (w *watch) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Reset(w.after)
}

func (w *watch) pause() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
}

// explain is err, or what brought it about. It is not context.Canceled then, because no caller
// cancelled it.
func (w *watch) explain(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || !w.stalled {
		return err
	}
	return fmt.Errorf("no byte came or went for %s", w.after)
}

// sent is the body of a request: the time between two reads of it is the connection's.
type sent struct {
	io.ReadCloser
	w *watch
}

func (b sent) Read(p []byte) (int, error) {
	b.w.beat()
	return b.ReadCloser.Read(p)
}

// received is the body of an answer: the time within a read of it is the connection's.
type received struct {
	io.ReadCloser
	w *watch
}

func (b received) Read(p []byte) (int, error) {
	b.w.beat()
	n, err := b.ReadCloser.Read(p)
	b.w.pause()
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.w.explain(err)
	}
	return n, err
}

func (b received) Close() error {
	defer b.w.cancel()
	return b.ReadCloser.Close()
}
