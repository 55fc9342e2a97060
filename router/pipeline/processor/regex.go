package processor

import (
	"regexp"
	"slices"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

// compileRegex: regex extracts the named groups of patterns as fields.
//
//	pattern: a regular expression in RE2 syntax
//	patterns: a list of them; if both are given, patterns follow pattern
//
// Every pattern is searched for. Every group (?<name>…) that matched in the first match of its pattern becomes a field.
// The field is called <field>_<name>, or <new name>_<name> if the field list gives a new name. A pattern that does not
// occur gives no fields and is not an error. The source stays. \d, \w and \s go by Unicode, unless a pattern has more
// than maxWide of them; \b knows ASCII only.
func compileRegex(o *Options) Apply {
	fields := o.Fields()
	var patterns []*regexp.Regexp
	named := false
	for _, n := range patternNodes(o.Map) {
		text, ok := n.String()
		if !ok {
			continue
		}
		if re := CompileRegex(n, text); re != nil {
			patterns = append(patterns, re)
			named = namedGroups(n, re) || named
		}
	}
	if len(patterns) > 0 && !named {
		o.Fault("no pattern has a named group, such as (?<name>…), so there is nothing to extract")
	}
	return fields.EachStringWith(func(fl Field) func(*Record, string) error {
		return newExtractor(o, fl.Out.Text, patterns).apply
	})
}

// extractor extracts the groups of patterns from one field.
type extractor struct {
	outputs  captures
	patterns []groupPattern
}

// groupPattern is a pattern with named groups.
type groupPattern struct {
	matcher
	groups []group
}

// group is the number of a named group, and the index of its text in the outputs.
type group struct{ number, place int }

func newExtractor(o *Options, prefix string, patterns []*regexp.Regexp) *extractor {
	e := &extractor{}
	var names []string
	for _, re := range patterns {
		p := groupPattern{matcher: newMatcher(re)}
		for i, n := range re.SubexpNames() {
			if n != "" {
				p.groups = append(p.groups, group{i, len(names)})
				names = append(names, prefix+"_"+n)
			}
		}
		if len(p.groups) > 0 {
			e.patterns = append(e.patterns, p)
		}
	}
	var places []int
	o.DeclareTexts(names...)
	e.outputs, places = newCaptures(o, names)
	for _, p := range e.patterns {
		for i := range p.groups {
			p.groups[i].place = places[p.groups[i].place]
		}
	}
	return e
}

func (e *extractor) apply(rec *Record, s string) error {
	var few [fewCaptures]value.Value
	values := e.outputs.values(few[:])
	var fewLoc [fewPlaces]int
	matched := false
	for i := range e.patterns {
		p := &e.patterns[i]
		if err := p.spendOnMatch(rec, s); err != nil {
			return err
		}
		loc := p.find(s, fewLoc[:])
		if loc == nil {
			continue
		}
		matched = true
		for _, g := range p.groups {
			if from := loc[2*g.number]; from >= 0 {
				values[g.place] = value.NewString(s[from:loc[2*g.number+1]])
			}
		}
	}
	if matched {
		e.outputs.set(rec, values)
	}
	return nil
}

// namedGroups reports whether the pattern at n has named groups. Two groups with the same name are a fault, because
// one of them would be lost.
func namedGroups(n *document.Node, re *regexp.Regexp) bool {
	names := re.SubexpNames()
	named := false
	for i, name := range names {
		if name == "" {
			continue
		}
		named = true
		if slices.Contains(names[:i], name) {
			n.Fault("two groups have the name %q", Cut(name))
		}
	}
	return named
}

// patternNodes returns the patterns of the options pattern and patterns, at least one.
func patternNodes(m *document.Map) []*document.Node {
	var nodes []*document.Node
	one, list := m.Get("pattern"), m.Get("patterns")
	if one != nil {
		nodes = append(nodes, one)
	}
	if list != nil {
		nodes = append(nodes, list.List()...)
	}
	switch {
	case one == nil && list == nil:
		m.Fault(`"pattern" or "patterns" is required`)
	case len(nodes) == 0 && list.IsList():
		list.Fault("the list of patterns is empty")
	case len(nodes) > maxPatterns:
		list.Fault("%d patterns, at most %d are allowed", len(nodes), maxPatterns)
		return nil
	}
	return nodes
}
