package format

import (
	"io"
	"sync"

	"cordwood/proto/errs"
)

// Budget limits the number of bytes that all Buffers of a process hold together. It is safe for concurrent use.
type Budget struct {
	perBuffer, total int64

	mu   sync.Mutex
	used int64 // guarded by mu
}

// NewBudget returns a budget of that many bytes for one Buffer and for all.
func NewBudget(perBuffer, total int64) *Budget { return &Budget{perBuffer: perBuffer, total: total} }

func (b *Budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.total {
		return false
	}
	b.used += n
	return true
}

func (b *Budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// chunkBytes is the size of the pieces of a Buffer.
const chunkBytes = 256 << 10

var chunks = sync.Pool{New: func() any { return new([chunkBytes]byte) }}

// Buffer collects an answer that cannot be streamed, within a budget. It belongs to one goroutine. Release frees
// its memory.
type Buffer struct {
	budget  *Budget
	chunks  []*[chunkBytes]byte
	last    int // bytes used of the last chunk
	scratch []byte
}

// NewBuffer returns an empty buffer within the budget.
func NewBuffer(budget *Budget) *Buffer { return &Buffer{budget: budget} }

// Append adds a copy of p. If there is not enough memory, it returns an error with advice.
func (b *Buffer) Append(p []byte) error {
	for len(p) > 0 {
		if len(b.chunks) == 0 || b.last == chunkBytes {
			if err := b.grow(); err != nil {
				return err
			}
		}
		n := copy(b.chunks[len(b.chunks)-1][b.last:], p)
		b.last += n
		p = p[n:]
	}
	return nil
}

func (b *Buffer) grow() error {
	if int64(len(b.chunks)+1)*chunkBytes > b.budget.perBuffer {
		return errs.New(errs.RuntimeResourcesExhausted,
			"the result is larger than %d MiB, which is the limit of format svcdb_v1: "+
				"use format=ndjson, csv, arrow or parquet, which stream, or add a LIMIT",
			b.budget.perBuffer>>20).WithStatus(400)
	}
	if !b.budget.take(chunkBytes) {
		return errs.New(errs.RateLimited,
			"too many large results in format svcdb_v1 are in progress: try again later, or use format=ndjson, csv, "+
				"arrow or parquet, which stream")
	}
	b.chunks = append(b.chunks, chunks.Get().(*[chunkBytes]byte))
	b.last = 0
	return nil
}

// replace overwrites the bytes at a position with p.
func (b *Buffer) replace(at int64, p string) {
	for i := range len(p) {
		k := at + int64(i)
		b.chunks[k/chunkBytes][k%chunkBytes] = p[i]
	}
}

// Len returns the number of bytes held.
func (b *Buffer) Len() int64 {
	if len(b.chunks) == 0 {
		return 0
	}
	return int64(len(b.chunks)-1)*chunkBytes + int64(b.last)
}

// WriteTo writes everything to w.
func (b *Buffer) WriteTo(w io.Writer) (int64, error) {
	var n int64
	for i, c := range b.chunks {
		p := c[:]
		if i == len(b.chunks)-1 {
			p = p[:b.last]
		}
		m, err := w.Write(p)
		n += int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Release empties the buffer and frees its memory.
func (b *Buffer) Release() {
	b.budget.give(int64(len(b.chunks)) * chunkBytes)
	for _, c := range b.chunks {
		chunks.Put(c)
	}
	b.chunks, b.last = nil, 0
}
