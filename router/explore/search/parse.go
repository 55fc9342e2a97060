package search

import (
	"strings"
	"unicode/utf8"
)

// The limits of a text.
const (
	MaxBytes = 16 << 10
	MaxTerms = 200
	MaxDepth = 20
)

// Parse parses a search text. The error is an *errs.Error of code InvalidSyntax. Its cause, an *Error, has the
// position.
func Parse(src string) (*Query, error) {
	if len(src) > MaxBytes {
		return nil, wrong(span{MaxBytes, len(src)}, "it has %d bytes: at most %d are allowed", len(src), MaxBytes)
	}
	if at := invalid(src); at >= 0 {
		return nil, wrong(span{at, at + 1}, "it is not valid UTF-8, or contains a NUL character")
	}
	p := &parser{src: src}
	p.skipSpace()
	if p.at == len(src) {
		return &Query{Text: src, root: all{}}, nil
	}
	root, err := p.query(0)
	if err != nil {
		return nil, err
	}
	if p.at < len(src) { // only a parenthesis ends a query early
		return nil, wrong(span{p.at, p.at + 1}, "unmatched parenthesis"+asText)
	}
	return &Query{Text: src, Tokens: p.tokens, root: root}, nil
}

// invalid returns the position at which src is not valid UTF-8 or has a NUL; -1: it is valid.
func invalid(src string) int {
	for i, r := range src {
		if r == 0 {
			return i
		}
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(src[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// parser parses a text from position at. Each method that parses a part also skips the white space after it.
type parser struct {
	src    string
	at     int
	terms  int
	tokens []Token
}

func isSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', 0xa0, 0x3000:
		return true
	}
	return false
}

func (p *parser) skipSpace() {
	rest := strings.TrimLeftFunc(p.src[p.at:], isSpace)
	p.at = len(p.src) - len(rest)
}

// wordEnd returns the end of the word at from, which is white space or a parenthesis.
func (p *parser) wordEnd(from int) int {
	n := strings.IndexFunc(p.src[from:], func(r rune) bool { return isSpace(r) || r == '(' || r == ')' })
	if n < 0 {
		return len(p.src)
	}
	return from + n
}

func (p *parser) token(at span, kind Kind, field string) {
	p.tokens = append(p.tokens, Token{Offset: at.from, Length: at.to - at.from, Kind: kind, Field: field})
}

// keyword accepts an operator with that name.
func (p *parser) keyword(name string) bool {
	end := p.wordEnd(p.at)
	if p.src[p.at:end] != name {
		return false
	}
	p.token(span{p.at, end}, KindKeyword, "")
	p.at = end
	p.skipSpace()
	return true
}

func (p *parser) peek(c byte) bool { return p.at < len(p.src) && p.src[p.at] == c }

// atKeyword reports whether an operator between terms is next.
func (p *parser) atKeyword() bool {
	word := p.src[p.at:p.wordEnd(p.at)]
	return word == "OR" || word == "AND"
}

func (p *parser) query(depth int) (node, error) {
	var list anyOf
	for {
		n, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if !p.keyword("OR") {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) and(depth int) (node, error) {
	var list all
	for {
		n, err := p.unary(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if p.keyword("AND") {
			continue
		}
		if p.at == len(p.src) || p.peek(')') || p.atKeyword() {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) unary(depth int) (node, error) {
	begin := p.at
	switch {
	case p.keyword("NOT"):
	case p.peek('-'):
		p.at++
		rest := p.src[p.at:p.wordEnd(p.at)]
		if strings.HasPrefix(rest, "-") || rest == "" && !p.peek('(') {
			return nil, wrong(span{begin, p.wordEnd(p.at)},
				"no term follows the hyphen"+asText)
		}
		p.token(span{begin, p.at}, KindKeyword, "")
	default:
		return p.term(depth)
	}
	if word := p.src[p.at:p.wordEnd(p.at)]; word == "NOT" || strings.HasPrefix(word, "-") {
		return nil, wrong(span{p.at, p.wordEnd(p.at)}, "%s follows NOT or a hyphen: leave out both, or write NOT (NOT a)"+
			asText, word)
	}
	n, err := p.term(depth)
	if err != nil {
		return nil, err
	}
	return not{n}, nil
}

func (p *parser) term(depth int) (node, error) {
	switch {
	case p.at == len(p.src) || p.peek(')') || p.atKeyword():
		return nil, p.missing()
	case p.peek('('):
		return p.group(depth)
	}
	if p.terms++; p.terms > MaxTerms {
		return nil, wrong(span{p.at, p.wordEnd(p.at)}, "it has more than %d terms", MaxTerms)
	}
	return p.leaf()
}

// missing returns the error for a missing term.
func (p *parser) missing() error {
	end := min(max(p.wordEnd(p.at), p.at+1), len(p.src))
	what := "the end of the text"
	if p.at < len(p.src) {
		what = p.src[p.at:end]
	}
	return wrong(span{p.at, end}, "a word or a condition is expected before %s; AND, OR and NOT must be before or "+
		"between "+
		"terms"+asText, what)
}

func (p *parser) group(depth int) (node, error) {
	open := p.at
	if depth == MaxDepth {
		return nil, wrong(span{open, open + 1}, "parentheses are nested more than %d deep", MaxDepth)
	}
	p.token(span{open, open + 1}, KindParen, "")
	p.at++
	p.skipSpace()
	n, err := p.query(depth + 1)
	if err != nil {
		return nil, err
	}
	return n, p.closeGroup(open)
}

// closeGroup accepts the closing parenthesis that belongs to the parenthesis at open.
func (p *parser) closeGroup(open int) error {
	if !p.peek(')') {
		return wrong(span{open, open + 1}, "the parenthesis is not closed")
	}
	p.token(span{p.at, p.at + 1}, KindParen, "")
	p.at++
	p.skipSpace()
	return nil
}
