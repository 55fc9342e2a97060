package wire

import (
	"encoding/binary"
	"io"

	"github.com/jackc/pgx/v5/pgproto3"
)

// flushBytes is how much is collected before it is written.
const flushBytes = 32 << 10

// Writer collects messages and writes them. After an error it does nothing.
type Writer struct {
	w       io.Writer
	buf     []byte
	err     error
	written int64
}

// NewWriter returns a writer.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, buf: make([]byte, 0, 1<<10)} }

// Bytes returns how many bytes have been written since the last call.
func (w *Writer) Bytes() int64 {
	n := w.written
	w.written = 0
	return n
}

// Err returns the error of the connection.
func (w *Writer) Err() error { return w.err }

// Send adds a message.
func (w *Writer) Send(m pgproto3.BackendMessage) {
	if w.err != nil {
		return
	}
	w.buf, w.err = m.Encode(w.buf)
	w.Spill()
}

// Spill writes what was collected, if it is much.
func (w *Writer) Spill() {
	if len(w.buf) >= flushBytes {
		_ = w.Flush() // the error stays
	}
}

// Flush writes what was collected.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, w.err = w.w.Write(w.buf)
	w.written += int64(len(w.buf))
	if cap(w.buf) > 4*flushBytes {
		w.buf = nil // one large row does not keep its memory
	}
	w.buf = w.buf[:0]
	return w.err
}

// Begin adds the head of a message whose body is added to Buffer. End ends it.
func (w *Writer) Begin(kind byte) (at int) {
	w.buf = append(w.buf, kind, 0, 0, 0, 0)
	return len(w.buf) - 4
}

// Buffer returns what was collected; Replace puts what was added to it in its place.
func (w *Writer) Buffer() []byte { return w.buf }

// Replace takes the buffer with what was added to it.
func (w *Writer) Replace(buf []byte) { w.buf = buf }

// End sets the length of the message that Begin began.
func (w *Writer) End(at int) {
	binary.BigEndian.PutUint32(w.buf[at:], uint32(len(w.buf)-at))
	w.Spill()
}

// Drop forgets what was collected since a position, for a message that cannot be completed.
func (w *Writer) Drop(at int) { w.buf = w.buf[:at-1] }
