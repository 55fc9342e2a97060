package shardclient

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/semaphore"

	"cordwood/proto/errs"
)

// byteQueue bounds the bytes that are on their way to one shard.
type byteQueue struct {
	limit int64
	sem   *semaphore.Weighted
}

func newByteQueue(limit int64) *byteQueue {
	return &byteQueue{limit: limit, sem: semaphore.NewWeighted(limit)}
}

// enter reserves n bytes, waiting at most so long, and returns how to give them back.
// One larger than the whole queue waits until it is alone.
func (q *byteQueue) enter(ctx context.Context, n int64, wait time.Duration) (leave func(), err error) {
	n = min(n, q.limit)
	if !q.sem.TryAcquire(n) {
		wctx, cancel := context.WithTimeoutCause(ctx, wait, errQueueFull)
		defer cancel()
		if q.sem.Acquire(wctx, n) != nil {
			if errors.Is(context.Cause(wctx), errQueueFull) {
				return nil, errs.New(errs.ShardBusy, "its queue is full (%d bytes under way); retry later", q.limit).
					WithReason(errs.Busy).WithRetryAfter(time.Second)
			}
			return nil, ctx.Err()
		}
	}
	return func() { q.sem.Release(n) }, nil
}

var errQueueFull = errors.New("queue full")
