package patterns

import (
	"slices"
	"strings"
	"unicode"

	"cordwood/proto/lazyregexp"
)

// maxQueryPhrases limits the phrases of a search for a pattern. They reduce the number of rows that the regular
// expression tests.
const maxQueryPhrases = 3

// bareName matches names that need no quotes in a search text.
var bareName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// queryOf returns a search text that finds the texts of a pattern: phrases between the holes, then the regular
// expression. words is set if a search finds words in the field, and cut if the texts may go on after the pattern.
func queryOf(field, pattern, expression string, words, cut bool) string {
	name := field
	if !bareName.MatchString(field) {
		name = quote(field, true)
	}
	var out []string
	if words {
		for _, phrase := range phrases(strings.Split(pattern, Hole), cut) {
			out = append(out, name+":"+quote(phrase, true))
		}
	}
	return strings.Join(append(out, name+":~"+quote(expression, false)), " ")
}

// phrases returns the longest texts between holes that consist of whole words. cut is as for queryOf.
func phrases(parts []string, cut bool) []string {
	var out []string
	for i, part := range parts {
		words := strings.Fields(part)
		// A word next to a hole, or at a cut, may be only a part of a word.
		if i > 0 && !strings.HasPrefix(part, " ") && len(words) > 0 {
			words = words[1:]
		}
		if (cut || i < len(parts)-1) && !strings.HasSuffix(part, " ") && len(words) > 0 {
			words = words[:len(words)-1]
		}
		text := strings.Join(words, " ")
		if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) &&
			strings.Contains(part, text) {
			out = append(out, text)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out[:min(len(out), maxQueryPhrases)]
}

// quote puts a text in double quotes for a search text. In a regular expression, backslashes stay unchanged.
func quote(text string, backslashes bool) string {
	if backslashes {
		text = strings.ReplaceAll(text, `\`, `\\`)
	}
	return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
}
