package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// maxRecord is the maximum size of one record, and of one batch.
	maxRecord = 64 << 20
	// peekBytes is the number of bytes from which the format of a file is guessed.
	peekBytes = 64 << 10
)

// chunk is a batch of records, with its position in the file.
type chunk struct {
	Data        []byte
	first, last int64 // numbers of the first and last line or value, from 1
}

// Splitter splits a file into batches.
type Splitter interface {
	// Next returns the next batch, of the target size or more, in buf if it fits. It returns io.EOF
	// at the end of the file.
	Next(buf []byte, target int) (chunk, error)
	// unit returns what the splitter counts.
	unit() string
}

// NewSplitter returns a splitter of a file.
func NewSplitter(r *bufio.Reader, format InputFormat) Splitter {
	return newLiveSplitter(r, nil, format)
}

// newLiveSplitter returns a splitter of r, which reads live: a batch also ends when it has waited
// for its time limit.
func newLiveSplitter(r *bufio.Reader, live *stream, format InputFormat) Splitter {
	if format == formatJSON {
		return &valueSplitter{r: r, live: live}
	}
	return &lineSplitter{r: r, live: live}
}

// lineSplitter splits at line ends.
type lineSplitter struct {
	r    *bufio.Reader
	live *stream
	line int64  // lines that were returned
	part []byte // the start of a line that was incomplete when the last batch had to be sent
}

func (s *lineSplitter) unit() string { return "lines" }

func (s *lineSplitter) Next(buf []byte, target int) (chunk, error) {
	buf = append(buf[:0], s.part...)
	s.part = s.part[:0]
	first, whole := s.line+1, 0 // whole is the end of the last complete line
	defer s.live.end()
	for whole < target {
		var err error
		buf, err = s.appendLine(buf, whole)
		if errors.Is(err, errPause) {
			s.part = append(s.part, buf[whole:]...)
			break // there is a line, because without one no batch waits
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return chunk{}, err
		}
		if len(buf) == whole {
			break
		}
		whole = len(buf)
		s.line++
		s.live.begin()
	}
	if whole == 0 {
		return chunk{}, io.EOF
	}
	return chunk{Data: buf[:whole], first: first, last: s.line}, nil
}

// appendLine appends the next line, which begins at start, with its line end; at the end of the
// file it appends nothing.
func (s *lineSplitter) appendLine(buf []byte, start int) ([]byte, error) {
	for {
		part, err := s.r.ReadSlice('\n')
		buf = append(buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, err
		}
		if len(buf)-start > maxRecord {
			return buf, fmt.Errorf("line %d is longer than %d MiB", s.line+1, maxRecord>>20)
		}
	}
}

// valueSplitter splits between the JSON values of a file, which may follow each other with or
// without white space, and the elements of an array of records. It finds the ends of values and
// leaves their validation to the server.
type valueSplitter struct {
	r     *bufio.Reader
	live  *stream
	value int64 // values that were returned
	state valueState
}

// valueState is the position of a valueSplitter in a file.
type valueState uint8

const (
	betweenValues valueState = iota // outside any array
	arrayStart                      // a value or the end of the array
	afterComma                      // a value
	afterValue                      // a comma or the end of the array
)

func (s *valueSplitter) unit() string { return "records" }

func (s *valueSplitter) Next(buf []byte, target int) (chunk, error) {
	buf = append(buf[:0], '[')
	from := s.value + 1
	defer s.live.end()
	for (len(buf) == 1 || len(buf) < target) && !s.live.late() {
		found, err := s.seek()
		if errors.Is(err, errPause) {
			break // there is a value, because without one no batch waits
		}
		if err != nil {
			return chunk{}, fmt.Errorf("record %d: %w", s.value+1, err)
		}
		if !found {
			break
		}
		if len(buf) > 1 {
			buf = append(buf, ',')
		}
		if buf, err = s.appendValue(buf); err != nil {
			return chunk{}, fmt.Errorf("record %d: %w", s.value+1, err)
		}
		s.value++
		s.live.begin()
	}
	if len(buf) == 1 {
		return chunk{}, io.EOF
	}
	return chunk{Data: append(buf, ']'), first: from, last: s.value}, nil
}

// seek moves to the start of the next value; it returns false at the end of the file.
func (s *valueSplitter) seek() (bool, error) {
	for {
		c, err := s.peekByte()
		if err != nil {
			return false, s.ended(err)
		}
		switch {
		case isSpace(c):
		case c == '[' && s.state == betweenValues:
			s.state = arrayStart
		case c == ']' && (s.state == arrayStart || s.state == afterValue):
			s.state = betweenValues
		case c == ',' && s.state == afterValue:
			s.state = afterComma
		case s.state == afterValue, bytes.IndexByte([]byte(",]}:"), c) >= 0:
			return false, fmt.Errorf("unexpected %q: the file is not valid JSON from here on", c)
		default:
			if !startsValue(c) {
				return false, s.notJSON()
			}
			if s.state != betweenValues {
				s.state = afterValue // the state after the value
			}
			return true, nil
		}
		if _, err := s.r.Discard(1); err != nil {
			return false, err
		}
	}
}

