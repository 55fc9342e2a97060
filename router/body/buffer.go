package body

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// Buffers of these sizes, powers of two, are pooled; the garbage collector frees larger ones.
	minBufferBits = 12
	maxBufferBits = 23

	// maxFirstBuffer limits the memory that each body may have because of its Content-Length, because thousands of
	// clients may announce large bodies and send almost nothing. Together with the bytes after a body it is a power
	// of two.
	maxFirstBuffer = 64<<10 - 1 - Pad
	// maxAhead limits the memory of all bodies together that get a buffer of their Content-Length at once.
	maxAhead = 64 << 20
)

// ahead counts the announced bytes of bodies that are being read into a buffer of their whole length. Such a body need
// not be copied into larger and larger buffers.
type ahead struct {
	limit int64
	bytes atomic.Int64
}

// take reports whether a body of n bytes may have a buffer of its whole length. If it returns true, giveBack must be
// called when the body has been read.
func (a *ahead) take(n int64) bool {
	if a.bytes.Add(n) <= a.limit {
		return true
	}
	a.bytes.Add(-n)
	return false
}

func (a *ahead) giveBack(n int64) { a.bytes.Add(-n) }

// pools holds free buffers by size. The garbage collector may free them.
var pools [maxBufferBits + 1]sync.Pool

// buffer is memory for one body, from a pool if it is not too large.
type buffer struct {
	bytes []byte // the whole buffer
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
