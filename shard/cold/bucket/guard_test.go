package bucket

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fake is a bucket whose answers a function gives. n is the number of the request.
type fake struct {
	n      atomic.Int32
	answer func(n int, op string) error
	took   func(n int) time.Duration
	busy   atomic.Int32
	most   atomic.Int32
}

func (f *fake) do(ctx context.Context, op string) error {
	n := int(f.n.Add(1))
	busy := f.busy.Add(1)
	defer f.busy.Add(-1)
	for most := f.most.Load(); busy > most && !f.most.CompareAndSwap(most, busy); most = f.most.Load() {
	}
	if f.took != nil && !sleep(ctx, f.took(n)) {
		return ctx.Err()
	}
	if f.answer == nil {
		return nil
	}
	return f.answer(n, op)
}

func (f *fake) Put(ctx context.Context, _ string, _ Content) error { return f.do(ctx, "put") }
func (f *fake) Delete(ctx context.Context, _ string) error         { return f.do(ctx, "delete") }

func (f *fake) Head(ctx context.Context, _ string) (Info, error) { return Info{}, f.do(ctx, "head") }

func (f *fake) Range(ctx context.Context, _ string, r Range) ([]byte, error) {
	return make([]byte, r.Length), f.do(ctx, "range")
}

func (f *fake) Open(ctx context.Context, _ string, _ int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("")), f.do(ctx, "open")
}

func (f *fake) List(ctx context.Context, _ string, each func(Info) error) error {
	return errors.Join(each(Info{Key: "k"}), f.do(ctx, "list"))
}

func (f *fake) Copy(ctx context.Context, _ string, _ Bucket, _ string) error {
	return f.do(ctx, "copy")
}

func (f *fake) Location() string { return "s3://bucket/p" }

func failed(k Kind) error {
	return &Error{Kind: k, Op: "read", At: "s3://bucket/p/o", Err: errors.New("i/o timeout")}
}

// failing is the answers of a service whose first n requests fail.
func failing(k Kind, n int) func(int, string) error {
	return func(i int, _ string) error {
		if i <= n {
			return failed(k)
		}
		return nil
	}
}

var one = Range{Length: 1}

func TestTries(t *testing.T) {
	for name, tt := range map[string]struct {
		kind     Kind
		failures int
		write    bool
		tries    int
		ok       bool
		min, max time.Duration
	}{
		"a timeout":                {Unavailable, 1, false, 2, true, 50 * time.Millisecond, 150 * time.Millisecond},
		"timeouts":                 {Unavailable, 9, false, 4, false, 350 * time.Millisecond, 1050 * time.Millisecond},
		"throttled":                {Throttled, 3, false, 4, true, 350 * time.Millisecond, 1050 * time.Millisecond},
		"damaged":                  {Damaged, 2, false, 3, true, 150 * time.Millisecond, 450 * time.Millisecond},
		"damaged for good":         {Damaged, 9, false, 3, false, 150 * time.Millisecond, 450 * time.Millisecond},
		"forbidden":                {Forbidden, 9, false, 1, false, 0, 0},
		"not there":                {NotFound, 9, false, 1, false, 0, 0},
		"refused":                  {Refused, 9, false, 1, false, 0, 0},
		"a write, throttled":       {Throttled, 12, true, 13, true, 8 * time.Minute, 70 * time.Minute},
		"a write without a bucket": {NoBucket, 9, true, 1, false, 0, 0},
		"a write, forbidden":       {Forbidden, 5, true, 6, true, 5 * time.Minute, 5 * time.Minute},
		"a write, damaged":         {Damaged, 9, true, 3, false, 1500 * time.Millisecond, 4500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answer: failing(tt.kind, tt.failures)}
				g := NewGuard(f, GuardConfig{})
				began := time.Now()
				var err error
				if tt.write {
					err = g.Delete(t.Context(), "o")
				} else {
					_, err = g.Range(t.Context(), "o", one)
				}
				took := time.Since(began)
				if (err == nil) != tt.ok || int(f.n.Load()) != tt.tries || took < tt.min || took > tt.max {
					t.Errorf("%d tries in %s, %v; want %d in %s to %s", f.n.Load(), took, err, tt.tries, tt.min, tt.max)
				}
				if err != nil {
					wantKind(t, name, err, tt.kind)
				}
			})
		})
	}
}

