package loki

import (
	"bytes"
	"errors"
	"strconv"
)

var errLabels = errors.New(`the labels of a stream are not a text such as {app="web", env="test"}`)

// parseLabels calls each for each label in a text such as {app="web", env="test"}. Values without escapes point
// into text.
func parseLabels(text []byte, each func(pair)) error {
	text = bytes.TrimSpace(text)
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return errLabels
	}
	text = bytes.TrimSpace(text[1 : len(text)-1])
	for len(text) > 0 {
		eq := bytes.IndexByte(text, '=')
		if eq < 0 {
			return errLabels
		}
		p := pair{name: bytes.TrimSpace(text[:eq])}
		if quoted := p.name; len(quoted) > 1 && quoted[0] == '"' { // quoted names, which Prometheus 3 allows
			name, err := strconv.Unquote(string(quoted))
			if err != nil {
				return errLabels
			}
			p.name = []byte(name)
		}
		text = bytes.TrimLeft(text[eq+1:], " \t")
		value, rest, err := cutQuoted(text)
		if err != nil || len(p.name) == 0 {
			return errLabels
		}
		p.value = value
		each(p)
		text = bytes.TrimLeft(rest, " \t")
		if len(text) == 0 {
			break
		}
		if text[0] != ',' {
			return errLabels
		}
		text = bytes.TrimLeft(text[1:], " \t")
	}
	return nil
}

// cutQuoted returns the value of the quoted string at the start of text, and the rest.
func cutQuoted(text []byte) (value, rest []byte, err error) {
	if len(text) < 2 || text[0] != '"' && text[0] != '`' {
		return nil, nil, errLabels
	}
	quote, escaped := text[0], false
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			escaped = true
			i++
		case text[i] == quote && !escaped:
			return text[1:i], text[i+1:], nil
		case text[i] == quote:
			s, err := strconv.Unquote(string(text[:i+1]))
			return []byte(s), text[i+1:], err
		}
	}
	return nil, nil, errLabels
}
