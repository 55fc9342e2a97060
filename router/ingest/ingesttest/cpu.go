package ingesttest

import (
	"syscall"
	"testing"
	"time"
)

// CPU returns the processor time of this process so far, for benchmarks.
func CPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
