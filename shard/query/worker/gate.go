package worker

import (
	"context"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
)

// gate bounds what runs and what waits for it.
type gate struct {
	slots   chan struct{}
	waiting atomic.Int64
	most    int64
	maxWait time.Duration
}

func newGate(running, waiting int, maxWait time.Duration) *gate {
	return &gate{slots: make(chan struct{}, running), most: int64(waiting), maxWait: maxWait}
}

// enter waits for a place; leave gives it back.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	select {
	case g.slots <- struct{}{}:
		return g.leave, nil
	default:
	}
	if g.waiting.Add(1) > g.most {
		g.waiting.Add(-1)
		return nil, errs.New(errs.ShardBusy, "%d queries are running and %d wait already; try again later", cap(g.slots), g.most).WithRetryAfter(time.Second)
	}
	defer g.waiting.Add(-1)
	timer := time.NewTimer(g.maxWait)
	defer timer.Stop()
	select {
	case g.slots <- struct{}{}:
		return g.leave, nil
	case <-timer.C:
		return nil, errs.New(errs.ShardBusy, "%d queries are running and none ended within %s; try again later", cap(g.slots), g.maxWait).WithRetryAfter(time.Second)
	case <-ctx.Done():
		return nil, contextError(ctx)
	}
}

func (g *gate) leave() { <-g.slots }
