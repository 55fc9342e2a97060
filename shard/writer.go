package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"cordwood/proto/column"
	"cordwood/proto/turns"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// writer handles writes on the leader before the log: it checks them, keeps their memory within
// limits, and puts them into the log in groups. Package store describes the locks.
type writer struct {
	cfg         *Config
	metrics     *store.Metrics
	replica     *replica.Replica
	tables      *store.Tables
	memory      *store.Memory
	definitions *store.Definitions
	clock       *timekeeper
	stop        <-chan struct{}
	// wakeFlusher and wakeFlusherFor make the shard flush soon.
	wakeFlusher    func()
	wakeFlusherFor func(reason string)

	queue      *queue
	proposals  *semaphore.Weighted           // held by entries in flight, and by hold
	decoded    sync.Map                      // maps a *byte, the first byte of an entry in flight, to []decoded
	promised   atomic.Int64                  // inflated bytes of the writes that are queued or in flight
	freed      atomic.Pointer[chan struct{}] // closed and replaced when a flush has freed memory
	committers sync.WaitGroup                // the commit loop
}

// pending is a write in flight.
type pending struct {
	rules.Write
	database string    // of the tables, or "" if they belong to several
	since    time.Time // when it was added to the queue
	queued   *turns.Item[*pending]
	bytes    int   // encoded size
	inflated int64 // size in memory
	// decoded are the batches as precheck decoded them, in the memory of mem. An element is nil for
	// a batch that was appended before. Apply on this node uses them if mem is still the active
	// memtable.
	decoded []*column.Batch
	mem     *memtable.Memtable
	// unlogged reports which batches do not go through the log.
	unlogged []bool
	// waiting is when the write began to wait for memory, or zero if it did not wait.
	waiting time.Time
	// copied is done when the entry holds a copy of the write.
	copied sync.WaitGroup

	// Set before done is closed.
	index uint64
	need  []uint64
	err   error
	done  chan struct{}
}

// release releases the memory of decoded.
func (p *pending) release() {
	if p.mem != nil {
		p.mem.Unref()
		p.mem, p.decoded = nil, nil
	}
}

func (p *pending) finish(index uint64, need []uint64, err error) {
	p.index, p.need, p.err = index, need, err
	close(p.done)
}

func newWriter(wr *writer) *writer {
	wr.proposals = semaphore.NewWeighted(maxInFlight)
	wr.queue = newQueue(wr.cfg.ID, wr.cfg.QueueBytes, wr.cfg.QueueWrites)
	freed := make(chan struct{})
	wr.freed.Store(&freed)
	return wr
}
