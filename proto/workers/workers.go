// Package workers runs functions on goroutines that are kept for the next function.
//
// A new goroutine begins with a small stack. The calls of gRPC are so deep that the stack grows several times, and is
// copied each time. That was 7 % of the CPU time of a node that sends a short query to two others.
package workers

import (
	"context"
	"sync"
	"sync/atomic"
)

// maxIdle is the maximum number of goroutines that wait for a function.
const maxIdle = 64

var (
	next = make(chan func()) // has a receiver for each goroutine that waits
	idle atomic.Int32        // goroutines that wait, or are about to
)

// Start runs f on a goroutine that waits for a function or, if there is none, on a new one.
func Start(f func()) {
	select {
	case next <- f:
	default:
		go work(f)
	}
}

// work runs f, and then functions that it waits for.
func work(f func()) {
	for {
		f()
		if idle.Add(1) > maxIdle {
			idle.Add(-1)
			return
		}
		f = <-next
		idle.Add(-1)
	}
}

// Group runs functions of one task at the same time. After the first error it cancels its context.
type Group struct {
	cancel context.CancelFunc
	places chan struct{}
	wait   sync.WaitGroup
	once   sync.Once
	err    error
}

// NewGroup returns a group that runs at most limit functions at a time, and a context that ends with the first error
// and when Wait returns.
func NewGroup(ctx context.Context, limit int) (*Group, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Group{cancel: cancel, places: make(chan struct{}, limit)}, ctx
}

// Go runs f on another goroutine. It waits while as many functions as the limit run.
func (g *Group) Go(f func() error) {
	g.places <- struct{}{}
	g.wait.Add(1)
	Start(func() {
		defer func() {
			<-g.places
			g.wait.Done()
		}()
		if err := f(); err != nil {
			g.once.Do(func() {
				g.err = err
				g.cancel()
			})
		}
	})
}

// Wait waits until all functions have returned, and returns the first error.
func (g *Group) Wait() error {
	g.wait.Wait()
	g.cancel()
	return g.err
}
