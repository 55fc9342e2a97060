package ingest

import (
	"context"
	"sync"
)

// sharedMemory divides the memory of a request among its batches.
type sharedMemory struct {
	all Memory
	// asking is held while more memory is reserved, because only one goroutine may reserve memory at a time.
	asking sync.Mutex

	mu   sync.Mutex // guards held
	held int64
}

// memoryPart is the part of the memory that one batch holds.
type memoryPart struct {
	of   *sharedMemory
	held int64
}

func (m *sharedMemory) part() *memoryPart { return &memoryPart{of: m} }

// grow sets the memory of the batch to n bytes, and returns the memory of all batches.
func (p *memoryPart) grow(n int64) (all int64) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.held += n - p.held
	p.held = n
	return p.of.held
}

// Reserve implements Memory.
func (p *memoryPart) Reserve(ctx context.Context, n int64) error {
	all := p.grow(n)
	if p.of.all == nil {
		return nil
	}
	p.of.asking.Lock()
	defer p.of.asking.Unlock()
	return p.of.all.Reserve(ctx, all)
}

// TryReserve implements Memory.
func (p *memoryPart) TryReserve(n int64) bool {
	all := p.grow(n)
	if p.of.all == nil {
		return true
	}
	if !p.of.asking.TryLock() {
		return false
	}
	defer p.of.asking.Unlock()
	return p.of.all.TryReserve(all)
}

// release frees the batch's part for other batches, because its rows are stored.
func (p *memoryPart) release() { p.grow(0) }
