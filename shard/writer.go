package shard

import (
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// writer takes writes on the leader, before the log: it checks them, keeps them within memory,
// and puts them into the log in groups. Package store has the contract of the locks.
type writer struct {
	cfg         *Config
	metrics     *store.Metrics
	replica     *replica.Replica
	tables      *store.Tables
	memory      *store.Memory
	definitions *store.Definitions
	clock       *timekeeper
	stop        <-chan struct{}
	// wakeFlusher and wakeFlusherFor have the shard flush soon.
	wakeFlusher    func()
	wakeFlusherFor func(reason string)

	queue      *queue
	decoded    sync.Map                      // *byte, the first of an entry on its way, to []decoded
	promised   atomic.Int64                  // inflated bytes of the writes that are queued or on their way
	freed      atomic.Pointer[chan struct{}] // closed, and replaced, when a flush made room
	committers sync.WaitGroup                // the commit loop
}

// pending is a write on its way into the log.
type pending struct {
	rules.Write
	since    time.Time // when it came into the queue
	bytes    int       // in the log
	inflated int64     // in memory
	// decoded are the batches as precheck decoded them, in mem; nil where one was
	// appended before. Apply on this node uses them if mem is still the active memtable.
	decoded []*column.Batch
	mem     *memtable.Memtable
	// unlogged reports which batches do not go through the log.
	unlogged []bool
	// waiting is since when it waits for room in memory; zero: it did not have to.
	waiting time.Time
	// copied is done when the entry has a copy of the write.
	copied sync.WaitGroup

	// Set before done is closed.
	index uint64
	need  []uint64
	err   error
	done  chan struct{}
}

// release lets go of the memory of decoded.
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
	wr.queue = newQueue(wr.cfg.ID, wr.cfg.QueueBytes, wr.cfg.QueueWrites)
	freed := make(chan struct{})
	wr.freed.Store(&freed)
	return wr
}