// ended returns the error for a file that cannot be read further, or nil if it ended between values.
func (s *valueSplitter) ended(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if s.state != betweenValues {
		return errors.New("the file ends within an array")
	}
	return nil
}

// isSpace reports whether c may stand between JSON values.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// startsValue reports whether a JSON value may start with c.
func startsValue(c byte) bool {
	return c >= '0' && c <= '9' || bytes.IndexByte([]byte("{[\"-tfn"), c) >= 0
}

// notJSON returns the error for the next text of the file.
func (s *valueSplitter) notJSON() error {
	text, _ := s.r.Peek(min(s.r.Buffered(), maxExcerpt)) // this does not block: the bytes are buffered
	return notJSON(text)
}

// maxExcerpt is the maximum size of the excerpt in an error, in bytes.
const maxExcerpt = 40

// notJSON returns the error for text where a JSON value should be.
func notJSON(text []byte) error {
	text, _, _ = bytes.Cut(text[:min(len(text), maxExcerpt)], []byte("\n"))
	return fmt.Errorf("%q is not JSON: if the file has lines of text, send it with --format text", text)
}

// checkJSONLines checks the start of NDJSON input: it must not be a line of text.
func checkJSONLines(r *bufio.Reader, guess func(*bufio.Reader) (InputFormat, error)) error {
	if found, err := guess(r); err != nil || found != FormatText {
		return err
	}
	head, err := r.Peek(r.Buffered())
	if start := bytes.TrimLeft(head, " \t\r\n"); err == nil && len(start) > 0 && !startsValue(start[0]) {
		return notJSON(start)
	}
	return nil
}

func (s *valueSplitter) peekByte() (byte, error) {
	b, err := s.r.Peek(1)
	if len(b) == 0 {
		return 0, err
	}
	return b[0], nil
}

// appendValue appends the value that starts here.
func (s *valueSplitter) appendValue(buf []byte) ([]byte, error) {
	var v valueScanner
	start := len(buf)
	for {
		if _, err := s.peekByte(); err != nil {
			if errors.Is(err, errPause) {
				continue // the batch ends after this value
			}
			if errors.Is(err, io.EOF) && v.depth == 0 && !v.inString {
				return buf, nil
			}
			if errors.Is(err, io.EOF) {
				return buf, errors.New("the file ends within a value")
			}
			return buf, err
		}
		window, err := s.r.Peek(s.r.Buffered())
		if err != nil {
			return buf, err
		}
		n, done := v.scan(window)
		buf = append(buf, window[:n]...)
		if _, err := s.r.Discard(n); err != nil {
			return buf, err
		}
		if done {
			return buf, nil
		}
		if len(buf)-start > maxRecord {
			return buf, fmt.Errorf("longer than %d MiB", maxRecord>>20)
		}
	}
}

// valueScanner finds the end of a JSON value.
type valueScanner struct {
	depth    int
	scalar   bool // a number or a word, which ends where something else starts
	inString bool
	escaped  bool
}

// scan returns the length of the part of text that belongs to the value, and whether the value ends
// there.
func (v *valueScanner) scan(text []byte) (n int, done bool) {
	for i, c := range text {
		switch {
		case v.inString:
			if v.endsString(c) && v.depth == 0 {
				return i + 1, true
			}
		case v.scalar && bytes.IndexByte([]byte(`"{[`), c) >= 0:
			return i, true
		case c == '"':
			v.inString = true
		case c == '{' || c == '[':
			v.depth++
		case (c == '}' || c == ']') && v.depth > 0:
			if v.depth--; v.depth == 0 {
				return i + 1, true
			}
		case v.depth == 0 && endsScalar(c):
			return i, true
		default:
			v.scalar = v.depth == 0
		}
	}
	return len(text), false
}

// endsScalar reports whether a number or a word ends before c.
func endsScalar(c byte) bool { return c == ',' || c == '}' || c == ']' || isSpace(c) }

// endsString processes a byte of a string, and reports whether it is the closing quote.
func (v *valueScanner) endsString(c byte) bool {
	switch {
	case v.escaped:
		v.escaped = false
	case c == '\\':
		v.escaped = true
	case c == '"':
		v.inString = false
	}
	return !v.inString
}
