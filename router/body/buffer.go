package body

import (
	"math/bits"
	"sync"
)

const (
	// Buffers of these sizes, powers of two, are pooled; larger ones are left to the
	// garbage collector.
	minBufferBits = 12
	maxBufferBits = 23

	// maxFirstBuffer bounds the memory that is allocated because of a Content-Length, since thousands of clients may
	// announce much and send almost nothing. Together with the bytes after a body it is a power of two.
	maxFirstBuffer = 64<<10 - 1 - Pad
)

// pools holds free buffers by size. The garbage collector may free them.
var pools [maxBufferBits + 1]sync.Pool

// buffer is memory for one body, from a pool if it is not too large.
type buffer struct {
	bytes []byte // all of it
}

// newBuffer returns a buffer of at least size bytes.
func newBuffer(size int) *buffer {
	n := max(bits.Len(uint(size-1)), minBufferBits)
	if n > maxBufferBits {
		return &buffer{bytes: make([]byte, size)}
	}
	if b, ok := pools[n].Get().(*buffer); ok {
		return b
	}
	return &buffer{bytes: make([]byte, 1<<n)}
}

// grow returns a buffer of twice the size with the first n bytes of b, which is released.
func (b *buffer) grow(n int) *buffer {
	next := newBuffer(2 * len(b.bytes))
	copy(next.bytes, b.bytes[:n])
	b.release()
	return next
}

func (b *buffer) release() {
	if n := bits.Len(uint(len(b.bytes) - 1)); n <= maxBufferBits {
		pools[n].Put(b)
	}
}
