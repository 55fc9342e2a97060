// Package native reads the bodies of POST /v1/ingest: JSON, lines of JSON, and lines of text. It finds the start
// and end of records and detects malformed ones. The pipeline.Runner that it calls handles the records.
//
// It keeps no state and reads bodies in place. It copies only bodies that lack padding (see jsonscan.NewText) or
// are not valid UTF-8.
package native

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/router/pipeline"
	"cordwood/router/vrl/jsonscan"
)

// Kind is the format of a body.
type Kind uint8

const (
	// JSON is a stream of objects, or of arrays whose elements are the records.
	JSON Kind = iota + 1
	// NDJSON has one record per line.
	NDJSON
	// Text has one record per line. The line is its only field, message.
	Text
)

// KindOf returns the kind for a Content-Type header. If the header is missing or has a type that is not supported, the
// error has code InvalidArguments.
func KindOf(contentType string) (Kind, error) {
	switch contentType { // the usual form
	case "application/json":
		return JSON, nil
	case "application/x-ndjson":
		return NDJSON, nil
	case "text/plain":
		return Text, nil
	}
	const expected = "expected: one of application/json, application/x-ndjson, text/plain"
	if strings.TrimSpace(contentType) == "" {
		return 0, errs.New(errs.InvalidArguments, "Missing Content-Type header, %s", expected)
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		// Parameters are ignored, even malformed ones.
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	switch media {
	case "application/json":
		return JSON, nil
	case "application/x-ndjson":
		return NDJSON, nil
	case "text/plain":
		return Text, nil
	}
	if len(contentType) > 100 {
		contentType = contentType[:100] + "…"
	}
	return 0, errs.New(errs.InvalidArguments, "invalid content type: %s, %s%s", contentType, expected, typeAdvice[media])
}

// typeAdvice has advice for content types that new users often send.
var typeAdvice = map[string]string{
	"application/x-www-form-urlencoded": "; curl -d sends this type unless you add -H 'Content-Type: application/json'",
	"text/csv":                          csvAdvice,
	"text/tab-separated-values":         csvAdvice,
}

const csvAdvice = "; send CSV as text/plain without its header line, through a pipeline with the processor csv"

// Options are the parameters of a request for malformed bodies.
type Options struct {
	// SkipError skips malformed records if the start of the next record is known: in lines, and in a JSON stream with
	// one value per line.
	SkipError bool
	// IgnoreErrors skips malformed lines, and reads a malformed JSON body up to the first fault.
	IgnoreErrors bool
	// OnRefuse, if not nil, gets the text of each malformed record that is skipped, before Runner.Refuse is called.
	// The text may not be valid UTF-8.
	OnRefuse func(text []byte)
	// OnRepair, if not nil, is called for each line of text that is not valid UTF-8. Its invalid bytes are stored as
	// U+FFFD.
	OnRepair func()
}

// MaxBody is the longest body that is read.
const MaxBody = 1 << 30

var bom = []byte("\xef\xbb\xbf")

// Read splits body into records and passes them to run. Its errors are *errs.Error, of code InvalidArguments unless
// run returns another. After an error, run has received part of the body and must be released. Read does not change
// body and keeps no part of it.
func Read(body []byte, kind Kind, opt Options, run pipeline.Runner) error {
	if len(body) > MaxBody {
		return errs.New(errs.InvalidArguments,
			"the body has %d bytes: at most %d can be read at once; send fewer records per request", len(body), MaxBody)
	}
	body = bytes.TrimPrefix(body, bom)
	s := &reader{body: body, opt: opt, run: run, valid: utf8.Valid(body)}
	switch kind {
	case JSON:
		return s.json()
	case NDJSON:
		return s.lines(s.jsonLine)
	case Text:
		return s.lines(s.textLine)
	}
	return errs.New(errs.Internal, "native: read a body of kind %d", kind)
}

// reader reads one body.
type reader struct {
	body  []byte
	opt   Options
	run   pipeline.Runner
	valid bool // whether the body is UTF-8

	refused int
}

// lines calls f for every line that is not empty. index counts all lines.
func (s *reader) lines(f func(line []byte, index int) error) error {
	s.pad()
	for from, index := 0, 0; from < len(s.body); index++ {
		to := bytes.IndexByte(s.body[from:], '\n')
		if to < 0 {
			to = len(s.body)
		} else {
			to += from
		}
		end := to
		if end > from && s.body[end-1] == '\r' {
			end--
		}
		if end > from {
			if err := f(s.body[from:end], index); err != nil {
				return err
			}
		}
		from = to + 1
	}
	return nil
}

// pad makes sure that the body can be read in place up to its end, so that no record is copied.
func (s *reader) pad() {
	t := jsonscan.NewText(s.body)
	s.body = t.Bytes()[:t.Len()]
}

func (s *reader) jsonLine(line []byte, index int) error {
	if !s.valid && !utf8.Valid(line) {
		return s.badLine(line, func() error {
			return errs.New(errs.InvalidArguments, "invalid line at index: %d: it is not valid UTF-8 at column %d", index,
				invalidAt(line)+1)
		})
	}
	err := s.run.ScanLine(line)
	if err == nil {
		return nil
	}
	if e := (*jsonscan.Error)(nil); errors.As(err, &e) {
		return s.badLine(line, func() error {
			advice := ""
			switch {
			case e.TooLarge():
				advice = largeAdvice + "; skip_error=true leaves such records out"
			case e.Offset == 0:
				advice = textAdvice
			}
			return errs.New(errs.InvalidArguments, "invalid JSON at index: %d: %s at column %d%s",
				index, e.Message(), e.Offset+1, advice)
		})
	}
	return err
}

// largeAdvice is the advice for JSON that exceeds a limit.
const largeAdvice = "; flatten the value before it is sent, or send it as text"

// textAdvice is the advice for a line that does not start like JSON.
const textAdvice = "; if the lines are text, send them as text/plain"

func (s *reader) badLine(line []byte, err func() error) error {
	if s.opt.SkipError || s.opt.IgnoreErrors {
		s.refuse(line, err)
		return nil
	}
	return err()
}

// maxDetails is the number of skipped records whose fault is described in full. It limits the cost of a body with
// many malformed records.
const maxDetails = 8

var errMalformed = pipeline.WithKind(pipeline.SkipParse, errs.New(errs.InvalidArguments, "malformed"))

// refuse counts a skipped record with the given text. err returns the reason.
func (s *reader) refuse(text []byte, err func() error) {
	if s.opt.OnRefuse != nil {
		s.opt.OnRefuse(text)
	} else if s.refused++; s.refused > maxDetails {
		s.run.Refuse(errMalformed)
		return
	}
	s.run.Refuse(pipeline.WithKind(pipeline.SkipParse, err()))
}

func (s *reader) textLine(line []byte, _ int) error {
	if !s.valid && !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
		if s.opt.OnRepair != nil {
			s.opt.OnRepair()
		}
	}
	return s.run.TextRecord(line)
}

// invalidAt returns the offset of the first byte that is not valid UTF-8.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// place describes the position of an offset in the body, for an error message.
func (s *reader) place(offset int) string {
	before := s.body[:min(offset, len(s.body))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("line %d column %d (byte offset %d)", line, column, offset)
}
