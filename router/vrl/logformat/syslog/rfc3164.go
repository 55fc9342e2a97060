package syslog

import (
	"strings"

	"cordwood/router/vrl/ascii"
)

// parse3164 reads what follows the priority, if there is one: a time, a host and a tag; each may
// be missing.
func (p *Parser) parse3164(m *Message, s string) error {
	if p.Loose {
		s = ascii.SkipSpace(s)
	}
	t, rest, ok := p.time3164(s)
	if !ok && m.Priority < 0 {
		return errNot3164
	}
	if !ok && !p.Loose {
		m.Text = s
		return nil
	}
	if ok {
		m.Time, m.HasTime = t, true
		rest = p.host(m, ascii.SkipSpace(strings.TrimPrefix(rest, ":")))
	}
	p.tag(m, rest)
	return nil
}

// host cuts the host off s. A first word that ends as a tag does is one, and there is no
// host. By the loose rules only a colon ends a tag, and any white space a word.
func (p *Parser) host(m *Message, s string) (rest string) {
	if p.Loose {
		word, after := ascii.CutWord(s)
		if word == "" || strings.HasSuffix(word, ":") {
			return s
		}
		m.Host = word
		return ascii.SkipSpace(after)
	}
	word, after, more := strings.Cut(s, " ")
	if word == "" || strings.HasSuffix(word, ":") || more && strings.HasSuffix(word, "]") {
		return s
	}
	m.Host = word
	return ascii.SkipSpace(after)
}

// tag splits app[proc]: text; [proc] may be missing. Without a tag all is text.
func (p *Parser) tag(m *Message, s string) {
	if app, proc, text, ok := p.cutTag(s); ok {
		m.App, m.Proc, s = app, proc, text
		if !p.Loose {
			s = strings.TrimPrefix(s, " ")
		}
	}
	m.Text = s
	if p.Loose {
		m.Text = looseText(s)
	}
}

// cutTag cuts the tag off s. By the strict rules any colon ends a tag, and after [proc] there
// must be one, or a space. By the loose rules a colon inside a word, as in an address, ends
// no tag, and anything may follow [proc].
func (p *Parser) cutTag(s string) (app, proc, rest string, ok bool) {
	i := strings.IndexAny(s, "[: ")
	if p.Loose {
		i = strings.IndexAny(s, "[: \t\n\v\f\r")
	}
	if i <= 0 {
		return "", "", s, false
	}
	app, rest = s[:i], s[i:]
	switch rest[0] {
	case ':':
		return app, "", rest[1:], !p.Loose || len(rest) == 1 || ascii.IsSpace(rest[1])
	case '[':
		proc, rest, ok = p.cutProc(rest)
		return app, proc, rest, ok
	}
	return "", "", s, false
}

// cutProc cuts [proc] and what ends the tag after it off s.
func (p *Parser) cutProc(s string) (proc, rest string, ok bool) {
	end := strings.IndexByte(s, ']')
	if end < 0 || strings.IndexByte(s[:end], ' ') >= 0 {
		return "", s, false
	}
	proc, rest = s[1:end], s[end+1:]
	if !p.Loose && rest != "" && rest[0] != ':' && (proc == "" || rest[0] != ' ') {
		return "", s, false
	}
	return proc, strings.TrimPrefix(rest, ":"), true
}
