package syslog

import (
	"strings"

	"cordwood/router/vrl/ascii"
)

// parse5424 parses the text after the version.
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

// strictData parses structured data and the text after it. s must contain nothing else.
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

// looseData parses the elements at the start of s, if there are any. The rest is the text.
func (m *Message) looseData(s string) {
	if rest, ok := strings.CutPrefix(s, "-"); ok && (rest == "" || rest[0] == ' ') {
		s = ascii.SkipSpace(rest) // some senders write a dash for missing data and then data
	}
	m.Data, s, _ = cutData(s, true)
	m.Text = looseText(s)
}

// looseText returns a text without leading white space and without a byte order mark.
func looseText(s string) string { return strings.TrimPrefix(ascii.SkipSpace(s), byteOrderMark) }

// Data is the structured data of a message: elements such as [id name="value"].
type Data struct {
	text  string
	loose bool
}

// IsEmpty reports whether there are no elements.
func (d Data) IsEmpty() bool { return d.text == "" }

// Elements returns an iterator over d, positioned before the first element.
func (d Data) Elements() Elements { return Elements{rest: d.text, loose: d.loose} }

// Elements iterates over structured data:
//
//	for e := data.Elements(); e.Next(); {
//		for e.Param() {
//			// e.ID, e.Name, e.Value
//		}
//	}
type Elements struct {
	// ID is the id of the current element.
	ID string
	// Name and Value are those of the current parameter. In Value, backslashes still escape characters; see
	// AppendValue.
	Name, Value string

	rest   string
	loose  bool
	inside bool // inside an element, after its id or a parameter
	failed bool
}

// cutData parses the elements at the start of s. ok reports whether all of them are well formed. If not, rest
// starts with the first malformed one.
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

// Next moves to the next element. It reports whether there is one.
func (e *Elements) Next() bool {
	for e.inside {
		e.Param()
	}
	if !strings.HasPrefix(e.rest, "[") {
		return false
	}
	n := strings.IndexAny(e.rest, " ]")
	if n < 0 || n == 1 && !e.loose { // by the loose rules an element may have no id
		e.failed = true
		return false
	}
	e.ID, e.rest, e.inside = e.rest[1:n], e.rest[n:], true
	return true
}

// Param moves to the next parameter of the element. It reports whether there is one.
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

// AppendValue appends the Value of a parameter to dst, without the backslashes that escape quotation marks,
// brackets and backslashes.
func AppendValue(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\' || s[i+1] == ']') {
			i++
		}
		dst = append(dst, s[i])
	}
	return dst
}
