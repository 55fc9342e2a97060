package sql

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parseSearch parses the query of matches: words, beginnings of words (conn*), "phrases", AND, OR,
// NOT, parentheses. Without an operator between two terms, both must match. NOT binds closest, then
// AND, then OR. Operators are in upper case. A hyphen directly before a word, phrase or parenthesis
// means NOT; a plus sign there has no effect.
func parseSearch(text string) (*term, error) {
	p := &searchParser{text: text}
	p.next()
	t, err := p.or(0)
	if err != nil {
		return nil, err
	}
	if p.kind != atEnd {
		return nil, p.wrong("a closing parenthesis without an opening one")
	}
	return t, nil
}

type tokenKind uint8

const (
	atEnd tokenKind = iota
	aWord
	aPrefix
	aPhrase
	anOpening
	aClosing
	anAnd
	anOr
	aNot
	anOpenPhrase // a phrase without its closing quote
	aMistake     // value describes the mistake
)

type searchParser struct {
	text  string
	terms int
	// kind and value describe the current token, which begins at at and ends before end.
	kind    tokenKind
	value   string
	at, end int
}

func (p *searchParser) next() {
	i := p.end
	for i < len(p.text) {
		r, size := utf8.DecodeRuneInString(p.text[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += size
	}
	p.at, p.value = i, ""
	if i == len(p.text) {
		p.kind, p.end = atEnd, i
		return
	}
	switch p.text[i] {
	case '(':
		p.kind, p.end = anOpening, i+1
	case ')':
		p.kind, p.end = aClosing, i+1
	case '"':
		p.phrase(i + 1)
	case '+', '-':
		p.sign(i)
	default:
		p.word(i)
	}
}

// sign reads a plus sign or hyphen, which must stand directly before its term.
func (p *searchParser) sign(i int) {
	r, _ := utf8.DecodeRuneInString(p.text[i+1:])
	switch {
	case i+1 == len(p.text) || unicode.IsSpace(r) || strings.ContainsRune("+-)", r):
		p.kind, p.end = aMistake, i+1
		p.value = fmt.Sprintf("%q must stand directly before a word, a phrase or a parenthesis; "+
			"put it in double quotes to search for it", p.text[i:i+1])
	case p.text[i] == '-':
		p.kind, p.end = aNot, i+1
	default:
		p.end = i + 1
		p.next()
		if p.kind == anAnd || p.kind == anOr || p.kind == aNot {
			p.value, p.kind = fmt.Sprintf("an operator cannot follow \"+\"; put %s in double quotes to search for it",
				p.value), aMistake
		}
	}
}

// word reads a word, the beginning of one, or an operator.
func (p *searchParser) word(i int) {
	end := i + strings.IndexFunc(p.text[i:]+" ",
		func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' || r == '"' })
	p.value, p.end, p.kind = p.text[i:end], end, aWord
	switch p.value {
	case "AND":
		p.kind = anAnd
	case "OR":
		p.kind = anOr
	case "NOT":
		p.kind = aNot
	}
	if form := otherOperator(p.value); form != "" {
		p.kind = aMistake
		p.value = fmt.Sprintf("%s; put %q in double quotes to search for it literally", form, excerpt(p.value))
		return
	}
	star := strings.IndexByte(p.value, '*')
	if star < 0 {
		return
	}
	last, _ := utf8.DecodeLastRuneInString(p.value[:star])
	if star == len(p.value)-1 && (unicode.IsLetter(last) || unicode.IsDigit(last)) {
		p.kind, p.value = aPrefix, p.value[:star]
		return
	}
	p.kind = aMistake
	p.value = fmt.Sprintf("* is allowed only at the end of a word, as in conn*; put %q in double quotes to search for "+
		"it literally, or use LIKE or ~", excerpt(p.value))
}

// otherOperator returns advice if a word contains an operator of another query language. Otherwise
// it returns "".
func otherOperator(word string) string {
	switch {
	case strings.Contains(word, "&&"), word == "&":
		return "& is not an operator; write AND between two words"
	case strings.Contains(word, "||"), word == "|":
		return "| is not an operator; write OR between two words"
	case word == "!":
		return "! is not an operator; write NOT, or - directly before the term to exclude"
	case word[0] == '!':
		if r, _ := utf8.DecodeRuneInString(word[1:]); unicode.IsLetter(r) || unicode.IsDigit(r) {
			return "! is not an operator; write -" + excerpt(word[1:]) + "  to exclude it"
		}
	}
	return ""
}

// phrase reads up to the closing quote. In a phrase, \" and \\ mean " and \.
func (p *searchParser) phrase(i int) {
	var b strings.Builder
	for ; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.kind, p.value, p.end = aPhrase, b.String(), i+1
			return
		case c == '\\' && i+1 < len(p.text) && (p.text[i+1] == '"' || p.text[i+1] == '\\'):
			i++
			b.WriteByte(p.text[i])
		default:
			b.WriteByte(c)
		}
	}
	p.kind, p.end = anOpenPhrase, i
}

func (p *searchParser) wrong(format string, args ...any) error {
	return fmt.Errorf("the query %q at position %d: %s", excerpt(p.text), p.at, fmt.Sprintf(format, args...))
}

func (p *searchParser) or(depth int) (*term, error) {
	if depth > maxNesting {
		return nil, p.wrong("nested more than %d deep", maxNesting)
	}
	first, err := p.and(depth)
	if err != nil {
		return nil, err
	}
	list := []*term{first}
	for p.kind == anOr {
		p.next()
		t, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return join('|', list), nil
}

func (p *searchParser) and(depth int) (*term, error) {
	first, err := p.not(depth)
	if err != nil {
		return nil, err
	}
	list := []*term{first}
	for p.kind != atEnd && p.kind != anOr && p.kind != aClosing {
		if p.kind == aWord && (strings.EqualFold(p.value, "and") || strings.EqualFold(p.value, "or")) {
			return nil, p.wrong("%s would be searched for as a word; write %s for the operator, or \"%s\" in double quotes "+
				"for the word", p.value, strings.ToUpper(p.value), p.value)
		}
		if p.kind == anAnd {
			p.next()
		}
		t, err := p.not(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return join('&', list), nil
}

func join(op byte, list []*term) *term {
	if len(list) == 1 {
		return list[0]
	}
	return &term{op: op, of: list}
}

func (p *searchParser) not(depth int) (*term, error) {
	switch p.kind {
	case aNot:
		if depth++; depth > maxNesting {
			return nil, p.wrong("nested more than %d deep", maxNesting)
		}
		p.next()
		t, err := p.not(depth)
		if err != nil {
			return nil, err
		}
		return &term{op: '!', of: []*term{t}}, nil
	case anOpening:
		p.next()
		t, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.kind != aClosing {
			return nil, p.wrong("a closing parenthesis is missing")
		}
		p.next()
		return t, nil
	case aWord, aPrefix, aPhrase:
		if p.terms++; p.terms > maxTerms {
			return nil, p.wrong("more than %d words and phrases", maxTerms)
		}
		t, err := wholeTerm(p.value)
		if err != nil {
			return nil, p.wrong("%s", err)
		}
		if p.kind == aPrefix {
			t.op = 'p'
		}
		p.next()
		return t, nil
	case aMistake:
		return nil, p.wrong("%s", p.value)
	case anOpenPhrase:
		return nil, p.wrong("a phrase without its closing quote")
	case anAnd, anOr:
		return nil, p.wrong("%s without anything before it; write \"%s\" to search for the word", p.value, p.value)
	case aClosing:
		return nil, p.wrong("a closing parenthesis where a word is expected")
	}
	return nil, p.wrong("a word is expected; write a word, or a phrase in double quotes")
}
