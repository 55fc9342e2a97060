package native

import (
	"bytes"
	"errors"
	"math"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/router/vrl/jsonscan"
)

// json reads a stream of values, with or without white space between them. An object is a record, and so is each
// element of an array.
func (s *reader) json() error {
	s.pad()
	// The stream ends before text that is not UTF-8, as if the body ended there.
	limit, badUTF8 := len(s.body), math.MaxInt
	if !s.valid {
		badUTF8 = invalidAt(s.body)
		limit = badUTF8
	}
	pos, err := s.stream(0, limit)
	e := (*jsonscan.Error)(nil)
	switch {
	case err == nil && badUTF8 == math.MaxInt:
		return nil
	case err == nil:
		e = jsonscan.NewError(badUTF8, notUTF8)
		pos = badUTF8
	case !errors.As(err, &e):
		return err
	}
	if e.Offset >= badUTF8 {
		e = jsonscan.NewError(badUTF8, notUTF8)
	}
	if s.opt.SkipError {
		if next, ok := s.nextLine(pos); ok {
			s.refuse(s.body[pos:next], func() error { return s.syntaxError(e) })
			return s.linesOfJSON(next)
		}
	}
	if s.opt.IgnoreErrors {
		s.refuse(s.restOfLine(max(pos, 0)), func() error { return s.syntaxError(e) })
		return nil
	}
	return s.syntaxError(e)
}

const notUTF8 = "invalid UTF-8"

func (s *reader) syntaxError(e *jsonscan.Error) error {
	advice := ""
	if e.TooLarge() {
		// Within an array, the start of the next record is not known.
		advice = largeAdvice + "; of application/x-ndjson skip_error=true leaves such records out"
	} else if at := e.Offset; at < len(s.body) && (at == 0 || s.body[at-1] == '\n') {
		advice = textAdvice
	}
	return errs.New(errs.InvalidArguments, "Failed to parse payload as json: %s at %s%s", e.Message(), s.place(e.Offset),
		advice)
}

// stream reads the values in body[pos:limit]. With a *jsonscan.Error, it returns the position of the top-level
// value that has the fault, or -1 if the value is inside an array.
func (s *reader) stream(pos, limit int) (int, error) {
	t := jsonscan.NewText(s.body[:limit])
	data := t.Bytes()[:limit]
	for {
		if pos = t.Space(pos); pos >= limit {
			return pos, nil
		}
		var next int
		var err error
		switch data[pos] {
		case '{':
			next, err = s.run.ScanRecord(data, pos)
		case '[':
			if next, err = s.array(t, data, pos); err != nil {
				return -1, err
			}
		default:
			next, err = s.scalar(t, pos)
		}
		if err != nil {
			return pos, err
		}
		pos = next
	}
}

func (s *reader) array(t jsonscan.Text, data []byte, pos int) (int, error) {
	src := t.Bytes()
	pos = t.Space(pos + 1)
	if src[pos] == ']' {
		return pos + 1, nil
	}
	for {
		next, err := s.run.ScanRecord(data, pos)
		if err != nil {
			return pos, err
		}
		next = t.Space(next)
		switch {
		case next >= t.Len():
		case src[next] == ',':
			pos = t.Space(next + 1)
			continue
		case src[next] == ']':
			return next + 1, nil
		}
		return next, t.Unexpected(next, "',' or ']'")
	}
}

// scalar handles a top-level value that is neither an object nor an array.
func (s *reader) scalar(t jsonscan.Text, pos int) (int, error) {
	next, err := t.Skip(pos, 0)
	if err != nil {
		return pos, err
	}
	return next, s.badLine(s.body[pos:next], func() error {
		return errs.New(errs.InvalidArguments,
			"Invalid JSON: a top-level value must be an object or an array of objects, at %s", s.place(pos))
	})
}

// nextLine finds the line from which a stream can be read again after the value at pos failed. This requires that
// each value is on a separate line. nextLine assumes it if the next line that is not blank starts like a record, or
// if the failed value starts the last of several lines.
func (s *reader) nextLine(pos int) (int, bool) {
	if pos < 0 {
		return 0, false
	}
	next := len(s.body)
	if i := bytes.IndexByte(s.body[pos:], '\n'); i >= 0 {
		next = pos + i + 1
	}
	if rest := bytes.TrimLeft(s.body[next:], " \t\r\n"); len(rest) > 0 {
		return next, rest[0] == '{'
	}
	before := bytes.TrimRight(s.body[:pos], " \t\r")
	return next, len(before) > 0 && before[len(before)-1] == '\n'
}

// linesOfJSON reads the rest of a stream from the line at pos, each line separately, and skips malformed lines.
func (s *reader) linesOfJSON(pos int) error {
	for pos < len(s.body) {
		end := bytes.IndexByte(s.body[pos:], '\n')
		if end < 0 {
			end = len(s.body)
		} else {
			end += pos
		}
		at, err := s.validStream(pos, end)
		if e := (*jsonscan.Error)(nil); errors.As(err, &e) {
			s.refuse(s.body[max(at, pos):end], func() error { return s.syntaxError(e) })
		} else if err != nil {
			return err
		}
		pos = end + 1
	}
	return nil
}

// restOfLine returns the body from pos to the end of the line.
func (s *reader) restOfLine(pos int) []byte {
	rest := s.body[pos:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// validStream is like stream, for a line that may not be valid UTF-8.
func (s *reader) validStream(pos, end int) (int, error) {
	if !s.valid {
		if line := s.body[pos:end]; !utf8.Valid(line) {
			return pos, jsonscan.NewError(pos+invalidAt(line), notUTF8)
		}
	}
	return s.stream(pos, end)
}
