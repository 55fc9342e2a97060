package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// propertyText returns the characters with a Unicode property, in Go's syntax for use inside a class.
func propertyText(name string, negated bool) (string, bool) {
	letter := `\p{`
	if negated {
		letter = `\P{`
	}
	value := name
	if i := strings.IndexAny(name, "=:"); i >= 0 {
		value = name[i+1:]
		key := fold(strings.TrimSuffix(name[:i], "!"))
		if strings.HasSuffix(name[:i], "!") {
			return propertyText(name[:i-1]+name[i:], !negated)
		}
		switch key {
		case "gc", "generalcategory", "sc", "script", "scx", "scriptextensions":
		default:
			return "", false
		}
	}
	if text := letter + value + "}"; !strings.ContainsAny(value, `{}\`) {
		if _, err := syntax.Parse(text, syntax.Perl); err == nil {
			return text, true
		}
	}
	s, ok := propertySets()[fold(value)]
	if !ok || value != name {
		return "", false
	}
	if negated {
		s = s.complement()
	}
	var b strings.Builder
	s.write(&b)
	return b.String(), true
}

// fold returns a property's name in lower case without spaces and punctuation, which are not significant.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// propertySets returns the properties that are neither categories nor scripts.
var propertySets = sync.OnceValue(func() map[string]set {
	out := map[string]set{}
	for name, t := range unicode.Properties {
		out[fold(name)] = tableSet(t)
	}
	derived := func(name, other string, tables ...*unicode.RangeTable) {
		s := slices.Clone(out[other])
		for _, t := range tables {
			s = append(s, tableSet(t)...)
		}
		out[name] = s.normal()
	}
	derived("alphabetic", "otheralphabetic", unicode.L, unicode.Nl)
	derived("alpha", "otheralphabetic", unicode.L, unicode.Nl)
	derived("uppercase", "otheruppercase", unicode.Lu)
	derived("upper", "otheruppercase", unicode.Lu)
	derived("lowercase", "otherlowercase", unicode.Ll)
	derived("lower", "otherlowercase", unicode.Ll)
	derived("math", "othermath", unicode.Sm)
	derived("space", "whitespace")
	return out
})

// tableSet returns the characters of a table.
func tableSet(t *unicode.RangeTable) set {
	var s set
	for _, r := range t.R16 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			s = append(s, c, c)
		}
	}
	for _, r := range t.R32 {
		for c := rune(r.Lo); c <= rune(r.Hi); c += rune(r.Stride) {
			s = append(s, c, c)
		}
	}
	return s.normal()
}
