package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// leaf parses a text or a condition on a field.
func (p *parser) leaf() (node, error) {
	begin := p.at
	switch {
	case p.peek('~'):
		v, err := p.regex("")
		p.skipSpace()
		return text{v.span, v}, err
	case p.peek('"'):
		name, err := p.quotes(false)
		if err != nil {
			return nil, err
		}
		at := span{begin, p.at}
		if p.peek(':') || p.peek('=') {
			return p.condition(name, at)
		}
		p.token(at, KindPhrase, "")
		if strings.TrimFunc(name, isSpace) == "" {
			return nil, wrong(at, "the phrase is empty")
		}
		err = p.endOfQuoted()
		p.skipSpace()
		return text{at, value{span: at, form: quoted, text: name}}, err
	}
	end := p.wordEnd(begin)
	word := p.src[begin:end]
	if i := strings.IndexAny(word, ":="); i > 0 && namesField(word, i, p.src[end:]) {
		p.at = begin + i
		return p.condition(word[:i], span{begin, p.at})
	}
	p.at = end
	at := span{begin, end}
	if form := otherOperator(word); form != "" {
		return nil, wrong(at, "%s%s", form, asText)
	}
	p.token(at, KindWord, "")
	p.skipSpace()
	return text{at, wordValue(word, at)}, nil
}

// otherOperator returns the replacement for another language's operator in a word, or "" if there is none.
func otherOperator(word string) string {
	switch {
	case strings.Contains(word, "&&"), word == "&":
		return "& is not an operator: write AND between two terms"
	case strings.Contains(word, "||"), word == "|":
		return "| is not an operator: write OR between two terms"
	case word == "!":
		return "! is not an operator: write - directly before the term to exclude"
	case strings.HasPrefix(word, "!"):
		if r := first(word[1:]); unicode.IsLetter(r) || unicode.IsDigit(r) {
			return "! is not an operator: write -" + excerpt(word[1:]) + " to exclude it"
		}
	}
	return ""
}

// namesField reports whether the part of word before i is the name of a field. A word that starts with a digit,
// such as 12:30, a word such as http://x, and a word that ends with the operator are texts. rest is the text after
// the word.
func namesField(word string, i int, rest string) bool {
	after := word[i+1:]
	if after == "" && !strings.HasPrefix(rest, "(") {
		return false
	}
	return (word[0] < '0' || word[0] > '9') && !strings.HasPrefix(after, "//")
}

// wordValue returns the value of a word without its field.
func wordValue(word string, at span) value {
	v := value{span: at, text: word}
	switch {
	case word == "*":
		v.form = present
	case strings.Contains(word, "*"):
		v.form = pattern
	}
	return v
}

// condition parses the part after the name of a field: an operator and its values.
func (p *parser) condition(name string, at span) (node, error) {
	f := field{at: at, name: name, exact: p.src[p.at] == '='}
	if name == "*" {
		f.name = ""
	}
	p.token(at, KindField, name)
	p.token(span{p.at, p.at + 1}, KindOperator, "")
	p.at++
	if p.peek('(') {
		if err := p.list(&f, name); err != nil {
			return nil, err
		}
	} else {
		v, err := p.value(name, f.exact)
		if err != nil {
			return nil, err
		}
		f.values = []value{v}
	}
	f.span = span{at.from, p.at}
	f.raw = p.src[at.from:p.at]
	p.skipSpace()
	return f, nil
}

// list parses values in parentheses with OR between them.
func (p *parser) list(f *field, name string) error {
	open := p.at
	p.token(span{open, open + 1}, KindParen, "")
	p.at++
	for {
		p.skipSpace()
		if p.at == len(p.src) || p.peek(')') || p.peek('(') || p.atKeyword() {
			return wrong(span{open, min(p.at+1, len(p.src))}, "a value of %s is missing", excerpt(name))
		}
		if p.terms++; p.terms > MaxTerms {
			return wrong(span{p.at, p.wordEnd(p.at)}, "it has more than %d terms", MaxTerms)
		}
		v, err := p.value(name, f.exact)
		if err != nil {
			return err
		}
		f.values = append(f.values, v)
		p.skipSpace()
		switch {
		case p.keyword("OR"):
		case p.peek(')'):
			return p.closeGroup(open)
		case p.at == len(p.src):
			return wrong(span{open, open + 1}, "the parenthesis is not closed")
		default:
			return wrong(span{p.at, p.wordEnd(p.at)}, "OR is missing between the values of %s: write %s:(a OR b)",
				excerpt(name), excerpt(name))
		}
	}
}

