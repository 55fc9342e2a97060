package store

import (
	"slices"
	"sync"
	"time"

	"cordwood/proto/shardpb"
)

// endedKept is how many completed operations are remembered.
const endedKept = 50

// Operations records the background work: what is running, and what ended last. The zero value is
// ready to use. No other lock is taken under its lock.
type Operations struct {
	mu      sync.Mutex
	next    uint64
	running map[uint64]*shardpb.OperationStats
	ended   []*shardpb.OperationStats // oldest first
}

// Begin records that work of a kind has begun. The caller must call done when it has ended. total
// is the number of bytes to process, or 0 if it is not known.
func (o *Operations) Begin(kind, detail string, total int64) (done func(error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.next++
	op := &shardpb.OperationStats{
		Id:              o.next,
		Kind:            kind,
		Detail:          detail,
		StartedUnixNano: time.Now().UnixNano(),
		TotalBytes:      total,
	}
	if o.running == nil {
		o.running = map[uint64]*shardpb.OperationStats{}
	}
	o.running[op.Id] = op
	return func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.running[op.Id] == nil {
			return
		}
		delete(o.running, op.Id)
		end := &shardpb.OperationStats{
			Id: op.Id, Kind: kind, Detail: detail, StartedUnixNano: op.StartedUnixNano, EndedUnixNano: time.Now().UnixNano(),
			TotalBytes: total,
		}
		if err != nil {
			end.Error = err.Error()
		} else {
			end.DoneBytes = total
		}
		if len(o.ended) == endedKept {
			o.ended = slices.Delete(o.ended, 0, 1)
		}
		o.ended = append(o.ended, end)
	}
}

// List returns all operations, ordered by id. They are not changed afterwards.
func (o *Operations) List() []*shardpb.OperationStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := slices.Clone(o.ended)
	for _, op := range o.running {
		out = append(out, op)
	}
	slices.SortFunc(out, func(a, b *shardpb.OperationStats) int { return int(a.Id) - int(b.Id) })
	return out
}
