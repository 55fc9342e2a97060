// Package wire reads and writes messages of PostgreSQL's protocol, version 3, within bounds.
//
// pgproto3 reads and writes the content of messages. This package reads the frames of messages, because each type has a
// different size limit, and writes rows, because there are many of them. A Reader and a Writer belong to one
// connection; each is used by one goroutine at a time.
package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// The maximum sizes of message bodies, in bytes.
const (
	maxStartup  = 10_000
	maxPassword = 4 << 10
	maxText     = 512 << 10
	maxBind     = 16 << 20
	maxCopy     = 4 << 20
	maxOther    = 1 << 20
)

// bounds maps the types of messages that a client may send to their maximum sizes.
var bounds = map[byte]int{
	'p': maxPassword, 'P': maxText, 'Q': maxText, 'B': maxBind, 'd': maxCopy, 'D': maxOther, 'E': maxOther, 'C': maxOther,
	'S': maxOther, 'H': maxOther, 'X': maxOther, 'c': maxOther, 'f': maxOther, 'F': maxOther,
}

// ProtocolError is a violation of the protocol.
type ProtocolError string

func (e ProtocolError) Error() string { return string(e) }

const (
	readBuffer = 16 << 10
	// keptBody is the maximum size of a buffer that is reused for the next body.
	keptBody = 64 << 10
	// step is the memory that is allocated for a body before its bytes arrive.
	step = 64 << 10
)

// Reader reads messages.
type Reader struct {
	// Large is called before memory for more than 64 KiB of a body is allocated, with the number of bytes, which is at
	// most twice what has arrived. Next returns its error.
	Large func(bytes int) error

	r    *bufio.Reader
	head [5]byte
	body []byte
	// read is the number of bytes read.
	read int64
}

// NewReader returns a reader.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, readBuffer)} }

// Bytes returns the number of bytes read since the last call.
func (r *Reader) Bytes() int64 {
	n := r.read
	r.read = 0
	return n
}

// Buffered reports whether data has been read ahead.
func (r *Reader) Buffered() bool { return r.r.Buffered() > 0 }

// Peek returns the first byte without consuming it.
func (r *Reader) Peek() (byte, error) {
	b, err := r.r.Peek(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

// Head returns the first four bytes of the last message.
func (r *Reader) Head() string { return string(r.head[:4]) }

// Source returns the unread data, for a protocol that starts here.
func (r *Reader) Source() io.Reader { return r.r }

// Startup returns the body of the first message, which has no type byte. Its first four bytes are its code.
func (r *Reader) Startup() ([]byte, error) {
	if _, err := io.ReadFull(r.r, r.head[:4]); err != nil {
		return nil, err
	}
	n := int64(binary.BigEndian.Uint32(r.head[:4])) - 4
	if n < 4 || n > maxStartup {
		return nil, ProtocolError(fmt.Sprintf("invalid length of startup packet: %d bytes", n+4))
	}
	return r.readBody(int(n))
}

// Password returns the body of the next message, which must be a password: a client that has not signed in may send
// nothing else, and no memory is taken for anything else.
func (r *Reader) Password() ([]byte, error) {
	_, body, err := r.next('p')
	return body, err
}

// Next returns the next message. The body is valid until the next call.
func (r *Reader) Next() (kind byte, body []byte, err error) { return r.next(0) }

// next returns the next message, which must be of the type only unless that is 0.
func (r *Reader) next(only byte) (kind byte, body []byte, err error) {
	if _, err := io.ReadFull(r.r, r.head[:]); err != nil {
		return 0, nil, err
	}
	kind = r.head[0]
	most, known := bounds[kind]
	if !known {
		return 0, nil, ProtocolError(fmt.Sprintf("invalid frontend message type %d", kind))
	}
	if only != 0 && kind != only {
		return 0, nil, ProtocolError(fmt.Sprintf("expected a password message, got message %q", kind))
	}
	n := int64(binary.BigEndian.Uint32(r.head[1:])) - 4
	switch {
	case n < 0:
		return 0, nil, ProtocolError(fmt.Sprintf("invalid length of message %q: %d", kind, n+4))
	case n > int64(most):
		return 0, nil, ProtocolError(fmt.Sprintf("message %q has %d bytes; %d are allowed", kind, n, most))
	}
	body, err = r.readBody(int(n))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return kind, body, err
}

// readBody reads n bytes. Its buffer grows as data arrives.
func (r *Reader) readBody(n int) ([]byte, error) {
	r.Forget()
	r.body = r.body[:0]
	for granted := keptBody; len(r.body) < n; {
		more := min(n-len(r.body), step)
		at := len(r.body)
		if at+more > granted && r.Large != nil {
			granted = min(n, 2*granted)
			if err := r.Large(granted); err != nil {
				return nil, err
			}
		}
		r.body = append(r.body, make([]byte, more)...)
		if _, err := io.ReadFull(r.r, r.body[at:]); err != nil {
			return nil, err
		}
	}
	r.read += int64(n) + 5
	return r.body, nil
}

// Forget frees the body of the last message if it is large.
func (r *Reader) Forget() {
	if cap(r.body) > keptBody {
		r.body = nil
	}
}

// Watch waits until the client ends the connection, and returns why. Data that the client sends in the meantime is kept
// for Next. If a read deadline interrupts it, it returns nil, and if the buffer is full, ErrFull.
func (r *Reader) Watch() error {
	for n := r.r.Buffered() + 1; n <= r.r.Size(); n = r.r.Buffered() + 1 {
		if _, err := r.r.Peek(n); err != nil {
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				return nil
			}
			return err
		}
	}
	return ErrFull
}

// ErrFull is the error of Watch if the client has sent more than the buffer holds.
var ErrFull = errors.New("the buffer is full")
