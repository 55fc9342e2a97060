package pgwire

import (
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// scanner reads statements about the session.
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

// end reports whether all tokens were read.
func (s *scanner) end() bool { return s.at >= len(s.toks) }

// word reports whether the next token is the keyword, given in upper case.
func (s *scanner) word(kw string) bool {
	return !s.end() && s.toks[s.at].Kind == statement.TokenWord && strings.EqualFold(s.toks[s.at].Value, kw)
}

// accept reads the keywords if they come next, and reports whether it did.
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

// acceptAny reads one of the keywords, and returns it, or an empty string if none comes next.
func (s *scanner) acceptAny(keywords ...string) string {
	for _, kw := range keywords {
		if s.accept(kw) {
			return kw
		}
	}
	return ""
}

// symbol reads a symbol if it comes next, and reports whether it did.
func (s *scanner) symbol(sym string) bool {
	if s.end() || s.toks[s.at].Kind != statement.TokenSymbol || s.toks[s.at].Value != sym {
		return false
	}
	s.at++
	return true
}

// name reads a name. Without quotes, it is converted to lower case.
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

// dotted reads a name with dots.
func (s *scanner) dotted() (string, bool) {
	name, ok := s.name()
	for ok && s.symbol(".") {
		var part string
		part, ok = s.name()
		name += "." + part
	}
	return name, ok
}

// number reads an integer.
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

// value reads the value of a setting: texts, words and numbers, separated by commas.
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

// rest returns the text from the next token to the end.
func (s *scanner) rest() string {
	if s.end() {
		return ""
	}
	return s.text[s.toks[s.at].From:]
}

// before returns the text before the next token.
func (s *scanner) before() *string {
	text := s.text
	if !s.end() {
		text = s.text[:s.toks[s.at].From]
	}
	return &text
}

// syntaxError returns the syntax error at the next token.
func (s *scanner) syntaxError() error {
	e := failure("42601", "syntax error at end of input")
	e.Position = characters(s.text, len(s.text))
	if !s.end() {
		t := s.toks[s.at]
		e = failure("42601", "syntax error at or near %q", excerpt(s.text[t.From:t.To]))
		e.Position = characters(s.text, t.From)
	}
	return e
}

// done returns an error unless all tokens were read.
func (s *scanner) done() error {
	if !s.end() {
		return s.syntaxError()
	}
	return nil
}
