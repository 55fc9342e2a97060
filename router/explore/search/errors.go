package search

import (
	"fmt"

	"cordwood/proto/errs"
)

// An Error describes a fault in a text and its position. It is the cause of an *errs.Error, and errors.As finds it.
type Error struct {
	// Offset and Length give the faulty part of the text, in bytes.
	Offset, Length int
	// Nearest are the names of fields that may have been meant, the most similar first.
	Nearest []string

	msg string
}

// Error returns the description of the fault.
func (e *Error) Error() string { return e.msg }

// Part returns the position and length of the faulty part of the text, in bytes.
func (e *Error) Part() (offset, length int) { return e.Offset, e.Length }

// Candidates returns the names of fields that may have been meant.
func (e *Error) Candidates() []string { return e.Nearest }

// asText is the advice at the end of errors for parts that may have been meant as text.
const asText = `; put it in double quotes to search for it as text`

// asTextSentence is asText behind the end of a sentence.
const asTextSentence = `Put it in double quotes to search for it as text`

// wrong returns a syntax error.
func wrong(at span, format string, args ...any) error {
	return report(errs.InvalidSyntax, at, nil, fmt.Sprintf(format, args...))
}

func report(code errs.Code, at span, nearest []string, msg string) error {
	e := &Error{Offset: at.from, Length: at.to - at.from, Nearest: nearest, msg: msg}
	return errs.Wrap(code, e, "search text at byte %d", at.from)
}

// excerpt shortens a client's text for a message.
func excerpt(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xc0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}
