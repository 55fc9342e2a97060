package vrltest

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Stopwatch measures what a thread has computed: the lesser of that and the time that has
// passed, for on a busy machine, and on a virtual one, either may be far too long.
type Stopwatch struct {
	start time.Time
	user  time.Duration
}

// StartWatch starts a stopwatch of the calling goroutine, which stays on its thread until Took.
func StartWatch(t *testing.T) Stopwatch {
	t.Helper()
	runtime.LockOSThread()
	return Stopwatch{time.Now(), userTime(t)}
}

// Took returns what the thread has computed since the start. It is called once.
func (w Stopwatch) Took(t *testing.T) time.Duration {
	t.Helper()
	defer runtime.UnlockOSThread()
	return min(time.Since(w.start), userTime(t)-w.user)
}

// userTime returns the time that the thread has computed.
func userTime(t *testing.T) time.Duration {
	t.Helper()
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano())
}
