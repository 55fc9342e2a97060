package search

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"

	"cordwood/proto/schema"
)

// word returns an SQL condition that is true if the text of column contains v.
func word(column string, v value) (string, error) {
	switch {
	case v.form == regex:
		return regexMatch(column, v)
	case v.form == present:
		return column + " IS NOT NULL", nil
	case v.text == "":
		return column + " = ''", nil
	case v.form != pattern && !strings.ContainsFunc(v.text, inWords):
		return "contains(" + column + ", " + schema.QuoteLiteral(v.text) + ")", nil
	case len(v.text) > maxWord:
		return "", wrong(v.span, "a word or phrase of %d bytes; at most %d are allowed: search for a part of it", len(v.text),
			maxWord)
	case v.form == quoted:
		return "matches(" + column + ", " + schema.QuoteLiteral(phrase(v.text)) + ")", nil
	case v.form == pattern:
		return wordPattern(column, v.text), nil
	}
	return "matches_term(" + column + ", " + schema.QuoteLiteral(v.text) + ")", nil
}

// maxWord is the maximum size of a word or phrase, in bytes. matches and matches_term have the same limit.
const maxWord = 1024

// inWords reports whether r can be part of a word. A text without such characters is searched for literally.
func inWords(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// phrase returns a text as a phrase in the query language of matches.
func phrase(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// The RE2 expressions for the ends of a word and for a star in a word.
const (
	beforeWord = `(^|[^\pL\pN])`
	afterWord  = `($|[^\pL\pN])`
	inWord     = `[\pL\pN]*`
)

// wordPattern returns an SQL condition that is true if a word of column matches a pattern. The filters of words
// check the start of a word.
func wordPattern(column, pattern string) string {
	begin, rest, _ := strings.Cut(pattern, "*")
	other := func(r rune) bool { return !inWords(r) }
	if rest == "" && !strings.ContainsFunc(begin, other) {
		return "matches(" + column + ", " + schema.QuoteLiteral(pattern) + ")"
	}
	parts := strings.Split(pattern, "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	re := strings.Join(parts, inWord)
	if parts[0] != "" {
		re = beforeWord + re
	}
	if parts[len(parts)-1] != "" {
		re += afterWord
	}
	return column + " ~* " + schema.QuoteLiteral(re)
}

// regexMatch returns an SQL condition that is true if column contains a match of a regular expression.
func regexMatch(column string, v value) (string, error) {
	if _, err := syntax.Parse(v.text, syntax.Perl); err != nil {
		return "", wrong(v.span, "%s is not a regular expression: %s", excerpt(v.text), err.Error())
	}
	return column + " ~ " + schema.QuoteLiteral(v.text), nil
}

// like returns an SQL condition that is true if the whole text of column matches a pattern with stars.
func like(column, pattern string) string {
	begin, rest, _ := strings.Cut(pattern, "*")
	if rest == "" {
		return "starts_with(" + column + ", " + schema.QuoteLiteral(begin) + ")"
	}
	special := strings.ContainsAny(pattern, "%_!")
	like := strings.NewReplacer("!", "!!", "%", "!%", "_", "!_", "*", "%").Replace(pattern)
	sql := column + " LIKE " + schema.QuoteLiteral(like)
	if special {
		sql += " ESCAPE '!'"
	}
	return sql
}