// value parses one value of a field.
func (p *parser) value(name string, exact bool) (value, error) {
	begin := p.at
	if p.at == len(p.src) || isSpace(first(p.src[p.at:])) || p.peek(')') {
		return value{}, wrong(span{begin, begin}, "a value of %s is missing", excerpt(name))
	}
	if exact && (p.peek('~') || p.peek('>') || p.peek('<')) {
		return value{}, wrong(span{begin, begin + 1}, "%s= compares with the text that follows; write %s:%c… , or put the "+
			"text in double quotes", excerpt(name), excerpt(name), p.src[p.at])
	}
	if p.peek('~') {
		return p.regex(name)
	}
	if op := p.operator(); op != "" {
		bound, err := p.bound(name)
		return value{span: span{begin, p.at}, form: compare, op: op, lower: bound}, err
	}
	if exact {
		return p.literal(name)
	}
	return p.loose(name)
}

func first(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// operator parses the operator of a comparison; empty if there is none.
func (p *parser) operator() string {
	for _, op := range []string{">=", "<=", ">", "<"} {
		if strings.HasPrefix(p.src[p.at:], op) {
			p.token(span{p.at, p.at + len(op)}, KindOperator, "")
			p.at += len(op)
			return op
		}
	}
	return ""
}

// bound parses the bound of a comparison: a word or a text in double quotes.
func (p *parser) bound(name string) (string, error) {
	v, err := p.literal(name)
	if err == nil && v.text == "" {
		return "", wrong(v.span, "a value of %s is missing", excerpt(name))
	}
	return v.text, err
}

// literal parses a word or a text in double quotes literally.
func (p *parser) literal(name string) (value, error) {
	v := value{span: span{p.at, p.wordEnd(p.at)}}
	if p.peek('"') {
		s, err := p.quotes(false)
		if err != nil {
			return v, err
		}
		v = value{span: span{v.from, p.at}, form: quoted, text: s}
		p.token(v.span, KindValue, name)
		return v, p.endOfQuoted()
	}
	p.at = v.to
	v.text = p.src[v.span.from:v.span.to]
	p.token(v.span, KindValue, name)
	return v, nil
}

// loose parses a value that may be a range or contain stars. Either end of a range may be in double quotes.
func (p *parser) loose(name string) (value, error) {
	begin := p.at
	if p.peek('"') {
		from, err := p.quotes(false)
		if err != nil {
			return value{}, err
		}
		if !strings.HasPrefix(p.src[p.at:], "..") {
			p.token(span{begin, p.at}, KindValue, name)
			return value{span: span{begin, p.at}, form: quoted, text: from}, p.endOfQuoted()
		}
		return p.upper(name, begin, from)
	}
	end := p.wordEnd(begin)
	word := p.src[begin:end]
	if from, to, found := strings.Cut(word, ".."); found && from != "" && to != "" {
		p.at = begin + len(from)
		return p.upper(name, begin, from)
	}
	p.at = end
	at := span{begin, end}
	p.token(at, KindValue, name)
	return wordValue(word, at), nil
}

// upper parses the upper end of a range, starting at the two dots.
func (p *parser) upper(name string, begin int, from string) (value, error) {
	p.token(span{begin, p.at}, KindValue, name)
	p.token(span{p.at, p.at + 2}, KindOperator, "")
	p.at += 2
	to, err := p.bound(name)
	return value{span: span{begin, p.at}, form: between, lower: from, upper: to}, err
}

// regex parses a regular expression after a tilde: a word or a text in double quotes.
func (p *parser) regex(name string) (value, error) {
	begin := p.at
	p.at++
	v := value{form: regex}
	if p.peek('"') {
		s, err := p.quotes(true)
		if err != nil {
			return v, err
		}
		v.text, v.span = s, span{begin, p.at}
		if err := p.endOfQuoted(); err != nil {
			return v, err
		}
	} else {
		p.at = p.wordEnd(p.at)
		v.text, v.span = p.src[begin+1:p.at], span{begin, p.at}
	}
	p.token(v.span, KindRegex, name)
	if v.text == "" {
		return v, wrong(v.span, "the regular expression is missing; put it in double quotes if it contains blanks or "+
			"parentheses")
	}
	return v, nil
}
