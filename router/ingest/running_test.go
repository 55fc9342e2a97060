package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
)

func TestRunningIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunning()
		var leaves []func()
		for range r.size {
			leave, err := r.enter(t.Context(), "a", runningWait)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		if _, err := r.enter(t.Context(), "b", runningWait); errs.CodeOf(err) != errs.ShardBusy ||
			errs.From(err).Status() != 503 || errs.From(err).RetryAfter == 0 {
			t.Errorf("one too many: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.enter(ctx, "a", runningWait); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		time.Sleep(2 * activeFor)
		leaves[0]()
		leave, err := r.enter(t.Context(), "a", runningWait)
		if err != nil {
			t.Fatal(err)
		}
		for _, leave := range append(leaves[1:], leave) {
			leave()
		}
		time.Sleep(2 * activeFor)
		last, err := r.enter(t.Context(), "last", runningWait)
		if err != nil {
			t.Fatal(err)
		}
		last()
		if len(r.databases) != 1 || r.count() != 0 {
			t.Errorf("%d databases, %d pipelines are left", len(r.databases), r.count())
		}
	})
}

// TestFloodDoesNotDelayOthers: 64 clients flood a database with pipelines of a second. The pipelines of b, which has
// two clients, wait only in the first second, for pipelines that began when not all databases were known. Four floods
// get equal parts.
func TestFloodDoesNotDelayOthers(t *testing.T) {
	for _, floods := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			r := newRunning()
			r.size = 16
			const flood = time.Minute
			start := time.Now()
			end := start.Add(flood)
			done := make([]atomic.Int64, floods)
			for i := range floods {
				for range 64 {
					go func() {
						for time.Now().Before(end) {
							leave, err := r.enter(t.Context(), fmt.Sprint("a", i), flood)
							if err != nil {
								t.Error(err)
								return
							}
							time.Sleep(time.Second)
							done[i].Add(1)
							leave()
							time.Sleep(time.Nanosecond)
						}
					}()
				}
			}
			for range 2 {
				go func() {
					for n := 0; time.Now().Before(end); n++ {
						begin := time.Now()
						leave, err := r.enter(t.Context(), "b", flood)
						if err != nil {
							t.Error(err)
							return
						}
						if waited := time.Since(begin); begin.Sub(start) >= time.Second && waited > 0 {
							t.Errorf("pipeline %d of b waited %s", n, waited)
						}
						time.Sleep(10 * time.Millisecond)
						leave()
						time.Sleep(100 * time.Millisecond)
					}
				}()
			}
			time.Sleep(2 * flood)
			sum, squares := 0.0, 0.0
			for i := range done {
				n := float64(done[i].Load())
				sum, squares = sum+n, squares+n*n
			}
			if jain := sum * sum / (float64(floods) * squares); jain < 0.95 {
				t.Errorf("%d floods: Jain's index %.3f", floods, jain)
			}
		})
	}
}
