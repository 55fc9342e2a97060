package lines

import (
	"strconv"
	"strings"

	"cordwood/router/loki/logql"
)

// maxText is the maximum size of the text that a template makes of an entry, in bytes. A template can repeat labels, so
// a limit on the line is not enough.
const maxText = 4 << 20

// fill returns the text that a template makes of an entry. ok is false if the text would be larger than maxText.
func fill(t *logql.Template, e *Entry) (text string, ok bool) {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Label == "" {
			b.WriteString(p.Literal)
			continue
		}
		text := e.Line
		if p.Label != logql.Line {
			text = e.Get(p.Label)
		}
		for _, c := range p.Calls {
			if grows(c, text) {
				return "", false
			}
			text = call(c, text)
		}
		if b.Len()+len(text) > maxText {
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

// grows reports whether a function makes a text larger than maxText. Only replacements can make a text much larger.
func grows(c logql.Call, text string) bool {
	if c.Func != "Replace" && c.Func != "replace" {
		return false
	}
	more := len(c.Args[1]) - len(c.Args[0])
	return more > 0 && len(text)+strings.Count(text, c.Args[0])*more > maxText
}

// call applies a function of a template.
func call(c logql.Call, text string) string {
	switch c.Func {
	case "ToUpper", "upper":
		return strings.ToUpper(text)
	case "ToLower", "lower":
		return strings.ToLower(text)
	case "TrimSpace", "trim":
		return strings.Trim(text, " \t\n\v\f\r")
	case "Trim":
		return strings.Trim(text, c.Args[0])
	case "TrimPrefix":
		return strings.TrimPrefix(text, c.Args[0])
	case "TrimSuffix":
		return strings.TrimSuffix(text, c.Args[0])
	case "Replace", "replace":
		return strings.ReplaceAll(text, c.Args[0], c.Args[1])
	case "default":
		if text == "" {
			return c.Args[0]
		}
	case "trunc":
		return trunc(text, c.Args[0])
	case "contains":
		return strconv.FormatBool(strings.Contains(text, c.Args[0]))
	case "hasPrefix":
		return strconv.FormatBool(strings.HasPrefix(text, c.Args[0]))
	case "hasSuffix":
		return strconv.FormatBool(strings.HasSuffix(text, c.Args[0]))
	}
	return text // printf "%s"
}

// trunc returns the first characters of a text or, if number is negative, the last ones.
func trunc(text, number string) string {
	n, _ := strconv.Atoi(number) // the parser has checked it
	runes := []rune(text)
	switch {
	case n >= 0 && n < len(runes):
		return string(runes[:n])
	case n < 0 && -n < len(runes):
		return string(runes[len(runes)+n:])
	}
	return text
}
