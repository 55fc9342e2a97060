package ingest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// However many requests there are, only one refresh runs at a time, and at most one starts every freshEvery. No request
// uses a refresh that started before the request.
func TestRefreshesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards started
		var running atomic.Int32
		var started []time.Time
		f := newFreshView(func(context.Context) error {
			if running.Add(1) > 1 {
				t.Error("two refreshes at a time")
			}
			defer running.Add(-1)
			mu.Lock()
			started = append(started, time.Now())
			mu.Unlock()
			time.Sleep(freshEvery / 10)
			return nil
		})
		var all sync.WaitGroup
		for i := range 1000 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				asked := time.Now()
				if err := f.wait(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if last := started[len(started)-1]; last.Before(asked) {
					t.Errorf("requested %v after the refresh began", asked.Sub(last))
				}
			})
		}
		all.Wait()
		for i := 1; i < len(started); i++ {
			if gap := started[i].Sub(started[i-1]); gap < freshEvery {
				t.Errorf("a refresh %v after another", gap)
			}
		}
		if n := len(started); n < 15 || n > 25 {
			t.Errorf("%d refreshes for 1000 requests in a second", n)
		}
	})
}

// A request that cannot wait any longer gives up waiting, and the refresh continues for the others.
func TestRefreshWaitEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := make(chan time.Duration, 2)
		f := newFreshView(func(ctx context.Context) error {
			until, _ := ctx.Deadline()
			limits <- time.Until(until)
			<-ctx.Done()
			return ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		for _, ctx := range []context.Context{ctx, t.Context()} {
			if err := f.wait(ctx); err == nil {
				t.Error("the refresh succeeded")
			}
			if limit := <-limits; limit != freshWait {
				t.Errorf("it may take %v", limit)
			}
		}
	})
}

// For known tables, a recent refresh suffices, unless it failed.
func TestRefreshIsYoungEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, fails := 0, true
		f := newFreshView(func(context.Context) error {
			asked++
			if fails {
				return context.DeadlineExceeded
			}
			return nil
		})
		for _, step := range []struct {
			after, age time.Duration
			fails      bool
			asked      int
		}{
			{0, knownAge, true, 1},
			{0, knownAge, false, 2},
			{knownAge / 2, knownAge, false, 2},
			{0, 0, false, 3},
			{knownAge, knownAge, false, 4},
		} {
			time.Sleep(step.after)
			fails = step.fails
			if err := f.waitFor(t.Context(), step.age); (err != nil) != step.fails || asked != step.asked {
				t.Errorf("%+v: %d refreshes, %v", step, asked, err)
			}
		}
	})
}
