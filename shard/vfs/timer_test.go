package vfs

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTimer checks that the function is called once, after the whole time, and again after Reset, but not after Stop.
func TestTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called atomic.Int32
		timer := AfterFunc(10*time.Second+1, func() { called.Add(1) })
		check := func(after time.Duration, want int32) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if n := called.Load(); n != want {
				t.Errorf("called %d times, want %d", n, want)
			}
		}
		check(10*time.Second, 0)
		check(1, 1)
		check(time.Hour, 1)
		timer.Reset(time.Second)
		check(999*time.Millisecond, 1)
		check(time.Millisecond, 2)
		timer.Reset(time.Second)
		check(500*time.Millisecond, 2)
		timer.Stop()
		check(time.Hour, 2)
	})
}

// TestTimerAfterSuspension checks that one call of the timer of the runtime, however late it is, is only one step: the
// process may have been suspended.
func TestTimerAfterSuspension(t *testing.T) {
	called := 0
	timer := AfterFunc(time.Hour, func() { called++ })
	defer timer.Stop()
	for range timerSteps - 1 {
		timer.tick()
	}
	if called != 0 {
		t.Error("the function was called before the last step")
	}
	if timer.tick(); called != 1 {
		t.Errorf("the function was called %d times after the last step", called)
	}
}