// TestCircuit makes a service fail for a while. Requests fail at once, except one each second.
func TestCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		f := &fake{answer: func(int, string) error {
			if down.Load() {
				return failed(Unavailable)
			}
			return nil
		}, took: func(int) time.Duration { return 10 * time.Millisecond }}
		g := NewGuard(f, GuardConfig{})
		for range 2 {
			if _, err := g.Range(t.Context(), "o", one); err == nil {
				t.Fatal("no error")
			}
		}
		if s := g.State(); !s.Open || s.Last == nil || s.Since.IsZero() || f.n.Load() != failuresInARow {
			t.Fatalf("%+v after %d requests, want an open circuit", s, f.n.Load())
		}
		time.Sleep(249 * time.Second)
		// 100 requests within a second: one is sent.
		before := f.n.Load()
		var last error
		for range 100 {
			began := time.Now()
			if _, last = g.Range(t.Context(), "o", one); time.Since(began) > 200*time.Millisecond {
				t.Errorf("a request took %s", time.Since(began))
			}
			time.Sleep(5 * time.Millisecond)
		}
		if n := f.n.Load() - before; n != 1 {
			t.Errorf("%d requests were sent, want 1", n)
		}
		wantKind(t, "while it is open", last, Unavailable)
		want := "read s3://bucket/p/o: object storage does not answer (i/o timeout, for 4m1"
		if last == nil || !strings.HasPrefix(last.Error(), want) {
			t.Errorf("the error is %v, want %s…", last, want)
		}
		// A write waits until the service answers.
		wrote := make(chan error)
		go func() { wrote <- g.Delete(t.Context(), "o") }()
		time.Sleep(time.Minute)
		select {
		case err := <-wrote:
			t.Fatalf("a write ended: %v", err)
		default:
		}
		down.Store(false)
		if err := <-wrote; err != nil {
			t.Error(err)
		}
		if s := g.State(); s.Open || s.Last != nil {
			t.Errorf("%+v, want a closed circuit", s)
		}
		if _, err := g.Range(t.Context(), "o", one); err != nil {
			t.Error(err)
		}
	})
}

// TestCircuitProbeOfCancelled makes a service fail, and then answer. A query of several objects gives up as soon as one
// of its reads is refused, and cancels the others: among them the probe, whose answer must count nevertheless.
func TestCircuitProbeOfCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		f := &fake{answer: func(int, string) error {
			if down.Load() {
				return failed(Unavailable)
			}
			return nil
		}, took: func(int) time.Duration { return 10 * time.Millisecond }}
		g := NewGuard(f, GuardConfig{})
		for range 2 {
			_, _ = g.Range(t.Context(), "o", one) // fails
		}
		down.Store(false)
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		probe := make(chan error)
		go func() {
			_, err := g.Range(ctx, "o", one)
			probe <- err
		}()
		synctest.Wait() // the probe is under way
		cancel()
		if err := <-probe; !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled read: %v", err)
		}
		time.Sleep(time.Second)
		if s := g.State(); s.Open {
			t.Errorf("%+v after an answer, want a closed circuit", s)
		}
	})
}

// TestCircuitWaitsForProbe reads several objects after an outage: the reads wait for the answer to the first one.
func TestCircuitWaitsForProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: failing(Unavailable, failuresInARow), took: func(int) time.Duration { return time.Millisecond }}
		g := NewGuard(f, GuardConfig{})
		for range 2 {
			_, _ = g.Range(t.Context(), "o", one) // fails
		}
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		for range 7 {
			wg.Go(func() {
				if _, err := g.Range(t.Context(), "o", one); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// TestCircuitHanging reads of a service that takes each request and does not answer. The read has to fail well before
// the time limit of a query, which is 30 seconds.
func TestCircuitHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: failing(Unavailable, 100), took: func(int) time.Duration { return 8 * time.Second }}
		g := NewGuard(f, GuardConfig{})
		began := time.Now()
		_, err := g.Range(t.Context(), "o", one)
		wantKind(t, "of a service that hangs", err, Unavailable)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it failed after %s", took)
		}
	})
}

// TestCircuitHalf opens the circuit by half of the requests, none of which fail five times in a row.
func TestCircuitHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ string) error {
			if n%2 == 0 {
				return failed(Unavailable)
			}
			return nil
		}}
		g := NewGuard(f, GuardConfig{Read: Policy{Tries: 1}})
		for range 19 {
			_, _ = g.Head(t.Context(), "o") // half of them fail
		}
		if g.State().Open {
			t.Error("it is open after 9 failures of 19")
		}
		_, _ = g.Head(t.Context(), "o")
		if !g.State().Open {
			t.Error("it is closed after 10 failures of 20")
		}
	})
}

