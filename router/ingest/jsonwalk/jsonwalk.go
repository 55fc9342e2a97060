// Package jsonwalk reads JSON documents for receivers whose protocol uses JSON with fixed field names. They read the
// fields that they know and skip the others, in one pass and without a tree.
//
// The caller chooses for each value how to read it. A Walker belongs to one goroutine. The comment of each method
// states whether its result is valid until the next call for a text of the same kind, or as long as the document.
// Documents must be valid UTF-8.
package jsonwalk

import (
	"bytes"
	"errors"

	"cordwood/router/vrl/jsonscan"
)

// Walker is a position in a JSON document. All its methods except Kind and AtEnd move past the value that they
// read. Their errors are *jsonscan.Error, or errors from callbacks. After an error, nothing more may be read. The
// zero value is ready for Reset.
type Walker struct {
	text  jsonscan.Text
	src   []byte
	pos   int
	depth int

	key     []byte
	scratch []byte
}

// New returns a Walker at the first value of data.
func New(data []byte) *Walker {
	w := &Walker{}
	w.Reset(data)
	return w
}

// Reset starts reading another document.
func (w *Walker) Reset(data []byte) {
	w.text = jsonscan.NewText(data)
	w.src, w.depth = w.text.Bytes(), 0
	w.pos = w.text.Space(0)
}

// Kind returns the kind of the next value by its first byte: '{', '[', '"', 't', 'f', 'n', '0' for a number, and 0
// if it is not a value.
func (w *Walker) Kind() byte {
	switch c := w.src[w.pos]; {
	case c == '{', c == '[', c == '"', c == 't', c == 'f', c == 'n':
		return c
	case c == '-', c >= '0' && c <= '9':
		return '0'
	}
	return 0
}

// AtEnd reports whether only white space is left.
func (w *Walker) AtEnd() bool {
	w.pos = w.text.Space(w.pos)
	return w.pos >= w.text.Len()
}

// Pos returns the offset of the position in the document.
func (w *Walker) Pos() int { return w.pos }

// Since returns the document from an offset to the position, valid as long as the document.
func (w *Walker) Since(from int) []byte { return w.src[from:w.pos:w.pos] }

// Expect returns an error if the next value is not of the kind. want is the name of the kind for the error.
func (w *Walker) Expect(kind byte, want string) error {
	if w.Kind() != kind {
		return w.text.Unexpected(w.pos, want)
	}
	return nil
}

// Object reads an object and calls each for its members in order. each must read the value. The key is
// valid until each reads a member of another object.
func (w *Walker) Object(each func(key []byte) error) error {
	if err := w.enter('{', "an object"); err != nil {
		return err
	}
	if w.src[w.pos] == '}' {
		return w.leave()
	}
	for {
		if w.src[w.pos] != '"' {
			return w.text.Unexpected(w.pos, "a key in quotes")
		}
		key, err := w.quoted(&w.key)
		if err != nil {
			return err
		}
		if w.pos, err = w.text.Colon(w.pos); err != nil {
			return err
		}
		if err := each(key); err != nil {
			return err
		}
		w.pos = w.text.Space(w.pos)
		switch w.src[w.pos] {
		case ',':
			w.pos = w.text.Space(w.pos + 1)
		case '}':
			return w.leave()
		default:
			return w.text.Unexpected(w.pos, "',' or '}'")
		}
	}
}

// Array reads an array and calls each for its elements in order. each must read the element.
func (w *Walker) Array(each func(i int) error) error {
	if err := w.enter('[', "an array"); err != nil {
		return err
	}
	if w.src[w.pos] == ']' {
		return w.leave()
	}
	for i := 0; ; i++ {
		if err := each(i); err != nil {
			return err
		}
		w.pos = w.text.Space(w.pos)
		switch w.src[w.pos] {
		case ',':
			w.pos = w.text.Space(w.pos + 1)
		case ']':
			return w.leave()
		default:
			return w.text.Unexpected(w.pos, "',' or ']'")
		}
	}
}

