package worker

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"cordwood/proto/column"
)

// encoder builds a message.
type encoder struct {
	buf  []byte
	last map[reflect.Type]lastSlice
	// locate reports the position of memory in the shared file. It is nil if nothing is shared.
	locate func([]byte) (int64, bool)
	// bodies are the memory of batches that is sent after the message.
	bodies [][]byte
}

// lastSlice is the position of a slice in memory, and of its encoded form in the encoder's buffer.
type lastSlice struct {
	data     uintptr
	length   int
	from, to int
}

// encoders is a pool of encoders. Encoders keep their buffers unless these are unusually large.
var encoders = sync.Pool{New: func() any { return &encoder{} }}

const keptEncoder = 1 << 20

// newEncoder returns an encoder for a message that follows a frame's header.
func newEncoder() *encoder {
	e := encoders.Get().(*encoder)
	e.buf = append(e.buf[:0], make([]byte, headerSize)...)
	return e
}

// free returns the encoder to the pool.
func (e *encoder) free() {
	if cap(e.buf) > keptEncoder {
		return
	}
	clear(e.last)
	clear(e.bodies)
	e.bodies, e.locate = e.bodies[:0], nil
	encoders.Put(e)
}

// encode appends v to the encoder's message.
func (e *encoder) encode(v any) {
	if e.last == nil {
		e.last = map[reflect.Type]lastSlice{}
	}
	r := reflect.ValueOf(v)
	codecOf(r.Type()).put(e, r)
}

func (e *encoder) text(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// decoder reads a message. Texts in the result are substrings of the message.
type decoder struct {
	src  string
	err  error
	last map[reflect.Type]reflect.Value
	// memory is the shared file, or nil if nothing is shared.
	memory []byte
	// batches holds the cached batches of the shared file; it may be nil.
	batches *batches
	// pending are the batches whose memory follows the message.
	pending []pendingBatch
}

// decode reads a T.
func decode[T any](d *decoder) (T, error) {
	var v T
	d.last = map[reflect.Type]reflect.Value{}
	codecOf(reflect.TypeFor[T]()).take(d, reflect.ValueOf(&v).Elem())
	if d.err == nil && len(d.src) > 0 {
		d.fail("%d bytes follow the end of the message", len(d.src))
	}
	return v, d.err
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("message: "+format, args...)
	}
	d.src = ""
}

// number reads a number in base-128 encoding.
func (d *decoder) number() uint64 {
	var x uint64
	for i := range min(len(d.src), binary.MaxVarintLen64) {
		b := d.src[i]
		x |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.src = d.src[i+1:]
			return x
		}
	}
	d.fail("the message ends within a number")
	return 0
}

// bytes reads n bytes.
func (d *decoder) bytes(n uint64) string {
	if n > uint64(len(d.src)) {
		d.fail("%d bytes expected, but only %d are left", n, len(d.src))
		return ""
	}
	s := d.src[:n]
	d.src = d.src[n:]
	return s
}

// Where the memory of a batch is.
const (
	noBatch     = 0
	batchShared = 1 // in the shared file
	batchBehind = 2 // after the message
)

// rawHeader is a batch's header as bytes in memory. Both ends are the same build, and
// TestHeaderIsFlat checks that the header contains no references.
type rawHeader = [unsafe.Sizeof(column.Header{})]byte

// putBatch writes a batch as its header, its number of columns, and the place of its memory.
func putBatch(e *encoder, v reflect.Value) {
	b := v.Interface().(*column.Batch)
	if b == nil {
		e.buf = append(e.buf, noBatch)
		return
	}
	offset, shared := int64(0), false
	if e.locate != nil {
		offset, shared = e.locate(b.Mem)
	}
	if shared {
		e.buf = append(e.buf, batchShared)
		e.buf = binary.AppendUvarint(e.buf, uint64(offset))
	} else {
		e.buf = append(e.buf, batchBehind)
		e.bodies = append(e.bodies, b.Mem)
	}
	e.buf = binary.AppendUvarint(e.buf, uint64(len(b.Mem)))
	e.buf = binary.AppendUvarint(e.buf, uint64(len(b.Cols)))
	e.buf = append(e.buf, (*rawHeader)(unsafe.Pointer(&b.Header))[:]...)
}

// pendingBatch is a batch whose memory has not arrived yet.
type pendingBatch struct {
	batch   *column.Batch
	header  column.Header
	columns int
	size    int
}

func takeBatch(d *decoder, v reflect.Value) {
	kind := d.number()
	if kind == noBatch {
		return
	}
	offset := uint64(0)
	if kind == batchShared {
		offset = d.number()
	}
	p := pendingBatch{batch: &column.Batch{}}
	size, columns := d.number(), d.number()
	copy((*rawHeader)(unsafe.Pointer(&p.header))[:], d.bytes(uint64(len(rawHeader{}))))
	switch {
	case d.err != nil:
		return
	case size > column.MaxInflated || columns > column.MaxColumns:
		d.fail("malformed batch of %d bytes and %d columns", size, columns)
		return
	case kind == batchShared && (offset > uint64(len(d.memory)) || size > uint64(len(d.memory))-offset):
		d.fail("a batch of %d bytes at position %d exceeds the %d shared bytes", size, offset, len(d.memory))
		return
	}
	p.columns, p.size = int(columns), int(size)
	if kind != batchShared {
		d.pending = append(d.pending, p)
		v.Set(reflect.ValueOf(p.batch))
		return
	}
	key := batchKey{header: p.header, offset: offset, size: size}
	mem := d.memory[offset : offset+size]
	if b := d.batches.get(key, p.columns, mem); b != nil {
		v.Set(reflect.ValueOf(b))
		return
	}
	if err := p.open(mem); err != nil {
		d.fail("%w", err)
		return
	}
	v.Set(reflect.ValueOf(p.batch))
	d.batches.put(key, p.batch)
}

// open opens the batch in its memory.
func (p *pendingBatch) open(mem []byte) error {
	b, err := column.Reopen(p.header, p.columns, mem)
	if err != nil {
		return err
	}
	*p.batch = *b
	return nil
}