// TestCircuitAnswers checks that answers which refuse do not open the circuit, and that the last one is known.
func TestCircuitAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kind := Forbidden
		f := &fake{answer: func(int, string) error { return failed(kind) }}
		g := NewGuard(f, GuardConfig{Read: Policy{Tries: 1}})
		for range 30 {
			_, _ = g.Head(t.Context(), "o") // fails
		}
		if s := g.State(); s.Open || s.Forbidden == nil {
			t.Errorf("%+v, want forbidden", s)
		}
		kind = NotFound
		_, _ = g.Head(t.Context(), "o") // fails
		if s := g.State(); s.Forbidden != nil {
			t.Errorf("%+v, want nothing", s)
		}
		kind = Throttled
		for range 30 {
			_, _ = g.Head(t.Context(), "o") // fails
		}
		if s := g.State(); s.Open {
			t.Errorf("%+v, want a closed circuit", s)
		}
	})
}

// TestCircuitDeadline checks that the deadlines of callers open the circuit only if they are long.
func TestCircuitDeadline(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		open  bool
	}{{100 * time.Millisecond, false}, {2 * time.Second, true}} {
		synctest.Test(t, func(t *testing.T) {
			g := NewGuard(&fake{took: func(int) time.Duration { return time.Hour }}, GuardConfig{})
			for range failuresInARow {
				ctx, cancel := context.WithTimeout(t.Context(), tt.after)
				if _, err := g.Head(ctx, "o"); !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				cancel()
			}
			if g.State().Open != tt.open {
				t.Errorf("deadlines of %s: %+v", tt.after, g.State())
			}
		})
	}
}

// TestConcurrency checks the limit of requests: it halves once for all requests that were refused together, grows
// slowly, and readers go first.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var throttle atomic.Bool
		f := &fake{took: func(int) time.Duration { return time.Second }, answer: func(int, string) error {
			if throttle.Load() {
				return failed(Throttled)
			}
			return nil
		}}
		g := NewGuard(f, GuardConfig{Concurrency: 8, Read: Policy{Tries: 1}, Write: Policy{Tries: 1}})
		all := func(n int) {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() { _, _ = g.Head(t.Context(), "o") }) // some are refused
			}
			wg.Wait()
		}
		all(30)
		if f.most.Load() != 8 {
			t.Errorf("%d requests at once, want 8", f.most.Load())
		}
		throttle.Store(true)
		all(8)
		if n := g.State().Concurrency; n != 4 {
			t.Errorf("after SlowDown: %d, want 4", n)
		}
		all(12)
		if n := g.State().Concurrency; n != 1 {
			t.Errorf("after more of them: %d, want 1", n)
		}
		throttle.Store(false)
		all(100)
		if n := g.State().Concurrency; n != 2 {
			t.Errorf("after 100 good ones: %d, want 2", n)
		}
		for range 20 {
			all(100)
		}
		if n := g.State().Concurrency; n != 8 {
			t.Errorf("after 2,100 good ones: %d, want 8", n)
		}
	})
}

func TestReadersFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		f := &fake{took: func(int) time.Duration { return time.Second }, answer: func(_ int, op string) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, op)
			return nil
		}}
		g := NewGuard(f, GuardConfig{Concurrency: 1})
		var wg sync.WaitGroup
		start := func(f func()) {
			wg.Go(f)
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		start(func() { _ = g.Delete(t.Context(), "o") }) // succeeds
		start(func() { _ = g.Delete(t.Context(), "o") })
		start(func() {
			if _, err := g.Head(ctx, "o"); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled request: %v", err)
			}
		})
		start(func() { _, _ = g.Head(t.Context(), "o") })
		cancel()
		wg.Wait()
		// One reader may run beside the first writer, so these two end at the same time, in either order.
		if got := strings.Join(order, " "); got != "delete head delete" && got != "head delete delete" {
			t.Errorf("order: %s", got)
		}
	})
}

// TestSlowRange checks that a second request is sent beside a slow one, and that its answer counts.
func TestSlowRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{took: func(n int) time.Duration {
			if n == 101 {
				return time.Hour
			}
			return 10 * time.Millisecond
		}}
		g := NewGuard(f, GuardConfig{})
		for range 100 {
			if _, err := g.Range(t.Context(), "o", one); err != nil {
				t.Fatal(err)
			}
		}
		if f.n.Load() != 100 {
			t.Fatalf("%d requests for 100 fast ranges", f.n.Load())
		}
		began := time.Now()
		if _, err := g.Range(t.Context(), "o", one); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 30*time.Millisecond || f.n.Load() != 102 {
			t.Errorf("a slow range took %s and %d requests, want 30ms and 2", took, f.n.Load()-100)
		}
		if f.busy.Load() != 0 {
			t.Error("the slow request goes on")
		}
	})
}

// TestListAgain checks that a repeated listing reports each object once.
func TestListAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuard(&fake{answer: failing(Unavailable, 2)}, GuardConfig{})
		if got := list(t, g, ""); got != "k=0" {
			t.Errorf("%s", got)
		}
	})
}
