package sql

import (
	"regexp"
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// A statement with parameters is only described, never run: the caller writes the values into the
// text. This file finds the positions of $1, $2 … in the text.

// MaxParameter is the largest number of a parameter.
const MaxParameter = 65535

// Parameter is a position of a parameter in a text.
type Parameter struct {
	From, To int
	// Number counts from 1.
	Number int
}

// Parameters returns the positions of $1, $2 … in a text, and the largest number. It ignores quoted
// texts and comments.
func Parameters(text string) (list []Parameter, most int, err error) {
	for i := 0; i < len(text); {
		if end := skipQuoted(text, i); end > i {
			i = end
			continue
		}
		if text[i] != '$' || i > 0 && IsNameByte(text[i-1]) {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		if end == i+1 || end < len(text) && IsNameByte(text[end]) {
			i = end
			continue // this is not a number; the parser reports the error
		}
		n, err := strconv.Atoi(text[i+1 : end])
		if err != nil || n < 1 || n > MaxParameter {
			return nil, 0, errs.New(errs.InvalidSyntax, "the parameter %s at position %d: parameters are $1 to $%d",
				excerpt(text[i:end]), i, MaxParameter)
		}
		list, most = append(list, Parameter{i, end, n}), max(most, n)
		i = end
	}
	return list, most, nil
}

// ReplaceParameters replaces each parameter of a text by what f returns for it.
func ReplaceParameters(text string, list []Parameter, f func(n int) string) string {
	var b strings.Builder
	done := 0
	for _, p := range list {
		b.WriteString(text[done:p.From])
		b.WriteString(f(p.Number))
		done = p.To
	}
	return b.String() + text[done:]
}

// Marker creates literals that replace parameters and differ from everything else in a text.
type Marker string

// NewMarker returns a marker whose literals do not occur in the text. The literals are short, because a statement may
// have tens of thousands of parameters, and its length is limited.
func NewMarker(text string) Marker {
	m := "~"
	for strings.Contains(text, m) {
		m += "_"
	}
	return Marker(m)
}

// Literal returns the literal that replaces a parameter.
func (m Marker) Literal(n int) string { return "'" + string(m) + strconv.FormatInt(int64(n), 36) + "'" }

// Edits returns the edits that replace the literals in a text by something else.
func (m Marker) Edits(text string, f func(n int) string) (out []Edit) {
	literal := regexp.MustCompile("'" + regexp.QuoteMeta(string(m)) + "([0-9a-z]+)'")
	for _, at := range literal.FindAllStringSubmatchIndex(text, -1) {
		n, _ := strconv.ParseInt(text[at[2]:at[3]], 36, 64)
		out = append(out, Edit{From: at[0], To: at[1], Text: f(int(n))})
	}
	return out
}
