package query

import (
	"context"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
)

// gate bounds the SELECTs that run, and those that wait for it.
type gate struct {
	slots   chan struct{}
	waiting atomic.Int64
	most    int64
	maxWait time.Duration
}

func newGate(cfg Config) *gate {
	return &gate{slots: make(chan struct{}, cfg.Running), most: int64(cfg.Waiting), maxWait: cfg.MaxWait}
}

// enter waits for a place; leave gives it back.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	leave = func() { <-g.slots }
	select {
	case g.slots <- struct{}{}:
		return leave, nil
	default:
	}
	if g.waiting.Add(1) > g.most {
		g.waiting.Add(-1)
		return nil, g.busy("and %d wait already", g.most)
	}
	defer g.waiting.Add(-1)
	timer := time.NewTimer(g.maxWait)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		return leave, nil
	case <-timer.C:
		return nil, g.busy("and none ended within %s", g.maxWait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gate) busy(format string, args ...any) error {
	args = append([]any{cap(g.slots)}, args...)
	return errs.New(errs.ShardBusy, "%d queries are running, "+format+"; try again later", args...).WithRetryAfter(time.Second)
}
