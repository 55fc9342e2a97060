package timefmt

import (
	"fmt"
	"strconv"
	"strings"
)

// PatternError reports why a pattern cannot be compiled.
type PatternError struct {
	// Pattern is the whole pattern.
	Pattern string
	// Spec is the faulty specifier, from its percent sign on.
	Spec string
	// Pos is the byte offset of Spec in Pattern.
	Pos int
	// Problem describes what is wrong with it.
	Problem string
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("time pattern %q: %s %s at byte %d", e.Pattern, e.Problem, e.Spec, e.Pos)
}

// Reason is the reason why a text could not be parsed.
type Reason uint8

// The reasons.
const (
	ok Reason = iota
	// Invalid: the pattern does not allow a character.
	Invalid
	// TooShort: the text ends before the pattern does.
	TooShort
	// TooLong: the pattern ends before the text does.
	TooLong
	// OutOfRange: a field or the whole time is out of range.
	OutOfRange
	// Impossible: fields contradict each other, or the day does not exist.
	Impossible
	// NotEnough: the fields do not determine one date and time.
	NotEnough
	// NoOffset: an offset is required and there is none.
	NoOffset
	// AmbiguousLocal: the local time occurs twice in its zone.
	AmbiguousLocal
	// SkippedLocal: the local time does not occur in its zone.
	SkippedLocal
)

var reasonText = [...]string{
	ok:             "no error",
	Invalid:        "input contains invalid characters",
	TooShort:       "premature end of input",
	TooLong:        "trailing input",
	OutOfRange:     "input is out of range",
	Impossible:     "no possible date and time matching input",
	NotEnough:      "input is not enough for unique date and time",
	NoOffset:       "input has no UTC offset",
	AmbiguousLocal: "local time occurs twice when the clocks are set back",
	SkippedLocal:   "local time is skipped when the clocks are set forward",
}

// String returns a short text, in the usual words.
func (r Reason) String() string {
	if int(r) < len(reasonText) {
		return reasonText[r]
	}
	return "reason " + strconv.Itoa(int(r))
}

// ParseError reports why a text does not match a pattern.
type ParseError struct {
	// Pattern is the pattern that was tried.
	Pattern string
	// Text is the text, shortened if it is long.
	Text string
	// Pos is the byte offset in the text at which parsing stopped.
	Pos int
	// Spec is the part of the pattern that did not match; empty if all parts matched.
	Spec string
	// Reason is the kind of failure.
	Reason Reason
	// nanos means that the time is valid but does not fit into 64 bits of nanoseconds.
	nanos bool
}

func (e *ParseError) Error() string {
	s := fmt.Sprintf("time %q does not match pattern %q: %s", e.Text, e.Pattern, e.Reason)
	switch {
	case e.Pattern == "%+": // users ask for RFC 3339 by its name
		s = fmt.Sprintf("time %q cannot be read as RFC 3339: %s", e.Text, e.Reason)
		if e.Spec != "" {
			s += fmt.Sprintf(" at byte %d", e.Pos)
		}
	case e.Spec != "":
		s += fmt.Sprintf(" at byte %d (%s)", e.Pos, e.Spec)
	}
	if rest := e.Rest(); rest != "" {
		s += fmt.Sprintf(" %q at byte %d", rest, e.Pos)
	}
	return s + e.Advice()
}

// Advice returns a hint after a semicolon, or "".
func (e *ParseError) Advice() string {
	switch {
	case e.nanos:
		return "; nanoseconds hold 1677-09-21 00:12:44 to 2262-04-11 23:47:16"
	case e.Reason == TooShort && e.Spec == "%+":
		return "; a time in RFC 3339 ends with an offset, such as Z or +02:00"
	case e.Reason != Invalid || e.Pos < 0 || e.Pos >= len(e.Text) || e.Text[e.Pos]|0x20 != 'z':
		return ""
	case strings.HasSuffix(e.Spec, "z") && !strings.Contains(e.Spec, "#"):
		return "; %#z accepts Z as well as offsets"
	}
	return ""
}

// Rest returns the unparsed rest of the text, if the text is longer than the pattern and not too long.
func (e *ParseError) Rest() string {
	if e.Reason != TooLong || e.Pos < 0 || e.Pos >= len(e.Text) {
		return ""
	}
	return e.Text[e.Pos:]
}

// failure has the data for a ParseError.
type failure struct {
	reason Reason
	op     int // the step that failed; len(ops) if resolving failed
	pos    int
}

// maxErrorText limits the length of the text in a ParseError.
const maxErrorText = 80

func (f *Format) parseError(text string, fail failure) *ParseError {
	e := &ParseError{Pattern: f.pattern, Pos: fail.pos, Reason: fail.reason}
	if len(text) > maxErrorText {
		e.Text = text[:maxErrorText] + "…" // a new string: text is not kept
	} else {
		e.Text = string(append([]byte(nil), text...))
	}
	if fail.op < len(f.ops) {
		e.Spec = f.ops[fail.op].text
	}
	return e
}

// AppendError reports why a time cannot be written with a pattern.
type AppendError struct {
	// Pattern is the pattern as it was written.
	Pattern string
	// Spec is the specifier that is for parsing only.
	Spec string
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("time pattern %q: %s can be read but not written", e.Pattern, e.Spec)
}
