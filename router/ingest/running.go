package ingest

import (
	"context"
	"runtime"
	"time"

	"cordwood/proto/errs"
)

// runningWait is the default time that a request waits for its pipeline to start.
const runningWait = 2 * time.Second

// running limits the number of pipelines that run at a time. Pipelines only compute, so running more than a few for
// each processor takes more memory and saves no time.
type running chan struct{}

func newRunning() running { return make(running, 4*runtime.GOMAXPROCS(0)) }

// enter waits for a place, for at most wait. leave frees it.
func (r running) enter(ctx context.Context, wait time.Duration) (leave func(), err error) {
	select {
	case r <- struct{}{}:
		return func() { <-r }, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case r <- struct{}{}:
		return func() { <-r }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, errs.New(errs.ShardBusy, "%d pipelines are running, and many requests wait: try again later",
			cap(r)).WithRetryAfter(runningWait)
	}
}
