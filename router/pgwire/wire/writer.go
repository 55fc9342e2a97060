package wire

import (
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// flushBytes is the size of buffered data at which Spill writes it.
const flushBytes = 32 << 10

// Writer buffers messages and writes them. After an error it does nothing.
type Writer struct {
	w       io.Writer
	buf     []byte
	err     error
	written int64
}

// NewWriter returns a writer.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, buf: make([]byte, 0, 1<<10)} }

// Bytes returns the number of bytes written since the last call.
func (w *Writer) Bytes() int64 {
	n := w.written
	w.written = 0
	return n
}

// Err returns the first write error.
func (w *Writer) Err() error { return w.err }

// Send adds a message.
func (w *Writer) Send(m pgproto3.BackendMessage) {
	if w.err != nil {
		return
	}
	w.buf, w.err = m.Encode(w.buf)
	w.Spill()
}

// Spill writes the buffered data if it is large.
func (w *Writer) Spill() {
	if len(w.buf) >= flushBytes {
		_ = w.Flush() // the writer keeps the error
	}
}

// Flush writes the buffered data.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, w.err = w.w.Write(w.buf)
	w.written += int64(len(w.buf))
	if cap(w.buf) > 4*flushBytes {
		w.buf = nil // the memory of a large row is not kept
	}
	w.buf = w.buf[:0]
	return w.err
}

// Begin adds the header of a message. The caller appends the body to Buffer and calls End.
func (w *Writer) Begin(kind byte) (at int) {
	w.buf = append(w.buf, kind, 0, 0, 0, 0)
	return len(w.buf) - 4
}

// Buffer returns the buffered data. After appending to it, the caller passes the result to Replace.
func (w *Writer) Buffer() []byte { return w.buf }

// Replace sets the buffer.
func (w *Writer) Replace(buf []byte) { w.buf = buf }

// End sets the length of the message that starts at the position at.
func (w *Writer) End(at int) {
	binary.BigEndian.PutUint32(w.buf[at:], uint32(len(w.buf)-at))
	w.Spill()
}

// Drop removes an incomplete message that starts at the position at.
func (w *Writer) Drop(at int) { w.buf = w.buf[:at-1] }
