package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// stallGuard aborts requests that transfer no byte for a while, in either direction. Only the time spent waiting for
// the connection counts.
type stallGuard struct {
	next  http.RoundTripper
	after time.Duration
	// read is the same for requests of ranges and descriptions.
	read time.Duration
}

func (g stallGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	w := &watch{after: g.after, cancel: cancel}
	if r.Method == http.MethodHead || r.Header.Get("Range") != "" {
		w.after = g.read
	}
	w.timer = time.AfterFunc(w.after, w.expire)
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

// watch is a timer that every transferred byte resets.
type watch struct {
	after  time.Duration
	cancel context.CancelFunc

	mu      sync.Mutex // guards all fields below
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

// explain returns the cause of err if the guard aborted the request. The result must not be context.Canceled then,
// because no caller cancelled it.
func (w *watch) explain(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || !w.stalled {
		return err
	}
	return fmt.Errorf("no byte was transferred for %s", w.after)
}

// sent is the body of a request. Between two reads of it, the connection is busy.
type sent struct {
	io.ReadCloser
	w *watch
}

func (b sent) Read(p []byte) (int, error) {
	b.w.beat()
	return b.ReadCloser.Read(p)
}

// received is the body of an answer. During a read of it, the connection is busy.
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
