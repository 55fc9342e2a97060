package auth

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// waitFor waits until n checks wait.
func waitFor(t *testing.T, q *slowChecks, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		q.mu.Lock()
		now := len(q.waiting)
		q.mu.Unlock()
		if now == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d wait, not %d", now, n)
		}
	}
}

// network returns the i-th of several networks.
func network(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}) } //nolint:gosec // few

// TestSlowChecks checks that the checks of networks with fewer failures and fewer waiting checks come first, and
// otherwise those that came first.
func TestSlowChecks(t *testing.T) {
	q := newSlowChecks()
	q.free, q.wait = 1, time.Hour
	leave, err := q.enter(t.Context(), network(0), 0)
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 5)
	var wg sync.WaitGroup
	for i, c := range []struct {
		name     string
		network  int
		failures int
	}{
		{"guesser", 1, 7}, {"first", 2, 0}, {"second of the first", 2, 0}, {"other", 3, 0}, {"mistyped", 4, 1},
	} {
		wg.Go(func() {
			leave, err := q.enter(t.Context(), network(c.network), c.failures)
			if err != nil {
				t.Error(c.name, err)
				return
			}
			order <- c.name
			leave()
		})
		waitFor(t, q, i+1)
	}
	leave()
	wg.Wait()
	for _, want := range []string{"first", "other", "second of the first", "mistyped", "guesser"} {
		if got := <-order; got != want {
			t.Errorf("%s got a place, want %s", got, want)
		}
	}
	if q.free != 1 {
		t.Errorf("%d places are free", q.free)
	}
}

// TestSlowChecksAreBounded checks that, if many networks with failures have filled the queue, a further one of them is
// refused, and a client of another network takes the place of one.
func TestSlowChecksAreBounded(t *testing.T) {
	q := newSlowChecks()
	q.free, q.wait = 0, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 2*maxSlowWaiting)
	for i := range maxSlowWaiting {
		go func() { _, err := q.enter(ctx, network(i), 1); results <- err }()
		waitFor(t, q, i+1)
	}
	_, err := q.enter(ctx, network(maxSlowWaiting), 1)
	if errs.CodeOf(err) != errs.RateLimited || errs.From(err).RetryAfter == 0 {
		t.Error("one too many:", err)
	}
	go func() { _, err := q.enter(ctx, network(maxSlowWaiting+1), 0); results <- err }()
	if err := <-results; errs.CodeOf(err) != errs.RateLimited {
		t.Error("one that gives up its place:", err)
	}
	waitFor(t, q, maxSlowWaiting)
	if q.waiting[0].network != network(maxSlowWaiting+1) {
		t.Error("the client without failures is not the next")
	}
	cancel()
	for range maxSlowWaiting {
		if err := <-results; err == nil {
			t.Error("one came in")
		}
	}
	q.wait = time.Millisecond
	if _, err := q.enter(t.Context(), network(0), 0); errs.CodeOf(err) != errs.RateLimited {
		t.Error("waited too long:", err)
	}
	waitFor(t, q, 0)
	// A place that is offered to a check that has just given up goes to the next check.
	c, _ := q.queue(network(0), 0)
	q.leave()
	if err := q.giveUp(c, context.Canceled); err == nil || q.free != 1 {
		t.Errorf("%v, %d places are free", err, q.free)
	}
}

// TestSlowPasswordsWaitForTheirContext checks that a password check stops waiting when its client disconnects.
func TestSlowPasswordsWaitForTheirContext(t *testing.T) {
	p := inline(t, "ann="+hashBcrypt(t, "secret"))
	p.slow.free = 0
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.Check(ctx, "ann", "secret", home)
	if errs.From(err).Status() != 401 || errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("got %v", err)
	}
}

// TestFailuresOfNetworks checks that failures are counted for all addresses of a network, and for a minute.
func TestFailuresOfNetworks(t *testing.T) {
	p, c := timed(t, "ann=secret")
	for i, from := range []string{"192.0.2.7", "192.0.2.8", "::ffff:192.0.2.9", "2001:db8:0:1::1", "2001:db8:0:2::1"} {
		p.guesses.failed(fmt.Sprint(i), netip.MustParseAddr(from))
	}
	count := func() (out []int) {
		for _, from := range []string{"192.0.2.1", "192.0.3.7", "2001:db8:0:3::1", "2001:db8:1::1"} {
			out = append(out, p.guesses.failures(netip.MustParseAddr(from)))
		}
		return out
	}
	if got := count(); !slices.Equal(got, []int{3, 0, 2, 0}) {
		t.Errorf("failures of networks: %v", got)
	}
	c.move(guessWindow)
	if got := count(); !slices.Equal(got, []int{0, 0, 0, 0}) {
		t.Errorf("failures after a minute: %v", got)
	}
}
