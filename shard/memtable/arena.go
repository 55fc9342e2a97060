package memtable

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The sizes of an arena's chunks: small at first, so that a shard of few rows costs
// little, and large after that. A block that would waste much of a chunk gets a
// mapping of its own.
const (
	smallChunk  = 256 << 10
	mediumChunk = 1 << 20
	largeChunk  = 4 << 20
	ownMapping  = largeChunk / 4
	mapUnit     = 64 << 10
)

// DefaultRetain is how much free memory a Pool keeps if its Retain is 0, in bytes.
const DefaultRetain = 64 << 20

// Pool hands out memory chunks from outside the Go heap and keeps some free ones,
// because touching fresh pages is much of the cost of filling them, until Trim. One Pool should
// serve all shards of a process. The zero value is ready to use.
//
// The memory lies in a file in memory that another process may map (Share, Locate),
// or, where the system gives none, is this process's own.
type Pool struct {
	// Retain bounds the free memory kept, in bytes; what exceeds it goes back to the
	// operating system. 0 means DefaultRetain, a negative number none.
	Retain int64
	// Limit is the most memory that the pool takes from the operating system, in bytes: beyond
	// it there is none, as if the system gave no more. 0 means no bound.
	Limit int64

	mu     sync.Mutex // guards free, kept and last
	free   map[int][][]byte
	kept   int64
	last   time.Time // when memory was asked for last, or a trim found that it was
	asked  bool      // since last
	mapped atomic.Int64
	shared sharedFile
}

// Mapped returns the memory that the pool has from the operating system, in use or
// free, in bytes.
func (p *Pool) Mapped() int64 { return p.mapped.Load() }

func (p *Pool) get(size int) ([]byte, error) {
	p.mu.Lock()
	p.asked = true
	if list := p.free[size]; len(list) > 0 {
		c := list[len(list)-1]
		p.free[size] = list[:len(list)-1]
		p.kept -= int64(size)
		p.mu.Unlock()
		return c, nil
	}
	p.mu.Unlock()
	if p.Limit > 0 && p.mapped.Load()+int64(size) > p.Limit {
		return nil, fmt.Errorf("memtable: %d bytes are asked for and %d are mapped, at most %d may be", size,
			p.Mapped(), p.Limit)
	}
	c, err := p.shared.mapChunk(size)
	if err != nil {
		return nil, fmt.Errorf("memtable: map %d bytes (%d are mapped): %w", size, p.Mapped(), err)
	}
	p.mapped.Add(int64(size))
	return c, nil
}

// Trim gives the free memory back to the operating system if none was asked for in so
// much time, and returns how much it was. It is to be called from time to time.
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
	for _, list := range free {
		for _, c := range list {
			p.shared.unmapChunk(c)
		}
	}
	p.mapped.Add(-kept)
	return kept
}

func (p *Pool) put(c []byte) {
	size := len(c)
	retain := p.Retain
	if retain == 0 {
		retain = DefaultRetain
	}
	p.mu.Lock()
	if pooled(size) && p.kept+int64(size) <= retain {
		if p.free == nil {
			p.free = map[int][][]byte{}
		}
		p.free[size] = append(p.free[size], c)
		p.kept += int64(size)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.shared.unmapChunk(c)
	p.mapped.Add(-int64(size))
}

func pooled(size int) bool { return size == smallChunk || size == mediumChunk || size == largeChunk }

// arena cuts blocks from chunks. They are all freed together.
type arena struct {
	pool   *Pool
	chunks [][]byte
	rest   []byte // of the chunk that blocks are cut from
	shared int    // chunks that blocks were cut from so far
	used   atomic.Int64
}

// alloc returns a block of n bytes at an address divisible by 8.
func (a *arena) alloc(n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("memtable: block of %d bytes asked for", n)
	}
	size := (n + 7) &^ 7
	if size > len(a.rest) {
		if err := a.grow(size); err != nil {
			return nil, err
		}
		if size > ownMapping {
			c := a.chunks[len(a.chunks)-1]
			a.used.Add(int64(len(c)))
			return c[:n:len(c)], nil
		}
	}
	block := a.rest[:n:size]
	a.rest = a.rest[size:]
	a.used.Add(int64(size))
	return block, nil
}

// grow gets a chunk: of its own for a block of more than ownMapping bytes, else the
// next one that blocks are cut from.
func (a *arena) grow(size int) error {
	chunk := largeChunk
	own := size > ownMapping
	switch {
	case own:
		chunk = (size + mapUnit - 1) / mapUnit * mapUnit
	case a.shared == 0 && size <= smallChunk:
		chunk = smallChunk
	case a.shared <= 1:
		chunk = mediumChunk
	}
	c, err := a.pool.get(chunk)
	if err != nil {
		return err
	}
	a.chunks = append(a.chunks, c)
	if !own {
		a.shared++
		a.rest = c
	}
	return nil
}

func (a *arena) release() {
	for _, c := range a.chunks {
		a.pool.put(c)
	}
	a.chunks, a.rest = nil, nil
}
