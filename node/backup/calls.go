package backup

import (
	"context"
	"sync"
)

// call contains the batches that go to one shard of the cluster in one request.
type call struct {
	shard    uint32
	batches  [][]byte
	bytes    int
	inflated int
	rows     int64
}

// These are the limits of one call.
const (
	maxCallBytes    = 2 << 20
	maxCallInflated = 32 << 20
	maxCallBatches  = 64
)

// callQueue collects batches into calls, and sends the calls in order, one at a time, while more batches are read. It
// belongs to one goroutine.
type callQueue struct {
	filling map[uint32]*call
	out     chan *call
	done    sync.WaitGroup
	quit    context.CancelFunc
	ctx     context.Context

	mu  sync.Mutex // guards err
	err error
}

// start starts a goroutine that sends the calls with send. stop or abort must be called.
func (q *callQueue) start(ctx context.Context, send func(context.Context, call) error) {
	q.filling, q.out = map[uint32]*call{}, make(chan *call)
	q.ctx, q.quit = context.WithCancel(ctx)
	q.err = nil
	out, ctx := q.out, q.ctx
	q.done.Go(func() {
		for c := range out {
			if err := send(ctx, *c); err != nil {
				q.fail(err)
				return
			}
		}
	})
}

func (q *callQueue) fail(err error) {
	q.mu.Lock()
	if q.err == nil {
		q.err = err
	}
	q.mu.Unlock()
	q.quit()
}

func (q *callQueue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// add adds a batch. It may return the error of an earlier call.
func (q *callQueue) add(shard uint32, batch []byte, inflated int, rows int64) error {
	c := q.filling[shard]
	if c != nil && (c.bytes+len(batch) > maxCallBytes || c.inflated+inflated > maxCallInflated ||
		len(c.batches) == maxCallBatches) {
		if err := q.push(c); err != nil {
			return err
		}
		c = nil
	}
	if c == nil {
		c = &call{shard: shard}
		q.filling[shard] = c
	}
	c.batches = append(c.batches, batch)
	c.bytes += len(batch)
	c.inflated += inflated
	c.rows += rows
	return nil
}

func (q *callQueue) push(c *call) error {
	delete(q.filling, c.shard)
	select {
	case q.out <- c:
		return nil
	case <-q.ctx.Done():
		if err := q.failure(); err != nil {
			return err
		}
		return q.ctx.Err()
	}
}

// abort discards the calls that were not sent. After stop it has no effect.
func (q *callQueue) abort() {
	if q.out == nil {
		return
	}
	q.quit()
	close(q.out)
	q.done.Wait()
	q.out = nil
}

// stop sends the remaining calls and waits for all answers. A second stop has no effect.
func (q *callQueue) stop() error {
	if q.out == nil {
		return nil
	}
	var err error
	for _, c := range q.filling {
		if err = q.push(c); err != nil {
			break
		}
	}
	close(q.out)
	q.done.Wait()
	q.quit()
	q.out = nil
	if failure := q.failure(); failure != nil {
		return failure
	}
	return err
}
