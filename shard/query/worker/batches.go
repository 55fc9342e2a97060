package worker

import (
	"bytes"
	"sync"

	"cordwood/proto/column"
)

// keptViews is the maximum number of views of batch columns in a generation. A view has about 190
// bytes.
const keptViews = 256 << 10

// batchKey is the position of a batch in the shared file, and its header. Both together do not identify the batch.
// Memory is reused, and if an idempotency key is used again after it has expired, the new batch has the session and
// sequence number of the earlier one.
type batchKey struct {
	header       column.Header
	offset, size uint64
}

// keptBatch is a batch, and a copy of the directory from which its views were created. As long as
// the directory is the same, the views are valid for the memory's present contents.
type keptBatch struct {
	*column.Batch
	directory []byte
}

// batches caches the views of recently used batches, because creating the views of thousands of
// small batches takes longer than most queries on them. There are two generations. A batch that is
// not used while the younger generation fills up is dropped with the older one.
type batches struct {
	mu         sync.Mutex
	young, old map[batchKey]keptBatch
	views      int // of the young
}

// get returns the cached batch for the key. It returns nil if there is none or if another batch is
// now in its place. columns is the number of its columns, and mem its memory.
func (c *batches) get(key batchKey, columns int, mem []byte) *column.Batch {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b, young := c.young[key]
	if !young {
		b = c.old[key]
	}
	if b.Batch == nil || len(b.Cols) != columns || !bytes.Equal(b.directory, column.Directory(columns, mem)) {
		return nil
	}
	if !young {
		c.add(key, b)
	}
	return b.Batch
}

// put caches a batch under the key.
func (c *batches) put(key batchKey, b *column.Batch) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, keptBatch{b, bytes.Clone(column.Directory(len(b.Cols), b.Mem))})
}

// add adds a batch to the younger generation. c.mu must be held.
func (c *batches) add(key batchKey, b keptBatch) {
	if c.young == nil || c.views+len(b.Cols) > keptViews {
		c.young, c.old, c.views = map[batchKey]keptBatch{}, c.young, 0
	}
	c.young[key] = b
	c.views += len(b.Cols)
}
