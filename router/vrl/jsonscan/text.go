// Package jsonscan reads JSON in place: it finds the ends of strings, distinguishes integers from floats, decodes
// escapes, skips values, and writes values as canonical text. It follows RFC 8259 strictly and allocates no memory
// for values.
//
// It is not a decoder: it builds no tree and has no callbacks. The caller reads the objects itself (see
// router/pipeline) and requests one token at a time by position.
//
// It does not check UTF-8, because checking a whole body at once is almost free. Callers must check that the text
// is valid UTF-8. Otherwise invalid bytes inside strings are passed through unchanged.
//
// Where the RFC leaves a choice: the escape of a lone surrogate becomes U+FFFD; a number too large for float64
// (1e400) is malformed anywhere; and containers may be nested MaxDepth deep.
//
// A Text is immutable and may be shared. A Writer serves one goroutine.
package jsonscan

import (
	"encoding/binary"
	"fmt"
)

const (
	// Padding is how many bytes after the text the scanner may read.
	Padding = 16
	// MaxDepth is the deepest allowed nesting of arrays and objects.
	MaxDepth = 128
	// MaxKeys limits the number of keys of all open objects where keys must be remembered: in a record, or in the
	// objects inside an array.
	MaxKeys = 1 << 18
)

// Text is JSON text that can be scanned in place. Positions are offsets into it.
//
// A token never extends past the text, because the byte after the text is a control character, which ends any
// token. Only Space could skip it, and Space checks the bound.
type Text struct {
	src []byte // the text and Padding more bytes
	n   int
}

// NewText returns a view of data if data has Padding bytes of spare capacity and the first of them is zero, '\n' or
// '\r', as after a pooled body or a line in it. Otherwise it returns a view of a copy.
func NewText(data []byte) Text {
	n := len(data)
	if cap(data)-n >= Padding {
		src := data[:n+Padding]
		if c := src[n]; c == 0 || c == '\n' || c == '\r' {
			return Text{src, n}
		}
	}
	src := make([]byte, n+Padding)
	copy(src, data)
	return Text{src, n}
}

// Bytes returns the text with its padding. From any position of the text, up to Padding bytes may be read.
func (t Text) Bytes() []byte { return t.src }

// Len returns the length of the text.
func (t Text) Len() int { return t.n }

// Space returns the position of the first byte from pos on that is not white space.
func (t Text) Space(pos int) int {
	for pos < t.n {
		switch t.src[pos] {
		case ' ', '\n', '\t', '\r':
			pos++
		default:
			return pos
		}
	}
	return pos
}

// IsTrue reports whether the text continues with true at pos.
func (t Text) IsTrue(pos int) bool {
	return binary.LittleEndian.Uint32(t.src[pos:]) == 't'|'r'<<8|'u'<<16|'e'<<24
}

// IsFalse reports whether the text continues with false at pos.
func (t Text) IsFalse(pos int) bool {
	return binary.LittleEndian.Uint32(t.src[pos:]) == 'f'|'a'<<8|'l'<<16|'s'<<24 && t.src[pos+4] == 'e'
}

// IsNull reports whether the text continues with null at pos.
func (t Text) IsNull(pos int) bool {
	return binary.LittleEndian.Uint32(t.src[pos:]) == 'n'|'u'<<8|'l'<<16|'l'<<24
}

// Error is malformed JSON. Its text is formatted only when it is needed, so that skipping many malformed lines is
// cheap.
type Error struct {
	// Offset is the position of the fault in the text, in bytes.
	Offset int
	msg    string
	got    int // the byte found instead of what msg expects; -1: the end; see errorPlain
}

// errorPlain in Error.got says that msg is the whole message.
const errorPlain = -2

// NewError returns an error with the message.
func NewError(offset int, msg string) *Error { return &Error{offset, msg, errorPlain} }

// Message describes the fault without its position.
func (e *Error) Message() string {
	switch {
	case e.got == errorPlain:
		return e.msg
	case e.got < 0:
		return "unexpected end, expected " + e.msg
	case e.got >= ' ' && e.got < 0x7f:
		return fmt.Sprintf("unexpected character '%c', expected %s", e.got, e.msg)
	}
	return fmt.Sprintf("unexpected byte 0x%02x, expected %s", e.got, e.msg)
}

func (e *Error) Error() string { return fmt.Sprintf("%s at byte offset %d", e.Message(), e.Offset) }

// Unexpected returns the error for an unexpected byte at pos. want describes what was expected.
func (t Text) Unexpected(pos int, want string) *Error {
	if pos >= t.n {
		return &Error{t.n, want, -1}
	}
	return &Error{pos, want, int(t.src[pos])}
}

// TooDeep returns the error for a container at pos that exceeds MaxDepth.
func TooDeep(pos int) *Error { return NewError(pos, tooDeep) }

// TooLarge reports whether the text is JSON that exceeds the limit on depth or keys.
func (e *Error) TooLarge() bool {
	return e.got == errorPlain && (e.msg == tooDeep || e.msg == tooManyKeys)
}

// TooManyKeys returns the error for a key at pos that exceeds MaxKeys.
func TooManyKeys(pos int) *Error { return NewError(pos, tooManyKeys) }

var (
	tooDeep     = fmt.Sprintf("nested deeper than %d levels", MaxDepth)
	tooManyKeys = fmt.Sprintf("more than %d keys in one value", MaxKeys)
)
