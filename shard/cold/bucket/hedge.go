package bucket

import (
	"context"
	"time"
)

// Range implements Bucket. Beside a request that takes more than twice as long as nearly all others, it sends a second
// one, and returns the answer that comes first.
func (g *Guard) Range(ctx context.Context, key string, r Range) ([]byte, error) {
	return fetch(ctx, g, "read", key, func(ctx context.Context) ([]byte, error) { return g.race(ctx, key, r) })
}

type rangeAnswer struct {
	b   []byte
	err error
}

// race reads a range once, or twice at the same time. The caller holds a place for the first request.
func (g *Guard) race(ctx context.Context, key string, r Range) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan rangeAnswer)
	running := 0
	defer func() {
		cancel() // the request that lost the race
		for ; running > 0; running-- {
			<-answers
		}
	}()
	send := func() {
		running++
		go func() {
			began := time.Now()
			b, err := g.b.Range(ctx, key, r)
			if err == nil {
				g.latency.note(time.Since(began))
			}
			answers <- rangeAnswer{b, err}
		}()
	}
	send()
	var slow <-chan time.Time
	if d, ok := g.latency.tooLong(); ok {
		t := time.NewTimer(d)
		defer t.Stop()
		slow = t.C
	}
	var first error
	for running > 0 {
		select {
		case a := <-answers:
			running--
			if a.err == nil {
				return a.b, nil
			}
			if first == nil {
				first = a.err
			}
		case <-slow:
			slow = nil
			if epoch, ok := g.limit.try(); ok {
				send()
				defer func() { g.limit.release(reader, epoch, context.Canceled) }()
			}
		}
	}
	return nil, first
}
