package grok

import (
	"errors"
	"fmt"
	"strings"
)

// expand appends text to the expression. It replaces names, and translates syntax of other engines to RE2.
func (x *expander) expand(text string) error {
	repeated := false // the last appended part is a repetition
	for i := 0; i < len(text); {
		if x.out.Len() > MaxExpanded {
			return fmt.Errorf("the pattern has more than %d bytes when its names are replaced", MaxExpanded)
		}
		rest := text[i:]
		wasRepeated := repeated
		repeated = false
		switch c := rest[0]; {
		case c == '\\':
			n, err := x.escape(rest, false)
			if err != nil {
				return err
			}
			i += n
		case c == '[':
			n, err := x.class(rest)
			if err != nil {
				return err
			}
			i += n
		case strings.HasPrefix(rest, "%{"):
			end := strings.IndexByte(rest, '}')
			if end < 0 {
				return errors.New("%{ without }")
			}
			if err := x.reference(rest[2:end]); err != nil {
				return err
			}
			i += end + 1
		case c == '(':
			n, err := x.group(rest)
			if err != nil {
				return err
			}
			i += n
		case c == '+' && wasRepeated: // possessive
			i++
		case c == '{':
			n := repetition(rest)
			repeated = n > 1
			x.out.WriteString(rest[:n])
			i += n
		default:
			repeated = !wasRepeated && (c == '*' || c == '+' || c == '?')
			x.out.WriteByte(c)
			i++
		}
	}
	return nil
}

// repetition returns the length of {n,m} at the start of s, or 1.
func repetition(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '}' && i > 1:
			return i + 1
		case (c < '0' || c > '9') && c != ',':
			return 1
		}
	}
	return 1
}

// escape appends the escape at the start of s and returns its length.
func (x *expander) escape(s string, inClass bool) (int, error) {
	if len(s) < 2 {
		return 0, errors.New("a backslash at the end of the pattern")
	}
	switch c := s[1]; {
	case c == 'h' && inClass:
		x.out.WriteString("0-9A-Fa-f")
	case c == 'h':
		x.out.WriteString("[0-9A-Fa-f]")
	case c == 'H' && !inClass:
		x.out.WriteString("[^0-9A-Fa-f]")
	case c == 'Z' && !inClass:
		x.out.WriteString(`\n?\z`)
	case c == 'e':
		x.out.WriteString(`\x1b`)
	case c >= '1' && c <= '9', c == 'k':
		return 0, fmt.Errorf("back-references are not supported: %s", s[:2])
	case c == 'Q': // RE2 would treat the following text as literal, up to \E
		return 0, errors.New(`\Q is not supported`)
	default:
		x.out.WriteString(s[:2])
	}
	return 2, nil
}

// class appends the character class at the start of s and returns its length.
func (x *expander) class(s string) (int, error) {
	i := 1
	if i < len(s) && s[i] == '^' {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	x.out.WriteString(s[:i])
	for i < len(s) {
		switch c := s[i]; {
		case c == ']':
			x.out.WriteByte(c)
			return i + 1, nil
		case c == '\\':
			n, err := x.escape(s[i:], true)
			if err != nil {
				return 0, err
			}
			i += n
		case strings.HasPrefix(s[i:], "[:") && strings.Contains(s[i:], ":]"):
			n := strings.Index(s[i:], ":]") + 2
			x.out.WriteString(s[i : i+n])
			i += n
		default:
			x.out.WriteByte(c)
			i++
		}
	}
	return 0, errors.New("missing ] of a character class")
}

// group appends the start of the group at the start of s and returns its length.
func (x *expander) group(s string) (int, error) {
	if !strings.HasPrefix(s, "(?") {
		x.out.WriteString("(?:")
		return 1, nil
	}
	for _, look := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.HasPrefix(s, look) {
			return 0, fmt.Errorf("look-around is not supported: %s", look)
		}
	}
	if strings.HasPrefix(s, "(?>") {
		x.out.WriteString("(?:")
		return 3, nil
	}
	if strings.HasPrefix(s, "(?#") {
		return 0, errors.New("comments are not supported: (?#")
	}
	for _, named := range []string{"(?<", "(?P<"} {
		if !strings.HasPrefix(s, named) {
			continue
		}
		end := strings.IndexByte(s, '>')
		if end < 0 {
			return 0, fmt.Errorf("%s without >", named)
		}
		name := fieldName(s[len(named):end])
		if name == "" {
			return 0, fmt.Errorf("%s> has no name", named)
		}
		return end + 1, x.capture(name, String)
	}
	x.out.WriteString("(?")
	return 2, nil
}
