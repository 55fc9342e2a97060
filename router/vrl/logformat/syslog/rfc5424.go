package syslog

import (
	"strings"

	"cordwood/router/vrl/ascii"
)

// parse5424 reads what follows the version.
func (p *Parser) parse5424(m *Message, s string) error {
	at, s, _ := strings.Cut(s, " ")
	if at != "-" {
		t, ok := p.time5424(at)
		if !ok {
			return errTime
		}
		m.Time, m.HasTime = t, true
	}
	for _, part := range [...]*string{&m.Host, &m.App, &m.Proc, &m.MsgID} {
		text, after, _ := strings.Cut(s, " ")
		if text == "" {
			return errHeader
		}
		if text != "-" {
			*part = text
		}
		s = after
	}
	if p.Loose {
		m.looseData(s)
		return nil
	}
	return m.strictData(s)
}

// strictData reads the structured data and the text that s must consist of.
func (m *Message) strictData(s string) error {
	switch {
	case strings.HasPrefix(s, "["):
		var ok bool
		if m.Data, s, ok = cutData(s, false); !ok {
			return errData
		}
	case s == "-" || strings.HasPrefix(s, "- "):
		s = s[1:]
	default:
		return errNoData
	}
	if s != "" && s[0] != ' ' {
		return errAfterData
	}
	m.Text = strings.TrimPrefix(strings.TrimPrefix(s, " "), byteOrderMark)
	return nil
}

// looseData reads the elements that s starts with, if there are any. What follows them is
// the text.
func (m *Message) looseData(s string) {
	if rest, ok := strings.CutPrefix(s, "-"); ok && (rest == "" || rest[0] == ' ') {
		s = ascii.SkipSpace(rest) // some senders put a dash for nothing and data after it
	}
	m.Data, s, _ = cutData(s, true)
	m.Text = looseText(s)
}

// looseText returns a text without white space before it and without the mark that says it
// is UTF-8.
func looseText(s string) string { return strings.TrimPrefix(ascii.SkipSpace(s), byteOrderMark) }

// Data is the structured data of a message: elements such as [id name="value"].
type Data struct {
	text  string
	loose bool
}

// IsEmpty reports whether there are no elements.
func (d Data) IsEmpty() bool { return d.text == "" }

// Elements returns the elements of d, before the first one.
func (d Data) Elements() Elements { return Elements{rest: d.text, loose: d.loose} }

// Elements goes through structured data:
//
//	for e := data.Elements(); e.Next(); {
//		for e.Param() {
//			// e.ID, e.Name, e.Value
//		}
//	}
type Elements struct {
	// ID is the id of the element at which Next has arrived.
	ID string
	// Name and Value are name and value of the parameter at which Param has arrived. A backslash in a
	// Value takes the meaning from the character after it; see AppendValue.
	Name, Value string

	rest   string
	loose  bool
	inside bool // in an element, after its id or a parameter
	failed bool
}

// cutData cuts the elements off s that it starts with. It reports whether all are well
// formed; if not, rest starts with the first that is not.
func cutData(s string, loose bool) (d Data, rest string, ok bool) {
	e := Elements{rest: s, loose: loose}
	rest = s
	for e.Next() {
		for e.Param() {
		}
		if e.failed {
			break
		}
		rest = e.rest
	}
	return Data{s[:len(s)-len(rest)], loose}, rest, !e.failed
}

// Next goes to the next element. It reports whether there is one.
func (e *Elements) Next() bool {
	for e.inside {
		e.Param()
	}
	if !strings.HasPrefix(e.rest, "[") {
		return false
	}
	n := strings.IndexAny(e.rest, " ]")
	if n < 0 || n == 1 && !e.loose { // by the loose rules an element needs no id
		e.failed = true
		return false
	}
	e.ID, e.rest, e.inside = e.rest[1:n], e.rest[n:], true
	return true
}

// Param goes to the next parameter of the element. It reports whether there is one.
func (e *Elements) Param() bool {
	if !e.inside {
		return false
	}
	if e.loose {
		e.rest = ascii.SkipSpace(e.rest)
	} else {
		e.rest = strings.TrimLeft(e.rest, " ")
	}
	if strings.HasPrefix(e.rest, "]") {
		e.rest, e.inside = e.rest[1:], false
		return false
	}
	name, after, ok := strings.Cut(e.rest, "=")
	if e.loose {
		after = ascii.SkipSpace(after)
	}
	end := -1
	if ok && (name != "" || e.loose) && !strings.ContainsAny(name, ` "]`) && strings.HasPrefix(after, `"`) {
		end = ascii.Closing(after, '"')
	}
	if end < 0 {
		e.failed, e.inside = true, false
		return false
	}
	e.Name, e.Value, e.rest = name, after[1:end], after[end+1:]
	return true
}

// AppendValue appends the Value of a parameter to dst, without the backslashes that protect
// quotation marks, brackets and backslashes.
func AppendValue(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\' || s[i+1] == ']') {
			i++
		}
		dst = append(dst, s[i])
	}
	return dst
}