func (w *Walker) enter(open byte, want string) error {
	if w.src[w.pos] != open {
		return w.text.Unexpected(w.pos, want)
	}
	if w.depth++; w.depth > jsonscan.MaxDepth {
		return jsonscan.TooDeep(w.pos)
	}
	w.pos = w.text.Space(w.pos + 1)
	return nil
}

func (w *Walker) leave() error {
	w.depth--
	w.pos++
	return nil
}

// String reads a string. If inPlace is true, it is valid as long as the document, otherwise until the next call of
// String.
func (w *Walker) String() (s []byte, inPlace bool, err error) {
	if w.src[w.pos] != '"' {
		return nil, false, w.text.Unexpected(w.pos, "a string")
	}
	end := jsonscan.StringEnd(w.src, w.pos+1)
	inPlace = w.src[end] == '"'
	s, err = w.quoted(&w.scratch)
	return s, inPlace, err
}

// quoted reads the next string, in place if it has no escapes, otherwise into the buffer.
func (w *Walker) quoted(buf *[]byte) ([]byte, error) {
	from := w.pos + 1
	if end := jsonscan.StringEnd(w.src, from); w.src[end] == '"' {
		w.pos = end + 1
		return w.src[from:end:end], nil
	}
	out, next, err := w.text.AppendString((*buf)[:0], from)
	*buf = out
	if err != nil {
		return nil, err
	}
	w.pos = next
	return out, nil
}

// Number reads a number. kind reports whether i or f is set, as in jsonscan.Text.Number. text is the original text,
// valid as long as the document.
func (w *Walker) Number() (kind jsonscan.NumberKind, i int64, f float64, text []byte, err error) {
	from := w.pos
	next, kind, i, f := w.text.Number(from)
	if kind == jsonscan.BadNumber {
		return kind, 0, 0, nil, w.text.NumberError(from, next)
	}
	w.pos = next
	return kind, i, f, w.src[from:next:next], nil
}

// Raw reads any value, checks that it is JSON, and returns its original text. The text is valid as long as the
// document.
func (w *Walker) Raw() ([]byte, error) {
	from := w.pos
	next, err := w.text.Skip(from, w.depth)
	if err != nil {
		return nil, err
	}
	w.pos = next
	return w.src[from:next:next], nil
}

// Skip reads any value and discards it.
func (w *Walker) Skip() error {
	_, err := w.Raw()
	return err
}

// Null reads a null and returns true. If the next value is not null, it returns false and reads nothing.
func (w *Walker) Null() bool {
	if w.src[w.pos] != 'n' || !w.text.IsNull(w.pos) {
		return false
	}
	w.pos += len("null")
	return true
}

// Values reads the values of a body: values one after another, where elements of arrays count as values. each must
// read the value at w before it passes anything on. If the text outside of arrays is malformed, bad is called for
// its line, and from then on each line must contain a value. Values returns an error if an array is malformed, or
// an error from a callback.
func Values(body []byte, each func(w *Walker) error, bad func(line []byte, err error) error) error {
	w := New(body)
	for !w.AtEnd() {
		start := w.Pos()
		if w.Kind() == '[' {
			if err := w.Array(func(int) error { return each(w) }); err != nil {
				return err
			}
			continue
		}
		err := each(w)
		if syntax := (*jsonscan.Error)(nil); errors.As(err, &syntax) {
			return lines(body[start:], each, bad)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lines reads a body with a value on each line.
func lines(body []byte, each func(w *Walker) error, bad func(line []byte, err error) error) error {
	w := &Walker{}
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte{'\n'})
		if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
			continue
		}
		w.Reset(line)
		err := one(w, each)
		if syntax := (*jsonscan.Error)(nil); errors.As(err, &syntax) {
			err = bad(line, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one calls each for every value of a line. If a later value is invalid, each has already been called for the values
// before it.
func one(w *Walker, each func(w *Walker) error) error {
	for {
		if err := each(w); err != nil || w.AtEnd() {
			return err
		}
	}
}
