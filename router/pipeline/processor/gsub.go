package processor

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cordwood/router/vrl/value"
)

// compileGsub: gsub replaces every match of a pattern in strings.
//
//	pattern: a regular expression in RE2 syntax, required; \d, \w and \s go by Unicode
//	replacement: required; $1 and $name stand for groups, ${1} and ${name} too, $0 for the
//	  whole match and $$ for a dollar sign. A name is as long as possible: $1x is ${1x}
func compileGsub(o *Options) Apply {
	fields := o.Fields()
	var re *regexp.Regexp
	if pattern, ok := o.MustString("pattern"); ok {
		re = CompileRegex(o.Get("pattern"), pattern)
	}
	replacement, ok := o.MustString("replacement")
	if re == nil || !ok {
		return nil
	}
	r, err := newReplacement(re, replacement)
	if err != nil {
		o.Get("replacement").Fault("%s", err)
		return nil
	}
	return fields.MapStrings(r.apply)
}

// replacement is an expression and the text with which gsub replaces its matches.
type replacement struct {
	matcher
	pieces []piece
	// fixed is the text that the pattern matches, if it matches only one; otherwise "".
	fixed string
	// template is the replacement in the syntax of package regexp.
	template string
	// literal is the replacement if it does not refer to groups.
	literal string
	// fixedBytes and groups are the number of bytes and of group references in the replacement.
	fixedBytes, groups int
}

// piece is text of a replacement, and the number of the group after it; -1 at the end of the replacement.
type piece struct {
	text  string
	group int
}

// The limits of a replacement and of its result: growFactor times the size of the text, plus growBytes.
const (
	maxReplacementBytes = 4096
	growFactor          = 16
	growBytes           = 64 << 10
)

var errTooLong = fmt.Errorf("the result would have more than %d times the bytes of the text", growFactor)

func newReplacement(re *regexp.Regexp, text string) (*replacement, error) {
	if len(text) > maxReplacementBytes {
		return nil, fmt.Errorf("the replacement has %d bytes, at most %d are allowed", len(text), maxReplacementBytes)
	}
	r := &replacement{matcher: newMatcher(re)}
	var literal, template strings.Builder
	from := 0 // the start of the piece in literal
	for text != "" {
		before, after, found := strings.Cut(text, "$")
		literal.WriteString(before)
		template.WriteString(before)
		if !found {
			break
		}
		name, rest, err := reference(after)
		if err != nil {
			return nil, err
		}
		if text = rest; name == "" { // a dollar sign
			literal.WriteByte('$')
			template.WriteString("$$")
			continue
		}
		group := groupNumber(re, name)
		if group < 0 {
			return nil, fmt.Errorf("the replacement refers to the group %q, which the pattern lacks; write ${…} around "+
				"a name that ends before a letter, digit or _, and $$ for a dollar sign", Cut(name))
		}
		r.groups++
		template.WriteString("${" + name + "}")
		r.pieces = append(r.pieces, piece{literal.String()[from:], group})
		from = literal.Len()
	}
	r.pieces = append(r.pieces, piece{literal.String()[from:], -1})
	r.template, r.literal, r.fixedBytes = template.String(), literal.String(), literal.Len()
	if prefix, all := re.LiteralPrefix(); all && r.groups == 0 && !strings.ContainsAny(re.String(), "^$\\(") {
		r.fixed = prefix
	}
	return r, nil
}

