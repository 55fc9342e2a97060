package stack

import (
	"runtime"
	"sync"
	"testing"
)

// TestGrow checks that the stacks of goroutines that called Grow have 16 KiB, and others less.
func TestGrow(t *testing.T) {
	// The runtime frees some other stacks meanwhile, so the averages are slightly too small.
	if small, large := stackBytes(func() {}), stackBytes(Grow); small > 8<<10 || large < 14<<10 {
		t.Errorf("a stack has %d bytes without Grow, and %d with it", small, large)
	}
}

// stackBytes returns the average size of the stacks of goroutines that begin with f.
func stackBytes(f func()) uint64 {
	const goroutines = 1000
	var before, after runtime.MemStats
	var ready, ended sync.WaitGroup
	end := make(chan struct{})
	runtime.GC() // frees the stacks of earlier goroutines
	runtime.ReadMemStats(&before)
	for range goroutines {
		ready.Add(1)
		ended.Go(func() {
			f()
			ready.Done()
			<-end
		})
	}
	ready.Wait()
	runtime.ReadMemStats(&after)
	close(end)
	ended.Wait()
	return (after.StackInuse - before.StackInuse) / goroutines
}

// BenchmarkDeep compares new goroutines whose calls are about as deep as those of gRPC, with Grow and without.
func BenchmarkDeep(b *testing.B) {
	for name, f := range map[string]func(){"with": Grow, "without": func() {}} {
		b.Run(name, func(b *testing.B) {
			var wg sync.WaitGroup
			for b.Loop() {
				wg.Go(func() {
					f()
					deep(40)
				})
				wg.Wait()
			}
		})
	}
}

// deep calls itself n times, with 200 bytes of arguments and variables in each call.
//
//go:noinline
func deep(n int) int {
	var values [25]int
	if n > 0 {
		values[n%len(values)] = deep(n - 1)
	}
	return values[(n+1)%len(values)] + 1
}
