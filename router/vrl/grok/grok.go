// Package grok compiles grok patterns. These are regular expressions in which %{NAME:field} stands for a pattern of
// a library, whose match becomes a field.
//
// A pattern without look-around, atomic groups and back references runs on the engine of package pattern, in time
// linear in the length of the text. Other patterns run on a backtracking engine, and a match that takes longer than
// MaxTime is aborted.
//
// A Pattern is immutable and may be used by any number of goroutines.
package grok

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2"

	"cordwood/router/vrl/pattern"
)

// MaxTime limits the time of a match on the backtracking engine.
const MaxTime = 50 * time.Millisecond

// MaxText is the longest text for the backtracking engine, in bytes.
const MaxText = 256 << 10

// maxDepth limits how deep patterns may refer to patterns.
const maxDepth = 64

// ErrTime is returned for a match that was aborted.
var ErrTime = errors.New("the match takes too long on this text; make the pattern more specific")

// ErrText is returned for a text that is too long for the pattern.
var ErrText = fmt.Errorf("the text is longer than %d bytes, too long for a pattern with look-around or atomic groups",
	MaxText)

// UnknownError is the error for a pattern that is not in the library.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("The given pattern definition name %q could not be found in the definition map", e.Name)
}

// Pattern is a compiled pattern.
type Pattern struct {
	fields []string // by the number of the group; "" if the group is not a field
	re     *pattern.Regex
	slow   *regexp2.Regexp
	groups []int // for slow: the group of each field
}

// Size estimates the memory of the compiled pattern, in bytes.
func (p *Pattern) Size() int {
	if p.re != nil {
		return p.re.Size()
	}
	return slowSize * len(p.slow.String())
}

// Backtracks reports whether the pattern runs on the backtracking engine, whose time is not bounded by the length
// of the text.
func (p *Pattern) Backtracks() bool { return p.slow != nil }

// Cost estimates the work of matching a text of n bytes, in the unit of pattern.Regex.
// For the backtracking engine it is the minimum.
func (p *Pattern) Cost(n int) int {
	if p.re != nil {
		return p.re.Cost(n)
	}
	return pattern.Cost(n, 0)
}

// slowSize is the approximate memory for each byte of a pattern on the backtracking engine.
const slowSize = 100

// Capture is a field and its text.
type Capture struct {
	// Index is the number of the field in Fields.
	Index int
	Text  string
}

// Compile compiles a pattern that may refer to the patterns of this package's library.
func Compile(source string) (*Pattern, error) {
	e := expander{}
	text, err := e.expand(source, 0)
	if err != nil {
		return nil, err
	}
	return Build(text, e.fields)
}

// Build compiles a regular expression. Its groups with the names Group(0), Group(1)… are the fields. Groups with other
// names become fields with these names, after the others.
func Build(text string, fields []string) (*Pattern, error) {
	if re, err := pattern.Compile(text); err == nil {
		p := &Pattern{re: re, fields: make([]string, len(re.Names()))}
		for i, name := range re.Names() {
			p.fields[i] = fieldName(name, fields)
		}
		return p, nil
	}
	if len(text) > pattern.MaxSource {
		return nil, fmt.Errorf("the pattern is longer than %d bytes with all that it refers to", pattern.MaxSource)
	}
	slow, err := regexp2.Compile(text, regexp2.RE2)
	if err != nil {
		return nil, fmt.Errorf("invalid regular expression: %w", err)
	}
	slow.MatchTimeout = MaxTime
	p := &Pattern{slow: slow}
	for _, n := range slow.GetGroupNumbers() {
		name := slow.GroupNameFromNumber(n)
		if name == strconv.Itoa(n) {
			name = ""
		}
		p.fields = append(p.fields, fieldName(name, fields))
		p.groups = append(p.groups, n)
	}
	return p, nil
}

const groupPrefix = "cwf_"

// Group returns the group name for field i in a text for Build.
func Group(i int) string { return groupPrefix + strconv.Itoa(i) }

func fieldName(group string, fields []string) string {
	if n, ok := strings.CutPrefix(group, groupPrefix); ok {
		if i, err := strconv.Atoi(n); err == nil && i < len(fields) {
			return fields[i]
		}
	}
	return group
}

// Fields returns the names of the fields by number. If a name is "", it is not a field. The slice must not be
// changed.
func (p *Pattern) Fields() []string { return p.fields }

// Match appends the fields of the first match in s to dst. Fields whose group did not match are left out. It returns
// false if there is no match.
func (p *Pattern) Match(dst []Capture, s string) ([]Capture, bool, error) {
	if p.slow != nil {
		return p.matchSlow(dst, s)
	}
	at := p.re.Groups(s)
	if at == nil {
		return dst, false, nil
	}
	for i, name := range p.fields {
		if name != "" && at[2*i] >= 0 {
			dst = append(dst, Capture{i, s[at[2*i]:at[2*i+1]]})
		}
	}
	return dst, true, nil
}

func (p *Pattern) matchSlow(dst []Capture, s string) ([]Capture, bool, error) {
	if len(s) > MaxText {
		return dst, false, ErrText
	}
	m, err := p.slow.FindStringMatch(s)
	if err != nil {
		return dst, false, ErrTime
	}
	if m == nil {
		return dst, false, nil
	}
	for i, name := range p.fields {
		if name == "" {
			continue
		}
		if g := m.GroupByNumber(p.groups[i]); g != nil && len(g.Captures) > 0 {
			dst = append(dst, Capture{i, g.String()})
		}
	}
	return dst, true, nil
}

// expander replaces references with the patterns to which they refer.
type expander struct {
	fields []string
	size   int
}

func (e *expander) expand(source string, depth int) (string, error) {
	if depth > maxDepth {
		return "", fmt.Errorf("patterns refer to each other more than %d deep, or in a circle", maxDepth)
	}
	var b strings.Builder
	for {
		i := strings.Index(source, "%{")
		if i < 0 {
			break
		}
		end := strings.IndexByte(source[i:], '}')
		if end < 0 {
			return "", fmt.Errorf("%%{ without a closing brace in %q", source[i:])
		}
		b.WriteString(source[:i])
		reference := source[i+2 : i+end]
		source = source[i+end+1:]
		name, field, _ := strings.Cut(reference, ":")
		field, _, _ = strings.Cut(field, ":") // a type, which is ignored here
		definition, ok := Library(name)
		if !ok {
			return "", &UnknownError{Name: name}
		}
		if field == "" {
			b.WriteString("(?:")
		} else {
			b.WriteString("(?P<" + Group(len(e.fields)) + ">")
			e.fields = append(e.fields, field)
		}
		text, err := e.expand(definition, depth+1)
		if err != nil {
			return "", err
		}
		b.WriteString(text + ")")
		if e.size += len(definition); e.size > pattern.MaxSource {
			return "", fmt.Errorf("the pattern is longer than %d bytes with all that it refers to", pattern.MaxSource)
		}
	}
	b.WriteString(source)
	return b.String(), nil
}
