package processor

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
)

// The classes \d, \w and \s with all Unicode characters, in the syntax inside a class. None ends with a single
// character, because a following - would make it a range.
const (
	wideDigit = `\p{Nd}`
	wideWord  = `\x{200c}\x{200d}\p{L}\p{M}\p{Nl}\p{Nd}\p{Pc}`
	wideSpace = `\x{85}\s\v\p{Z}`
)

// maxWide limits how many of these classes a pattern may have, because each takes several kilobytes.
const maxWide = 128

// widen returns the form of a compiled pattern for texts that are not ASCII, in which \d, \w, \s and their
// opposites include Unicode. It is nil if re can be used: the pattern has none of these classes, or more than
// maxWide. The groups are the same.
func widen(re *regexp.Regexp) *regexp.Regexp {
	text, count := widePattern(re.String())
	if count == 0 || count > maxWide {
		return nil
	}
	wide, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return wide
}

// widePattern replaces the ASCII classes in a pattern by Unicode classes, and counts them.
func widePattern(pattern string) (text string, count int) {
	var b strings.Builder
	inClass := false
	for s := pattern; s != ""; {
		size := 1
		switch {
		case strings.HasPrefix(s, `\Q`) && !inClass:
			size = len(s)
			if end := strings.Index(s, `\E`); end >= 0 {
				size = end + len(`\E`)
			}
		case s[0] == '\\' && len(s) > 1:
			if class := wideClass(s[1], inClass); class != "" && count <= maxWide {
				b.WriteString(class)
				count++
				s = s[2:]
				continue
			}
			size = 2
		case inClass && strings.HasPrefix(s, "[:"):
			if end := strings.Index(s, ":]"); end > 0 {
				size = end + len(":]")
			}
		case inClass && s[0] == ']':
			inClass = false
		case !inClass && s[0] == '[':
			inClass = true
			// A bracket at the start does not close the class.
			rest := strings.TrimPrefix(s[1:], "^")
			size = len(s) - len(strings.TrimPrefix(rest, "]"))
		}
		b.WriteString(s[:size])
		s = s[size:]
	}
	return b.String(), count
}

// wideClass returns the replacement for an escape such as \w; empty for other escapes.
func wideClass(escape byte, inClass bool) string {
	var in string
	switch escape {
	case 'd', 'D':
		in = wideDigit
	case 'w', 'W':
		in = wideWord
	case 's', 'S':
		in = wideSpace
	default:
		return ""
	}
	negated := 'A' <= escape && escape <= 'Z'
	switch {
	case negated && inClass && escape == 'D':
		return `\P{Nd}`
	case negated && inClass && escape == 'W':
		return wideNotWord()
	case negated && inClass:
		return wideNotSpace()
	case negated:
		return "[^" + in + "]"
	case inClass:
		return in
	}
	return "[" + in + "]"
}

var (
	wideNotWord  = sync.OnceValue(func() string { return opposite(wideWord) })
	wideNotSpace = sync.OnceValue(func() string { return opposite(wideSpace) })
)

// opposite returns the complement of a class, range by range, because a class cannot contain a negated class.
func opposite(in string) string {
	tree, err := syntax.Parse("[^"+in+"]", syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for i := 0; i+1 < len(tree.Rune); i += 2 {
		for j, r := range tree.Rune[i : i+2] {
			if j == 1 {
				b.WriteByte('-')
			}
			b.WriteString(`\x{` + strconv.FormatInt(int64(r), 16) + "}")
		}
	}
	return b.String()
}
