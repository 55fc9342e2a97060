package pgwire

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/proto/lazyregexp"
	"cordwood/router/query/statement"
)

// The patterns for positions in error messages.
var (
	enginePlace    = lazyregexp.New(` \(position (\d+)\)`)
	conditionPlace = lazyregexp.New(` \(position (\d+) of the condition\)`)
	parserPlace    = lazyregexp.New(`syntax error at line (\d+), column (\d+)`)
	noTable        = lazyregexp.New(`^table (?:.*\.)?"?([^".]+)"? does not exist`)
	noColumn       = lazyregexp.New(`has no column "((?:[^"]|"")+)"`)
)

// placeOf returns the byte offset in the statement to which an error refers, or -1, and removes it from the error's
// text.
func (e *Error) placeOf(text string) int {
	for _, said := range []*string{&e.Text, &e.Hint} {
		if n, ok := cutPlace(said, enginePlace); ok && n <= len(text) {
			return n
		}
		if n, ok := cutPlace(said, conditionPlace); ok {
			if from := conditionOf(text); from >= 0 && from+n <= len(text) {
				return from + n
			}
		}
	}
	if m := parserPlace.FindStringSubmatch(e.Text); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		return offsetOf(text, line, column)
	}
	if m := noTable.FindStringSubmatch(e.Text); m != nil {
		return placeOfTable(text, m[1])
	}
	if m := noColumn.FindStringSubmatch(e.Text); m != nil {
		return placeOfName(text, strings.ReplaceAll(m[1], `""`, `"`))
	}
	return -1
}

// cutPlace removes what a pattern matches from a text, and returns the number in its group.
func cutPlace(said *string, pattern *lazyregexp.Regexp) (n int, ok bool) {
	m := pattern.FindStringSubmatchIndex(*said)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi((*said)[m[2]:m[3]])
	*said = (*said)[:m[0]] + (*said)[m[1]:]
	return n, err == nil
}

// within converts the position in an error about a statement to the position in the statement that contains it after
// the given text. If before is nil, the position is unknown.
func within(err error, before *string) error {
	e := (*Error)(nil)
	if !errors.As(err, &e) || e.Position == 0 {
		return err
	}
	moved := *e
	if moved.Position = 0; before != nil {
		moved.Position = e.Position + utf8.RuneCountInString(*before)
	}
	return &moved
}

// conditionOf returns the byte offset of the condition of a DELETE, or -1.
func conditionOf(text string) int {
	toks := statement.Tokens(text)
	for i, t := range toks {
		if t.Kind == statement.TokenWord && strings.EqualFold(t.Value, "WHERE") && i+1 < len(toks) {
			return toks[i+1].From
		}
	}
	return -1
}

// placeOfName returns the byte offset of the first use of a name in a statement, or -1.
func placeOfName(text, name string) int {
	for _, t := range statement.Tokens(text) {
		if (t.Kind == statement.TokenWord || t.Kind == statement.TokenName) && strings.EqualFold(t.Value, name) {
			return t.From
		}
	}
	return -1
}

// beforeTable are the words before a table name.
var beforeTable = map[string]bool{
	"FROM": true, "JOIN": true, "INTO": true, "TABLE": true, "UPDATE": true, "DESCRIBE": true, "DESC": true, ",": true,
	"(": true,
}

// placeOfTable returns the byte offset of the first use of a table in a statement, or -1.
func placeOfTable(text, name string) int {
	toks := statement.Tokens(text)
	for i, t := range toks {
		if t.Kind != statement.TokenWord && t.Kind != statement.TokenName || !strings.EqualFold(t.Value, name) {
			continue
		}
		for i > 1 && toks[i-1].Value == "." {
			i -= 2
		}
		if i > 0 && beforeTable[strings.ToUpper(toks[i-1].Value)] {
			return toks[i].From
		}
	}
	return -1
}

// offsetOf returns the byte offset of a line and a column, or -1. The column is in characters.
func offsetOf(text string, line, column int) int {
	at := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return -1
		}
		at += n + 1
	}
	for ; column > 1; column-- {
		if at >= len(text) {
			return -1
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// characters converts a byte offset to a position in characters from 1.
func characters(text string, at int) int {
	return 1 + utf8.RuneCountInString(text[:min(max(at, 0), len(text))])
}
