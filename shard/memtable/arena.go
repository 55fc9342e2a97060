package memtable

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The sizes of an arena's chunks: small at first, so that a shard with few rows needs little
// memory, and large after that. A block that would waste much of a large chunk gets its own chunk,
// with the size that classOf returns.
const (
	smallChunk  = 256 << 10
	mediumChunk = 1 << 20
	largeChunk  = 4 << 20
	ownChunk    = largeChunk / 4
	// mostPooled is the maximum size of a chunk that a pool keeps for other blocks.
	mostPooled = 16 << 20
	mapUnit    = 64 << 10
)

// classOf returns the size of the chunk for a block that gets its own: one of four sizes between a
// power of two and the next, so that blocks of similar sizes can reuse each other's chunks. The
// largest blocks get exactly their size.
func classOf(size int) int {
	unit := mapUnit
	if size <= mostPooled {
		unit = max(unit, 1<<bits.Len(uint(size-1))>>3)
	}
	return (size + unit - 1) / unit * unit
}

// DefaultRetain is how much free memory a Pool keeps if its Retain is 0, in bytes.
const DefaultRetain = 128 << 20

// Pool allocates memory chunks outside the Go heap. It keeps some free chunks until Trim, because
// touching fresh pages is a large part of the cost of filling them. All shards of a process should
// share one Pool. The zero value is ready to use.
//
// The memory is in a file in memory that another process may map (Share, Locate). If the system
// cannot provide one, it is private memory of the process.
type Pool struct {
	// Retain is the maximum free memory that is kept, in bytes; the rest is returned to the
	// operating system. 0 means DefaultRetain, a negative number none.
	Retain int64
	// Limit is the maximum memory of the pool, in bytes. Beyond it allocations fail as if the
	// system had no more memory. 0 means no limit.
	Limit int64

	mu sync.Mutex // guards free, kept, last and asked
	// free holds the kept chunks. Those that have been free the longest come first.
	free   [][]byte
	kept   int64
	last   time.Time // when memory was last allocated, or when a trim found that it was
	asked  bool      // whether memory was allocated since last
	mapped atomic.Int64
	shared sharedFile
}

// Mapped returns the memory that the pool has from the operating system, used or free, in bytes.
func (p *Pool) Mapped() int64 { return p.mapped.Load() }

// get returns a chunk of at least size bytes, whose first fill bytes will be written soon.
func (p *Pool) get(size, fill int) ([]byte, error) {
	if c := p.reuse(size); c != nil {
		return c, nil
	}
	if p.Limit > 0 && p.mapped.Load()+int64(size) > p.Limit {
		return nil, fmt.Errorf("memtable: allocate %d bytes: %d are mapped, the limit is %d", size,
			p.Mapped(), p.Limit)
	}
	c, err := p.shared.mapChunk(size, fill)
	if err != nil {
		return nil, fmt.Errorf("memtable: map %d bytes (%d are mapped): %w", size, p.Mapped(), err)
	}
	p.mapped.Add(int64(size))
	return c, nil
}

// reuse takes the smallest free chunk of at least size bytes; of several it takes the most recently
// used one. It returns nil if there is none, or if all are more than half as large again.
func (p *Pool) reuse(size int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	best := -1
	for i, c := range p.free {
		if len(c) >= size && len(c) <= size+size/2 && (best < 0 || len(c) <= len(p.free[best])) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	c := p.free[best]
	p.free = slices.Delete(p.free, best, best+1)
	p.kept -= int64(len(c))
	return c
}

// Trim returns the free memory to the operating system if none was allocated for the given time,
// and returns its size. It should be called from time to time.
func (p *Pool) Trim(now time.Time, idle time.Duration) int64 {
	p.mu.Lock()
	if p.asked || p.last.IsZero() {
		p.last, p.asked = now, false
	}
	if now.Sub(p.last) < idle || p.kept == 0 {
		p.mu.Unlock()
		return 0
	}
	free, kept := p.free, p.kept
	p.free, p.kept = nil, 0
	p.mu.Unlock()
	p.unmap(free)
	return kept
}

// unmap returns chunks to the operating system.
func (p *Pool) unmap(chunks [][]byte) {
	for _, c := range chunks {
		p.shared.unmapChunk(c)
		p.mapped.Add(-int64(len(c)))
	}
}

// put returns a chunk to the pool. If the pool then has too much free memory, it unmaps the chunks
// that have been free the longest.
func (p *Pool) put(c []byte) {
	retain := p.Retain
	if retain == 0 {
		retain = DefaultRetain
	}
	if len(c) > mostPooled || int64(len(c)) > retain {
		p.unmap([][]byte{c})
		return
	}
	p.mu.Lock()
	p.free, p.kept = append(p.free, c), p.kept+int64(len(c))
	n := 0
	for ; p.kept > retain; n++ {
		p.kept -= int64(len(p.free[n]))
	}
	gone := slices.Clone(p.free[:n])
	p.free = slices.Delete(p.free, 0, n)
	p.mu.Unlock()
	p.unmap(gone)
}

// arena allocates blocks from chunks. All are freed together.
type arena struct {
	pool   *Pool
	chunks [][]byte
	rest   []byte // rest of the current chunk
	shared int    // number of chunks so far that are shared by blocks
	used   atomic.Int64
}

// alloc returns a block of n bytes at an address divisible by 8.
func (a *arena) alloc(n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("memtable: allocate a block of %d bytes: the size must not be negative", n)
	}
	size := (n + 7) &^ 7
	a.used.Add(int64(size))
	if size > len(a.rest) {
		c, err := a.grow(size)
		if err != nil {
			a.used.Add(-int64(size))
			return nil, err
		}
		if size > ownChunk {
			// The rest of the chunk serves later blocks if it is larger than the current rest.
			if rest := c[size:]; len(rest) > len(a.rest) {
				a.rest = rest
			}
			return c[:n:size], nil
		}
		a.rest = c
	}
	block := a.rest[:n:size]
	a.rest = a.rest[size:]
	return block, nil
}

// grow allocates a chunk: a separate one for a block of more than ownChunk bytes, and otherwise the
// next one for shared use.
func (a *arena) grow(size int) ([]byte, error) {
	chunk := largeChunk
	own := size > ownChunk
	switch {
	case own:
		chunk = classOf(size)
	case a.shared == 0 && size <= smallChunk:
		chunk = smallChunk
	case a.shared <= 1:
		chunk = mediumChunk
	}
	fill := size
	if !own {
		fill = chunk
	}
	c, err := a.pool.get(chunk, fill)
	if err != nil {
		return nil, err
	}
	a.chunks = append(a.chunks, c)
	if !own {
		a.shared++
	}
	return c, nil
}

func (a *arena) release() {
	for _, c := range a.chunks {
		a.pool.put(c)
	}
	a.chunks, a.rest = nil, nil
}
