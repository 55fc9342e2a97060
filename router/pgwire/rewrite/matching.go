package rewrite

import (
	"regexp"
	"slices"
	"strings"

	"cordwood/router/query/statement"
)

// pattern rewrites a literal that is a pattern of ~, LIKE or SIMILAR TO, if the engine would understand it otherwise.
func (r *rewriter) pattern() bool {
	t := r.at(0)
	switch last := r.last(); {
	case isMarker(t.val):
		return r.afterMatch() && r.patternMarker()
	case r.afterMatch():
		text := enginePattern(t.val)
		typ, cast := r.typeAfter(1) // the engine takes only literals
		if cast = cast && typ.isText(); !cast && text == t.val {
			return false
		}
		r.raw(t, quote(text))
		if r.i++; cast {
			r.i += 1 + typ.size
		}
		return true
	case last.word("LIKE") || last.word("ILIKE"):
		if !strings.Contains(t.val, `\`) || r.at(1).word("ESCAPE") {
			return false
		}
		r.raw(t, quote(t.val)+` ESCAPE '\'`) // in the engine, patterns have no escape by default
		r.i++
		return true
	case last.word("TO") && len(r.out) > 1 && r.out[len(r.out)-2].word("SIMILAR") && !r.at(1).word("ESCAPE"):
		r.raw(t, quote(similarPattern(t.val)))
		r.i++
		return true
	}
	return false
}

// patternMarker is patternParameter for the text that replaces a parameter.
func (r *rewriter) patternMarker() bool {
	typ, ok := r.typeAfter(1)
	if !ok || !typ.isText() {
		return false
	}
	r.push(r.at(0))
	r.i += 2 + typ.size
	return true
}

// patternParameter removes the cast of a parameter that is a pattern: the engine takes only literals.
func (r *rewriter) patternParameter() bool {
	typ, ok := r.typeAfter(2)
	if !ok || !typ.isText() {
		return false
	}
	r.push(r.at(0))
	r.push(r.at(1))
	r.i += 3 + typ.size
	return true
}

// isText reports whether values of the type are texts.
func (t castType) isText() bool { return strings.EqualFold(t.text, "VARCHAR") && !t.array }

// matchOperators are the operators of regular expressions.
var matchOperators = []string{"~", "~*", "!~", "!~*"}

// afterMatch reports whether the last token is an operator of regular expressions.
func (r *rewriter) afterMatch() bool {
	n := len(r.out)
	if n == 0 {
		return false
	}
	if r.out[n-1].kind == written {
		return slices.Contains(matchOperators, r.out[n-1].text)
	}
	if r.out[n-1].sym("*") {
		n--
	}
	return n > 0 && r.out[n-1].sym("~") && (n < 2 || !r.out[n-2].sym("~")) // ~~ is LIKE
}

// enginePatterns maps escapes of PostgreSQL's regular expressions to the engine's. The beginning and the end of a word
// are any boundary of a word there, which is the same next to a character of a word.
var enginePatterns = map[byte]string{'m': `\b`, 'M': `\b`, 'y': `\b`, 'Y': `\B`, 'Z': `\z`}

// enginePattern returns a regular expression of PostgreSQL as the engine understands it.
func enginePattern(pattern string) string {
	if !strings.ContainsAny(pattern, `\[`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch rest := pattern[i:]; {
		case strings.HasPrefix(rest, "[[:<:]]"), strings.HasPrefix(rest, "[[:>:]]"):
			b.WriteString(`\b`)
			i += len("[[:<:]]") - 1
		case pattern[i] == '\\' && len(rest) > 1:
			i++
			if text := enginePatterns[rest[1]]; text != "" {
				b.WriteString(text)
				continue
			}
			b.WriteString(rest[:2])
		default:
			b.WriteByte(pattern[i])
		}
	}
	return b.String()
}

// similarPattern returns the regular expression for a pattern of SIMILAR TO. The engine matches it with the whole text.
func similarPattern(pattern string) string {
	var b strings.Builder
	b.WriteString("(?s)")
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		case class:
			class = c != ']'
			b.WriteByte(c)
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case strings.IndexByte(`.^$\`, c) >= 0:
			b.WriteString(regexp.QuoteMeta(string(c)))
		default:
			class = c == '['
			b.WriteByte(c)
		}
	}
	return b.String()
}

// withPattern rewrites the pattern of a function's second argument before another rule is applied.
func withPattern(next expand) expand {
	return func(r *rewriter, args []string) (string, bool) {
		if len(args) > 1 {
			if pattern, ok := literalOf(args[1]); ok {
				args = slices.Clone(args)
				args[1] = quote(enginePattern(pattern))
			}
		}
		return next(r, args)
	}
}

// matched returns what a pattern matches, or its first group if it has groups, or null.
func matched(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	pattern, ok := literalOf(args[1])
	if !ok {
		return "", false
	}
	group := "0"
	if re, err := regexp.Compile(pattern); err == nil && re.NumSubexp() > 0 {
		group = "1"
	}
	text, literal := "("+args[0]+")", quote(pattern)
	return "CASE WHEN regexp_matches" + text[:len(text)-1] + ", " + literal + ") THEN regexp_extract" +
		text[:len(text)-1] + ", " + literal + ", " + group + ") END", true
}

// substringCall rewrites substring(x from 'pattern') and substring(x, 'pattern'). With numbers, the call stays.
func substringCall(r *rewriter, args []string) (string, bool) {
	if text, ok := shortSubstring(args); ok {
		return text, true
	}
	if len(args) == 1 {
		toks := statement.Tokens(args[0])
		n := len(toks)
		if n < 3 || toks[n-1].Kind != statement.TokenText || !strings.EqualFold(toks[n-2].Value, "FROM") ||
			isMarker(toks[n-1].Value) {
			return "", false
		}
		args = []string{args[0][:toks[n-2].From], args[0][toks[n-1].From:]}
	}
	return withPattern(matched)(r, args)
}

// placeOfMatch rewrites regexp_instr with a literal pattern: the place of the first character that it matches, or 0.
func placeOfMatch(r *rewriter, args []string) (string, bool) {
	pattern := ""
	ok := len(args) == 2
	if ok {
		pattern, ok = literalOf(args[1])
	}
	if !ok {
		return "", r.refuse("regexp_instr needs two arguments, of which the second is a literal pattern", 0)
	}
	before := "regexp_extract(" + args[0] + ", " + quote("^((?s:.)*?)(?:"+pattern+")") + ", 1)"
	return "CASE WHEN regexp_matches(" + args[0] + ", " + quote(pattern) + ") THEN CAST(length(" + before +
		") AS INTEGER) + 1 WHEN (" + args[0] + ") IS NOT NULL THEN 0 END", true
}
