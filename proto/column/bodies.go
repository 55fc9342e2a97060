package column

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Bodies holds the uncompressed bodies of encoded batches. The encoder passes them, in the context of a call, to a
// reader in the same process. The reader copies them instead of decompressing the batches. A nil Bodies is empty.
//
// The memory of the bodies belongs to the caller of that call, who releases it when the call has returned. Until then
// the bodies may be read. All data of Bodies comes from this process, so it is trusted.
type Bodies struct {
	bodies []plainBody
	bytes  int64
}

// plainBody is the uncompressed body of the batch with this header. It is nil if it is not passed.
type plainBody struct {
	header [headerSize]byte
	body   []byte
}

// maxBodyBytes is the maximum memory of the bodies of all Bodies together, in bytes. Bodies beyond it are not passed.
const maxBodyBytes = 64 << 20

var bodyBytes atomic.Int64

// bodyPool is a pool of memory of released bodies, for the next encoder.
var bodyPool = sync.Pool{New: func() any { return new([]byte) }}

// EncodeRange calls EncodeRange of the builder, and appends the body to l.
func (l *Bodies) EncodeRange(b *Builder, dst []byte, h Header, from, to int) []byte {
	start := len(dst)
	e := b.encodeRange(&dst, h, from, to)
	defer e.release()
	size := int64(cap(e.body))
	if bodyBytes.Add(size) > maxBodyBytes {
		bodyBytes.Add(-size)
		l.Skip()
		return dst
	}
	l.bytes += size
	l.bodies = append(l.bodies, plainBody{header: [headerSize]byte(dst[start:]), body: e.body})
	e.body = *bodyPool.Get().(*[]byte)
	return dst
}

// Skip counts a batch whose body is not passed.
func (l *Bodies) Skip() { l.bodies = append(l.bodies, plainBody{}) }

// Release frees the memory of the bodies. They must not be read afterwards.
func (l *Bodies) Release() {
	for _, b := range l.bodies {
		if body := b.body; body != nil && cap(body) <= maxScratch {
			bodyPool.Put(&body)
		}
	}
	bodyBytes.Add(-l.bytes)
	*l = Bodies{}
}

// Decode decodes the batch src, which was encoded as number i of l, counted from 0. It copies the body if l has
// it, and otherwise decompresses the batch.
func (l *Bodies) Decode(i int, src, mem []byte) (*Batch, error) {
	body := l.body(i, src)
	if body == nil || cap(mem) < len(body) {
		return Decode(src, mem)
	}
	if err := checkEnvelope(src); err != nil {
		return nil, err
	}
	f, err := parseHeader(src)
	if err != nil {
		return nil, err
	}
	if checkBodies {
		if err := compareBody(src, body); err != nil {
			return nil, err
		}
	}
	return Reopen(f.Header, f.columns, mem[:copy(mem[:f.body], body)])
}

// body returns the body of a batch, or nil if l does not have it.
func (l *Bodies) body(i int, src []byte) []byte {
	if l == nil || i >= len(l.bodies) || len(src) < headerSize || [headerSize]byte(src) != l.bodies[i].header {
		return nil
	}
	return l.bodies[i].body
}

// compareBody returns an error if a batch does not decompress to the body.
func compareBody(src, body []byte) error {
	b, err := Decode(src, nil)
	if err != nil {
		return fmt.Errorf("column batch: inflate a batch that this process has just encoded: %w", err)
	}
	if !bytes.Equal(b.Mem, body) {
		return errors.New("column batch: the batch does not inflate to the body from which it was encoded")
	}
	return nil
}

type bodiesKey struct{}

// WithBodies returns a context that carries bodies to the reader of their batches.
func WithBodies(ctx context.Context, l *Bodies) context.Context {
	if l == nil {
		return ctx
	}
	return context.WithValue(ctx, bodiesKey{}, l)
}

// BodiesOf returns the bodies in a context.
func BodiesOf(ctx context.Context) *Bodies {
	l, _ := ctx.Value(bodiesKey{}).(*Bodies)
	return l
}