// reference parses the name of a group after a dollar sign, and returns the rest. If the dollar sign stands for
// itself, the name is empty.
func reference(s string) (name, rest string, err error) {
	if strings.HasPrefix(s, "$") {
		return "", s[1:], nil
	}
	braced := strings.HasPrefix(s, "{")
	inner := strings.TrimPrefix(s, "{")
	size := strings.IndexFunc(inner, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if size < 0 {
		size = len(inner)
	}
	name, rest = inner[:size], inner[size:]
	switch {
	case !braced:
		return name, rest, nil
	case name == "" || !strings.HasPrefix(rest, "}"):
		return "", "", errors.New("the replacement has ${ without a name and } after it; write $$ for a dollar sign")
	}
	return name, rest[1:], nil
}

// groupNumber returns the number of the group with a name or number; -1 if there is none.
func groupNumber(re *regexp.Regexp, name string) int {
	n, err := strconv.ParseUint(name, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != name {
		return re.SubexpIndex(name)
	}
	if int(n) > re.NumSubexp() {
		return -1
	}
	return int(n)
}

func (r *replacement) apply(rec *Record, s string) (value.Value, error) {
	if r.fixed != "" {
		return r.replaceFixed(rec, s)
	}
	if err := r.spendOnMatches(rec, s); err != nil {
		return value.None, err
	}
	re, mayQuick := r.on(s)
	if mayQuick && r.quick.Suits(s) {
		if v, decided, err := r.replaceQuick(rec, s); decided {
			return v, err
		}
	}
	limit := maxGrown(s)
	if most := len(s) + (len(s)+1)*r.fixedBytes + len(s)*r.groups; most > limit && r.size(re, s) > limit {
		return value.None, errTooLong
	}
	if r.groups == 0 {
		return value.NewString(re.ReplaceAllLiteralString(s, r.literal)), nil
	}
	return value.NewString(re.ReplaceAllString(s, r.template)), nil
}

// maxGrown returns the largest size of the result for s.
func maxGrown(s string) int { return growFactor*len(s) + growBytes }

// replaceQuick does what apply does, with the quick matcher. If the matcher gives up, decided is false. As in package
// regexp, an empty match directly after another match is ignored.
func (r *replacement) replaceQuick(rec *Record, s string) (v value.Value, decided bool, err error) {
	var few [fewPlaces]int
	places := few[:]
	if n := 2 * r.quick.Groups(); n > len(few) {
		places = make([]int, n)
	}
	limit := maxGrown(s)
	b := rec.Scratch[:0]
	done, matches := 0, 0
	for at := 0; at <= len(s); matches++ {
		matched, decided := r.quick.MatchFrom(s, at, places)
		if !decided {
			return value.None, false, nil
		}
		if !matched {
			break
		}
		from, to := places[0], places[1]
		b = append(b, s[done:from]...)
		if to > done || from == 0 {
			b = r.append(b, s, places)
		}
		if len(b) > limit {
			return value.None, true, errTooLong
		}
		done = to
		if at < to {
			at = to
		} else {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += max(size, 1)
		}
	}
	if matches == 0 {
		return value.NewString(s), true, nil
	}
	b = append(b, s[done:]...)
	rec.Scratch = b
	return rec.Text(b), true, nil
}

// append appends the replacement of the match whose groups are at places.
func (r *replacement) append(dst []byte, s string, places []int) []byte {
	for _, p := range r.pieces {
		dst = append(dst, p.text...)
		if p.group >= 0 && places[2*p.group] >= 0 {
			dst = append(dst, s[places[2*p.group]:places[2*p.group+1]]...)
		}
	}
	return dst
}

// size returns an upper bound on the size of the result for s, using the form of the expression for s.
func (r *replacement) size(re *regexp.Regexp, s string) int {
	matches, matched := 0, 0
	re.ReplaceAllStringFunc(s, func(m string) string {
		matches++
		matched += len(m)
		return ""
	})
	return len(s) + matches*r.fixedBytes + matched*r.groups
}

// replaceFixed does what apply does, for a fixed text and without a regular expression.
func (r *replacement) replaceFixed(rec *Record, s string) (value.Value, error) {
	at := strings.Index(s, r.fixed)
	if at < 0 {
		return value.NewString(s), nil
	}
	limit := maxGrown(s)
	b, rest := rec.Scratch[:0], s
	for ; at >= 0; at = strings.Index(rest, r.fixed) {
		b = append(b, rest[:at]...)
		b = append(b, r.literal...)
		rest = rest[at+len(r.fixed):]
		if len(b) > limit {
			return value.None, errTooLong
		}
	}
	b = append(b, rest...)
	rec.Scratch = b
	return rec.Text(b), nil
}
