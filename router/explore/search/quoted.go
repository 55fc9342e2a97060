package search

import "strings"

// quotes parses a text in double quotes, in which \" is a quote and \\ a backslash. Any other backslash is an
// ordinary character. In a regular expression, \\ stays unchanged, because it means a backslash there.
func (p *parser) quotes(regex bool) (string, error) {
	begin := p.at
	var b strings.Builder
	for i := begin + 1; i < len(p.src); i++ {
		c := p.src[i]
		if c == '"' {
			p.at = i + 1
			return b.String(), nil
		}
		if c == '\\' && i+1 < len(p.src) && (p.src[i+1] == '"' || p.src[i+1] == '\\') {
			i++
			if regex && p.src[i] == '\\' {
				b.WriteByte(c)
			}
			c = p.src[i]
		}
		b.WriteByte(c)
	}
	return "", wrong(span{begin, len(p.src)}, `the double quote is not closed; write \" for a quote in a text`)
}

// endOfQuoted checks that a text in double quotes is followed by the end of a word.
func (p *parser) endOfQuoted() error {
	if end := p.wordEnd(p.at); end > p.at {
		return wrong(span{p.at, end}, "a blank is missing between the closing quote and %s", excerpt(p.src[p.at:end]))
	}
	return nil
}
