package compaction

import (
	"context"
	"time"
)

// Limiter limits the compactions of a node: one at a time, with a share of one CPU and a rate of
// bytes. It may be used concurrently. NewLimiter creates it.
type Limiter struct {
	running chan struct{}
	share   float64
	rate    int64
}

// NewLimiter returns a Limiter that allows a compaction to work for a share of the time, between 0
// and 1, and to write at most bytesPerSecond; 0 means no limit.
func NewLimiter(share float64, bytesPerSecond int64) *Limiter {
	return &Limiter{running: make(chan struct{}, 1), share: share, rate: bytesPerSecond}
}

// Begin waits until no other compaction runs. The caller must call End afterwards.
func (l *Limiter) Begin(ctx context.Context) error {
	select {
	case l.running <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End lets the next compaction start.
func (l *Limiter) End() { <-l.running }

// Rest waits if necessary, after work that began at a moment and wrote n bytes. A nil Limiter never waits.
func (l *Limiter) Rest(ctx context.Context, began time.Time, n int64) error {
	p := pacer{l: l, start: began}
	return p.pause(ctx, n)
}

// pacer makes one compaction observe the limits.
type pacer struct {
	l     *Limiter
	start time.Time // start of the work since the last pause
	bytes int64     // bytes written since then
}

func (l *Limiter) pacer() *pacer { return &pacer{l: l, start: time.Now()} }

// minPause is the minimum length of a pause. Shorter pauses are combined.
const minPause = 5 * time.Millisecond

// pause waits if necessary, after work that wrote n bytes.
func (p *pacer) pause(ctx context.Context, bytes int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.l == nil {
		return nil
	}
	p.bytes += bytes
	worked := time.Since(p.start)
	rest := time.Duration(0)
	if p.l.share > 0 && p.l.share < 1 {
		rest = time.Duration(float64(worked) * (1 - p.l.share) / p.l.share)
	}
	if p.l.rate > 0 {
		rest = max(rest, time.Duration(float64(p.bytes)/float64(p.l.rate)*float64(time.Second))-worked)
	}
	if rest < minPause {
		return nil // count further work before pausing
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.start, p.bytes = time.Now(), 0
	return nil
}
