package search

import "strings"

// quotes reads a text in double quotes, in which \" is a quote and \\ a backslash. Any other backslash is a
// backslash. In a regular expression both backslashes of \\ stay, since they mean one there.
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

// endOfQuoted checks that a text in double quotes ends where a word would.
func (p *parser) endOfQuoted() error {
	if end := p.wordEnd(p.at); end > p.at {
		return wrong(span{p.at, end}, "a blank is missing between the closing quote and %s", excerpt(p.src[p.at:end]))
	}
	return nil
}
