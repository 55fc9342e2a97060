// Package jsonscan reads JSON in place: it finds the ends of strings, tells integers
// from floats, decodes escapes, skips values that are not needed and writes what becomes text
// in one canonical form. It is strict RFC 8259 and allocates nothing for a value.
//
// It is not a decoder: it builds no tree and has no callbacks. The caller walks the
// objects itself (see router/pipeline) and asks for one token at a time, by position.
//
// UTF-8 is not checked here, since checking a whole body at once costs almost nothing:
// a caller must have found the text to be valid UTF-8. Invalid bytes inside strings
// would go through unchanged; nothing worse happens.
//
// Choices where the RFC leaves one: a lone surrogate escape becomes U+FFFD; a number
// whose magnitude is beyond float64 (1e400) is refused as malformed, wherever it
// stands; containers may nest MaxDepth deep.
//
// A Text is an immutable view and may be shared; a Writer serves one goroutine.
package jsonscan

import (
	"encoding/binary"
	"fmt"
)

const (
	// Padding is the number of bytes after a text that scanning may read.
	Padding = 16
	// MaxDepth is the deepest nesting of arrays and objects that is accepted.
	MaxDepth = 128
	// MaxKeys bounds the keys of the objects that are open at one time, where keys
	// must be remembered: in a record, or in the objects within an array.
	MaxKeys = 1 << 18
)

// Text is JSON text that can be scanned in place. Positions are offsets into it.
//
// A token never reaches past the text: the byte that follows it is a control
// character, which ends any token, and Space alone would cross it and is bounded.
type Text struct {
	src []byte // the text and Padding bytes more
	n   int
}

// NewText returns a view of data if data has Padding bytes of spare capacity that the
// first is zero, '\n' or '\r' (as at the end of a pooled body, or of a line in it),
// and else of a copy of data.
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

// Bytes returns the text with its padding: reading up to Padding bytes from any position
// of the text stays inside.
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

// Error is malformed JSON. Its text is made when it is asked for, so that skipping many
// malformed lines costs little.
type Error struct {
	// Offset is where in the text the fault was met, in bytes.
	Offset int
	msg    string
	got    int // the byte that was met instead of what msg wants; -1: the end; see errorPlain
}

// errorPlain in Error.got says that msg is the whole message.
const errorPlain = -2

// NewError returns an error with that message.
func NewError(offset int, msg string) *Error { return &Error{offset, msg, errorPlain} }

// Message says what is wrong, but not where.
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

// Unexpected returns the error for a byte at pos that cannot stand there; want says what could.
func (t Text) Unexpected(pos int, want string) *Error {
	if pos >= t.n {
		return &Error{t.n, want, -1}
	}
	return &Error{pos, want, int(t.src[pos])}
}

// TooDeep returns the error for a container at pos that would be nested beyond MaxDepth.
func TooDeep(pos int) *Error { return NewError(pos, tooDeep) }

// TooLarge reports whether the text is JSON that breaks a limit, of depth or of keys.
func (e *Error) TooLarge() bool {
	return e.got == errorPlain && (e.msg == tooDeep || e.msg == tooManyKeys)
}

// TooManyKeys returns the error for a key at pos that is one more than MaxKeys.
func TooManyKeys(pos int) *Error { return NewError(pos, tooManyKeys) }

var (
	tooDeep     = fmt.Sprintf("nested deeper than %d levels", MaxDepth)
	tooManyKeys = fmt.Sprintf("more than %d keys in one value", MaxKeys)
)
