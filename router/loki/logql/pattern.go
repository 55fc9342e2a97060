package logql

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// hole is the placeholder for any text in the patterns of |> and !>.
const hole = "<_>"

// maxHoles is the maximum number of placeholders in a pattern of |> or !>. The expressions for it are nested as deeply.
const maxHoles = 100

// LinePattern is a pattern of |> or !>. As in Loki, each literal is found at its first occurrence after the one before
// it, no placeholder is empty, and a literal at the end of the pattern must end the line. A literal at the start may be
// anywhere in the line. An empty pattern matches empty lines.
type LinePattern struct {
	Literals []string
	// begins and ends are true if the pattern begins and ends with a placeholder.
	begins, ends bool
}

// ParseLinePattern reads a pattern of |> or !>. Adjacent placeholders match like one.
func ParseLinePattern(pattern string) (*LinePattern, error) {
	for at := range pattern {
		if name, n := captureAt(pattern[at:]); n > 0 && name != "_" {
			return nil, errors.New("named captures are not allowed in a line filter: write <_> instead of <" + clip(name) + ">")
		}
	}
	if pattern == "" { // matches empty lines only
		return &LinePattern{}, nil
	}
	parts := strings.Split(pattern, hole)
	if len(parts) > maxHoles {
		return nil, errors.New("the pattern has more than " + strconv.Itoa(maxHoles-1) + " placeholders")
	}
	p := &LinePattern{begins: parts[0] == "", ends: parts[len(parts)-1] == ""}
	for _, part := range parts {
		if part != "" {
			p.Literals = append(p.Literals, part)
		}
	}
	return p, nil
}

// Match reports whether a line matches the pattern.
func (p *LinePattern) Match(line string) bool {
	for i, literal := range p.Literals {
		at := strings.Index(line, literal)
		if at < 0 || at == 0 && (i > 0 || p.begins) {
			return false
		}
		line = line[at+len(literal):]
	}
	return p.ends == (line != "")
}

// Expressions returns two regular expressions for the engine. All lines that match the pattern match loose as a whole,
// which is cheap to compute. The group 1 of exact is not empty for the lines that match the pattern. exact is empty if
// the lines that match loose are the same ones.
//
// A regular expression tries other occurrences of a literal if the rest does not match. So exact also matches the lines
// that do not match the pattern after the first occurrences, by alternatives without the group, which come first.
func (p *LinePattern) Expressions() (loose, exact string) {
	if len(p.Literals) == 0 && !p.ends {
		return "", ""
	}
	var out, end strings.Builder
	out.WriteString("(?s)^(?:")
	for i, literal := range p.Literals {
		text := regexp.QuoteMeta(literal)
		gap := ".*?"
		if i > 0 || p.begins {
			gap = ".+?"
			out.WriteString(text + ".*$|")
		}
		loose += gap + text
		switch {
		case i < len(p.Literals)-1:
			out.WriteString(gap + text + "(?:")
			end.WriteByte(')')
		case p.ends:
			out.WriteString(gap + text + "(.+)$")
		default:
			out.WriteString(gap + text + ".+$|(" + gap + text + ")$")
		}
	}
	if p.ends {
		loose += ".+"
	}
	if p.ends && (len(p.Literals) == 0 || len(p.Literals) == 1 && !p.begins) {
		return loose, ""
	}
	return loose, out.String() + end.String() + ")"
}

// patternParts splits the pattern of a parser into literals and captures.
func patternParts(pattern string) ([]PatternPart, error) {
	var out []PatternPart
	names := map[string]bool{}
	literal, at := 0, 0 // where the literal begins, and how far the pattern is read
	for at < len(pattern) {
		name, n := captureAt(pattern[at:])
		if n == 0 {
			at++
			continue
		}
		if literal < at {
			out = append(out, PatternPart{Literal: pattern[literal:at]})
		} else if len(out) > 0 {
			return nil, errors.New("found consecutive capture '" + name + "': put a literal between two captures")
		}
		if name != "_" && names[name] {
			return nil, errors.New("duplicate capture name (" + name + ")")
		}
		at += n
		literal, names[name] = at, true
		out = append(out, PatternPart{Name: name})
	}
	if literal < len(pattern) {
		out = append(out, PatternPart{Literal: pattern[literal:]})
	}
	if delete(names, "_"); len(names) == 0 {
		return nil, errors.New("at least one capture is required in pattern " + strconv.Quote(clip(pattern)))
	}
	return out, nil
}

// captureAt returns the name of a capture such as <name> at the start of s, and its length, or 0 if there is none.
func captureAt(s string) (string, int) {
	if s[0] != '<' {
		return "", 0
	}
	end := 1 + span(s[1:], func(c byte) bool { return letter(c) || digit(c) })
	if end >= len(s) || s[end] != '>' || !plainName.MatchString(s[1:end]) {
		return "", 0
	}
	return s[1:end], end + 1
}

// Match returns the captured texts of a line, one for each part; the text for a literal is empty. found is false for
// parts that the line does not have. The line must begin with a literal at the start of the pattern. If a later literal
// is missing, the capture before it takes the rest of the line.
func (p *Pattern) Match(line string) (values []string, found []bool) {
	values, found = make([]string, len(p.Parts)), make([]bool, len(p.Parts))
	parts := p.Parts
	at := 0
	if parts[0].Name == "" {
		if !strings.HasPrefix(line, parts[0].Literal) {
			return values, found
		}
		line, at = line[len(parts[0].Literal):], 1
	}
	for at < len(parts) {
		if at+1 == len(parts) {
			values[at], found[at] = line, true
			break
		}
		next := parts[at+1].Literal
		before, after, ok := strings.Cut(line, next)
		values[at], found[at] = before, true
		if !ok {
			break
		}
		line, at = after, at+2
	}
	return values, found
}

// Matches reports whether a line passes the filter.
func (f *LineFilter) Matches(line string) bool {
	found := false
	for i, t := range f.Texts {
		switch f.Op[1] {
		case '=':
			found = found || strings.Contains(line, t)
		case '~':
			found = found || f.Res[i].MatchString(line)
		default:
			found = found || f.Patterns[i].Match(line)
		}
	}
	return found != (f.Op[0] == '!')
}
