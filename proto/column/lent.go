package column

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Lent holds the uncompressed bodies of batches. The encoder of a batch lends them to a reader in
// the same process, which copies them instead of decompressing the batch. A nil Lent is empty.
//
// The lender owns the memory of the bodies. They may be read only until the call to which they are lent returns; then
// the lender releases them. All data of a Lent comes from this process, so it is trusted.
type Lent struct {
	bodies []lentBody
	bytes  int64
}

// lentBody is the body of a batch with this header; nil if it was not lent.
type lentBody struct {
	header [headerSize]byte
	body   []byte
}

// maxLent is the maximum memory of all lent bodies together, in bytes. Bodies beyond it are not
// lent.
const maxLent = 64 << 20

var lentBytes atomic.Int64

// bodies is a pool of memory of lent bodies, for the next encoder.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// EncodeRange calls EncodeRange of the builder, and appends the body to l.
func (l *Lent) EncodeRange(b *Builder, dst []byte, h Header, from, to int) []byte {
	start := len(dst)
	e := b.encodeRange(&dst, h, from, to)
	defer e.release()
	size := int64(cap(e.body))
	if lentBytes.Add(size) > maxLent {
		lentBytes.Add(-size)
		l.Skip()
		return dst
	}
	l.bytes += size
	l.bodies = append(l.bodies, lentBody{header: [headerSize]byte(dst[start:]), body: e.body})
	e.body = *bodies.Get().(*[]byte)
	return dst
}

// Skip counts a batch whose body is not lent.
func (l *Lent) Skip() { l.bodies = append(l.bodies, lentBody{}) }

// Release ends the loan. The bodies must not be read afterwards.
func (l *Lent) Release() {
	for _, b := range l.bodies {
		if body := b.body; body != nil && cap(body) <= maxScratch {
			bodies.Put(&body)
		}
	}
	lentBytes.Add(-l.bytes)
	*l = Lent{}
}

// Decode decodes the batch src, which was encoded as number i of l, counted from 0. It copies the body if it is lent,
// and otherwise decompresses the batch.
func (l *Lent) Decode(i int, src, mem []byte) (*Batch, error) {
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
	if checkLent {
		if err := compareLent(src, body); err != nil {
			return nil, err
		}
	}
	return Reopen(f.Header, f.columns, mem[:copy(mem[:f.body], body)])
}

// body returns the body that was lent with a batch, or nil.
func (l *Lent) body(i int, src []byte) []byte {
	if l == nil || i >= len(l.bodies) || len(src) < headerSize || [headerSize]byte(src) != l.bodies[i].header {
		return nil
	}
	return l.bodies[i].body
}

// compareLent returns an error if a batch does not decompress to its lent body.
func compareLent(src, body []byte) error {
	b, err := Decode(src, nil)
	if err != nil {
		return fmt.Errorf("column batch: inflate a batch that this process has just encoded: %w", err)
	}
	if !bytes.Equal(b.Mem, body) {
		return errors.New("column batch: the batch does not inflate to the body from which it was encoded")
	}
	return nil
}

type lentKey struct{}

// WithLent returns a context that carries bodies to the reader of their batches.
func WithLent(ctx context.Context, l *Lent) context.Context {
	if l == nil {
		return ctx
	}
	return context.WithValue(ctx, lentKey{}, l)
}

// LentOf returns the bodies in a context.
func LentOf(ctx context.Context) *Lent {
	l, _ := ctx.Value(lentKey{}).(*Lent)
	return l
}
