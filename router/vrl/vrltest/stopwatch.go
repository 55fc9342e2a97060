package vrltest

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Stopwatch measures the lesser of the CPU time of a thread and the elapsed time, because either may be far too
// long on a busy or virtual machine.
type Stopwatch struct {
	start time.Time
	user  time.Duration
}

// StartWatch starts a stopwatch for the calling goroutine, which stays on its thread until Took is called.
func StartWatch(t *testing.T) Stopwatch {
	t.Helper()
	runtime.LockOSThread()
	return Stopwatch{time.Now(), userTime(t)}
}

// Took returns the time since the start. It must be called once.
func (w Stopwatch) Took(t *testing.T) time.Duration {
	t.Helper()
	defer runtime.UnlockOSThread()
	return min(time.Since(w.start), userTime(t)-w.user)
}

// userTime returns the CPU time of the thread.
func userTime(t *testing.T) time.Duration {
	t.Helper()
	var use unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &use); err != nil {
		t.Fatal(err)
	}
	return time.Duration(use.Utime.Nano())
}
