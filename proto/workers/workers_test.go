package workers

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestGroup checks that a group runs no more functions at a time than its limit, cancels its context after an error and
// returns that error.
func TestGroup(t *testing.T) {
	const limit = 3
	group, ctx := NewGroup(t.Context(), limit)
	var running, most, ran atomic.Int64
	for range 50 {
		group.Go(func() error {
			now := running.Add(1)
			defer running.Add(-1)
			for last := most.Load(); now > last && !most.CompareAndSwap(last, now); last = most.Load() {
			}
			ran.Add(1)
			runtime.Gosched()
			return nil
		})
	}
	fault := errors.New("fault")
	group.Go(func() error { return fault })
	group.Go(func() error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err := group.Wait(); !errors.Is(err, fault) {
		t.Errorf("the error is %v", err)
	}
	if ran.Load() != 50 || most.Load() > limit {
		t.Errorf("%d functions ran, up to %d at a time", ran.Load(), most.Load())
	}

	group, ctx = NewGroup(t.Context(), 1)
	if err := group.Wait(); err != nil || !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("an empty group: %v, its context: %v", err, ctx.Err())
	}
}

// TestStart checks that goroutines are used again, and that no more than maxIdle wait.
func TestStart(t *testing.T) {
	var mu sync.Mutex // guards seen
	seen := map[string]bool{}
	for range 4 {
		var wait sync.WaitGroup
		begin := make(chan struct{})
		for range 3 * maxIdle {
			wait.Add(1)
			Start(func() {
				defer wait.Done()
				<-begin
				mu.Lock()
				defer mu.Unlock()
				seen[goroutine()] = true
			})
		}
		close(begin)
		wait.Wait()
		for kept() > maxIdle { // the others are about to end
			runtime.Gosched()
		}
	}
	for again := false; !again; { // without kept goroutines, the ids would always be new
		done := make(chan string)
		Start(func() { done <- goroutine() })
		again = seen[<-done]
	}
}

// goroutine returns the id of the calling goroutine.
func goroutine() string {
	var stack [64]byte
	return strings.Fields(string(stack[:runtime.Stack(stack[:], false)]))[1]
}

// kept returns the number of goroutines of this package.
func kept() int {
	stacks := make([]byte, 8<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "workers.work(")
}
