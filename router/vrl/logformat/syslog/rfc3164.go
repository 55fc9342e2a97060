package syslog

import (
	"strings"

	"cordwood/router/vrl/ascii"
)

// parse3164 parses the text after the priority: a time, a host and a tag. Each may be missing.
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

// host parses the host at the start of s and returns the rest. If the first word is a tag, there is no host.
// With the loose rules, only a colon marks a tag, and any white space ends a word.
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

// tag parses app[proc]: text. [proc] may be missing. If there is no tag, everything is text.
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

// cutTag parses the tag at the start of s. By the strict rules, any colon ends a tag, and [proc] must be followed
// by a colon or a space. By the loose rules, a colon inside a word, as in an address, does not end a tag, and
// anything may follow [proc].
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

// cutProc parses [proc] and the end of the tag at the start of s.
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
