package pgwire

import (
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// scanner reads the statements that are about the session.
type scanner struct {
	text string
	toks []statement.Token
	at   int
}

func newScanner(text string) *scanner {
	s := &scanner{text: text}
	for _, t := range statement.Tokens(text) {
		if t.Kind != statement.TokenComment {
			s.toks = append(s.toks, t)
		}
	}
	return s
}

// end reports whether everything was read.
func (s *scanner) end() bool { return s.at >= len(s.toks) }

// word reports whether the next token is a keyword, given in upper case.
func (s *scanner) word(kw string) bool {
	return !s.end() && s.toks[s.at].Kind == statement.TokenWord && strings.EqualFold(s.toks[s.at].Value, kw)
}

// accept takes the keywords if they follow one another here.
func (s *scanner) accept(keywords ...string) bool {
	from := s.at
	for _, kw := range keywords {
		if !s.word(kw) {
			s.at = from
			return false
		}
		s.at++
	}
	return true
}

// acceptAny takes one of some keywords, and returns it; empty: none is here.
func (s *scanner) acceptAny(keywords ...string) string {
	for _, kw := range keywords {
		if s.accept(kw) {
			return kw
		}
	}
	return ""
}

// symbol takes a symbol if it is here.
func (s *scanner) symbol(sym string) bool {
	if s.end() || s.toks[s.at].Kind != statement.TokenSymbol || s.toks[s.at].Value != sym {
		return false
	}
	s.at++
	return true
}

// name takes a name, in lower case if it has no quotes.
func (s *scanner) name() (string, bool) {
	if s.end() {
		return "", false
	}
	t := s.toks[s.at]
	switch t.Kind {
	case statement.TokenWord:
		s.at++
		return strings.ToLower(t.Value), true
	case statement.TokenName:
		s.at++
		return t.Value, true
	}
	return "", false
}

// dotted takes a name with dots.
func (s *scanner) dotted() (string, bool) {
	name, ok := s.name()
	for ok && s.symbol(".") {
		var part string
		part, ok = s.name()
		name += "." + part
	}
	return name, ok
}

// number takes a whole number.
func (s *scanner) number() (int64, bool) {
	if s.end() || s.toks[s.at].Kind != statement.TokenNumber {
		return 0, false
	}
	n, err := strconv.ParseInt(s.toks[s.at].Value, 10, 64)
	if err != nil {
		return 0, false
	}
	s.at++
	return n, true
}

// value takes the value of a setting: texts, words and numbers, with commas in between.
func (s *scanner) value() (string, bool) {
	var parts []string
	for {
		if s.end() {
			return "", false
		}
		sign := ""
		if s.symbol("-") {
			sign = "-"
		}
		if s.end() {
			return "", false
		}
		t := s.toks[s.at]
		switch t.Kind {
		case statement.TokenWord, statement.TokenText, statement.TokenNumber:
			parts = append(parts, sign+t.Value)
		case statement.TokenName:
			parts = append(parts, `"`+strings.ReplaceAll(t.Value, `"`, `""`)+`"`)
		default:
			return "", false
		}
		s.at++
		if !s.symbol(",") {
			return strings.Join(parts, ", "), true
		}
	}
}

// rest returns the text from the next token on.
func (s *scanner) rest() string {
	if s.end() {
		return ""
	}
	return s.text[s.toks[s.at].From:]
}

// fault returns the error for a statement that goes on in a way that is not understood.
func (s *scanner) fault() error {
	e := failure("42601", "syntax error at end of input")
	e.Position = characters(s.text, len(s.text))
	if !s.end() {
		t := s.toks[s.at]
		e = failure("42601", "syntax error at or near %q", excerpt(s.text[t.From:t.To]))
		e.Position = characters(s.text, t.From)
	}
	return e
}

// done requires the end of the statement.
func (s *scanner) done() error {
	if !s.end() {
		return s.fault()
	}
	return nil
}
