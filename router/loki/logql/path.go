package logql

import (
	"fmt"
	"strconv"
	"strings"
)

// PathStep is a step of a JSON path: the name of a member, or the index of an element.
type PathStep struct {
	Name  string
	Index int
	// Element is true if the step is Index, and false if it is the name.
	Element bool
}

// CheckPath returns an error if a JSON path is invalid.
func CheckPath(path string) error {
	_, err := ParsePath(path)
	return err
}

// ParsePath reads a JSON path such as servers[0].name or request["user agent"].
func ParsePath(path string) ([]PathStep, error) {
	var out []PathStep
	rest := path
	for rest != "" {
		step, n, err := nextStep(rest, len(out) == 0)
		if err != nil {
			return nil, fmt.Errorf("cannot parse expression %q: %w", clip(path), err)
		}
		out, rest = append(out, step), rest[n:]
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("cannot parse expression %q: the path is empty", path)
	}
	return out, nil
}

func nextStep(s string, first bool) (PathStep, int, error) {
	if s[0] == '[' {
		return bracketStep(s)
	}
	skip := 0
	if !first {
		if s[0] != '.' {
			return PathStep{}, 0, fmt.Errorf("unexpected %q", s[0])
		}
		skip = 1
	}
	n := strings.IndexAny(s[skip:], ".[]\"")
	if n < 0 {
		n = len(s) - skip
	}
	if n == 0 {
		return PathStep{}, 0, fmt.Errorf("a name is missing")
	}
	return PathStep{Name: s[skip : skip+n]}, skip + n, nil
}

// bracketStep reads [0] or ["name"].
func bracketStep(s string) (PathStep, int, error) {
	if quoted, err := strconv.QuotedPrefix(s[1:]); err == nil && quoted[0] == '"' {
		n := 1 + len(quoted)
		name, err := strconv.Unquote(quoted)
		if err != nil || n >= len(s) || s[n] != ']' {
			return PathStep{}, 0, fmt.Errorf("unexpected %q", clip(s))
		}
		return PathStep{Name: name}, n + 1, nil
	}
	n := 1 + span(s[1:], digit)
	index, err := strconv.Atoi(s[1:n])
	if err != nil || index > 1e6 || n >= len(s) || s[n] != ']' {
		return PathStep{}, 0, fmt.Errorf("unexpected %q", clip(s))
	}
	return PathStep{Index: index, Element: true}, n + 1, nil
}
