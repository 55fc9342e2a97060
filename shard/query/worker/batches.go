package worker

import (
	"sync"

	"cordwood/proto/column"
)

// keptViews is how many columns of batches a generation keeps, of about 140 bytes each.
const keptViews = 256 << 10

// batchKey tells a batch of the shared file from all others. Memory may be used again,
// but session and sequence number of a batch never are.
type batchKey struct {
	header       column.Header
	offset, size uint64
}

// batches keeps the views of the batches used last: to make those of thousands of small
// ones again takes longer than most queries on them. There are two generations; what is
// not used while the younger one fills up goes with the older.
type batches struct {
	mu         sync.Mutex
	young, old map[batchKey]*column.Batch
	views      int // of the young
}

// get returns a batch that was put before, or nil.
func (c *batches) get(key batchKey) *column.Batch {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.young[key]; b != nil {
		return b
	}
	b := c.old[key]
	if b != nil {
		c.add(key, b)
	}
	return b
}

func (c *batches) put(key batchKey, b *column.Batch) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, b)
}

// add puts a batch among the young. c.mu is held.
func (c *batches) add(key batchKey, b *column.Batch) {
	if c.young == nil || c.views+len(b.Cols) > keptViews {
		c.young, c.old, c.views = map[batchKey]*column.Batch{}, c.young, 0
	}
	c.young[key] = b
	c.views += len(b.Cols)
}
