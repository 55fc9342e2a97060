package worker

import (
	"bytes"
	"sync"

	"cordwood/proto/column"
)

// keptViews is how many columns of batches a generation keeps, of about 190 bytes each.
const keptViews = 256 << 10

// batchKey says where in the shared file a batch lies, and what its header is. That does not
// identify it: memory is used again, and the batch of a request with a key has the session and the
// sequence number of an earlier one if the key comes again after its time.
type batchKey struct {
	header       column.Header
	offset, size uint64
}

// keptBatch is a batch, and a copy of the directory that its views were made from. While the
// directory is the same, the views are valid for what lies there now.
type keptBatch struct {
	*column.Batch
	directory []byte
}

// batches keeps the views of the batches used last: to make the views of thousands of small
// batches again takes longer than most queries on them. There are two generations; what is not
// used while the younger one fills up goes with the older.
type batches struct {
	mu         sync.Mutex
	young, old map[batchKey]keptBatch
	views      int // of the young
}

// get returns the batch that was put for the key, or nil if there is none or another one lies at
// its place by now. columns is the number of its columns, and mem its memory.
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

// put keeps a batch. Its memory is counted for the key.
func (c *batches) put(key batchKey, b *column.Batch) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(key, keptBatch{b, bytes.Clone(column.Directory(len(b.Cols), b.Mem))})
}

// add puts a batch among the young. c.mu is held.
func (c *batches) add(key batchKey, b keptBatch) {
	if c.young == nil || c.views+len(b.Cols) > keptViews {
		c.young, c.old, c.views = map[batchKey]keptBatch{}, c.young, 0
	}
	c.young[key] = b
	c.views += len(b.Cols)
}
