package logql

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// hole is the placeholder for any text in the patterns of |> and !>.
const hole = "<_>"

// PatternExpression returns a regular expression that matches the whole line for a pattern of |> or !>. A literal at
// the start of the pattern may be anywhere in the line, <_> matches at least one character, and a literal at the end
// must end the line.
func PatternExpression(pattern string) (string, error) {
	if pattern == "" {
		return "", errors.New("an empty pattern")
	}
	for strings.Contains(pattern, hole+hole) { // adjacent placeholders match like one
		pattern = strings.ReplaceAll(pattern, hole+hole, hole)
	}
	var b strings.Builder
	if !strings.HasPrefix(pattern, hole) {
		b.WriteString(".*?")
	}
	parts := strings.Split(pattern, hole)
	for i, part := range parts {
		switch {
		case i == 0:
		case i == len(parts)-1 && part == "":
			b.WriteString(".+")
		default:
			b.WriteString(".+?")
		}
		b.WriteString(regexp.QuoteMeta(part))
	}
	return b.String(), nil
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
		if f.Op[1] == '=' {
			found = found || strings.Contains(line, t)
		} else {
			found = found || f.Res[i].MatchString(line)
		}
	}
	return found != (f.Op[0] == '!')
}
