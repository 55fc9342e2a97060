package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cordwood/proto/errs"
)

// This file reads as much of SQL's lexical structure as the package needs: to find
// EXPLAIN in front of a statement, and a name at a known position. All else is left
// to the engine's own parser.

// normalize returns sql with blanks in place of comments, and of spaces that are no
// ASCII, so that the positions that the engine reports are positions in sql. The engine
// takes very long over comments that are nested a thousand times.
func normalize(sql string) string {
	var out []byte
	blank := func(from, to int) {
		if out == nil {
			out = []byte(sql)
		}
		for k := from; k < to; k++ {
			out[k] = ' '
		}
	}
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			if strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*") && !isOpen(sql[i:], end-i) {
				blank(i, end)
			}
			i = end
			continue
		}
		r, size := utf8.DecodeRuneInString(sql[i:])
		if size > 1 && (unicode.IsSpace(r) || r >= '\u200b' && r <= '\u200d' || r == '\u2060' || r == '\ufeff') {
			blank(i, i+size)
		}
		i += size
	}
	if out == nil {
		return sql
	}
	return string(out)
}

// isOpen reports whether the comment in the first n bytes of text lacks its end.
func isOpen(text string, n int) bool { return n == len(text) && skipQuoted(text+" ", 0) > n }

// lineComment returns where the first comment up to the end of a line begins, or -1.
func lineComment(sql string) int {
	for i := 0; i < len(sql); {
		end := skipQuoted(sql, i)
		switch {
		case end == i:
			i++
		case strings.HasPrefix(sql[i:], "--"):
			return i
		default:
			i = end
		}
	}
	return -1
}

// quoteAt returns sql with the bare word at in double quotes, and what it put in. At is a
// usual name for a column of times; the engine reserves it for a clause that no table here
// has. AT TIME ZONE stays.
func quoteAt(sql string) (string, []Edit) {
	var edits []Edit
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			i = end
			continue
		}
		w, end := Word(sql, i)
		if w == "" {
			i++
			continue
		}
		if next, _ := Word(sql, SkipSpace(sql, end)); w == "at" && next != "time" {
			edits = append(edits, Edit{From: i, To: i, Text: `"`}, Edit{From: end, To: end, Text: `"`})
		}
		i = end
	}
	return applyEdits(sql, edits), edits
}

// skipQuoted returns the position after the quoted text or comment that begins at i,
// or i if none does. One that does not end reaches to the end of sql.
func skipQuoted(sql string, i int) int {
	rest := sql[i:]
	switch {
	case rest == "":
		return i
	case rest[0] == '\'' || rest[0] == '"' || rest[0] == '`':
		escapes := rest[0] == '\'' && i > 0 && sql[i-1]|0x20 == 'e' && (i == 1 || !IsNameByte(sql[i-2]))
		return i + quotedLen(rest, escapes)
	case strings.HasPrefix(rest, "--"):
		if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
			return i + end
		}
		return len(sql)
	case strings.HasPrefix(rest, "/*"):
		return i + commentLen(rest)
	case rest[0] == '$' && (i == 0 || !IsNameByte(sql[i-1])):
		return i + dollarLen(rest)
	}
	return i
}

// quotedLen returns the length of the text in quotes that text begins with. escapes: a backslash takes the
// byte behind it along.
func quotedLen(text string, escapes bool) int {
	for k := 1; k < len(text); k++ {
		switch {
		case escapes && text[k] == '\\':
			k++
		case text[k] != text[0]:
		case k+1 == len(text) || text[k+1] != text[0]:
			return k + 1
		default:
			k++ // a doubled quote
		}
	}
	return len(text)
}

// commentLen returns the length of the comment that text begins with, comments within it included.
func commentLen(text string) int {
	depth := 0
	for k := 0; k < len(text); k++ {
		switch {
		case strings.HasPrefix(text[k:], "/*"):
			depth++
			k++
		case strings.HasPrefix(text[k:], "*/"):
			depth--
			k++
			if depth == 0 {
				return k + 1
			}
		}
	}
	return len(text)
}

// dollarLen returns the length of the text in dollar quotes that text begins with, or 0 if it is something else.
func dollarLen(text string) int {
	k := 1
	for k < len(text) && IsNameByte(text[k]) && text[k] != '$' {
		k++
	}
	if k == len(text) || text[k] != '$' {
		return 0
	}
	tag := text[:k+1]
	if end := strings.Index(text[k+1:], tag); end >= 0 {
		return k + 1 + end + len(tag)
	}
	return len(text)
}

// IsNameByte reports whether a byte may be part of a bare name.
func IsNameByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// SkipSpace returns the position of the first token at or after i.
func SkipSpace(sql string, i int) int {
	for i < len(sql) {
		switch {
		case isSpace(sql[i]):
			i++
		case strings.HasPrefix(sql[i:], "--") || strings.HasPrefix(sql[i:], "/*"):
			i = skipQuoted(sql, i)
		default:
			return i
		}
	}
	return i
}

// Word returns the lower-case bare word at i and the position after it; "" if there is none.
func Word(sql string, i int) (string, int) {
	end := i
	for end < len(sql) && IsNameByte(sql[end]) {
		end++
	}
	return strings.ToLower(sql[i:end]), end
}

// wordBefore returns the lower-case bare word that ends before i, blanks between, and
// its position; "" if there is none.
func wordBefore(sql string, i int) (int, string) {
	for i > 0 && isSpace(sql[i-1]) {
		i--
	}
	from := i
	for from > 0 && IsNameByte(sql[from-1]) {
		from--
	}
	return from, strings.ToLower(sql[from:i])
}

// namePath reads a name of up to most parts at i, as in a."b".c, and returns the parts
// and the position after each. It returns nothing if there is no name.
func namePath(sql string, i, most int) (parts []string, ends []int) {
	for len(parts) < most {
		if i >= len(sql) {
			return parts, ends
		}
		var part string
		if sql[i] == '"' {
			end := skipQuoted(sql, i)
			if end-i < 2 || sql[end-1] != '"' {
				return parts, ends
			}
			part = strings.ReplaceAll(sql[i+1:end-1], `""`, `"`)
			i = end
		} else {
			end := i
			for end < len(sql) && IsNameByte(sql[end]) {
				end++
			}
			if end == i {
				return parts, ends
			}
			part = sql[i:end]
			i = end
		}
		parts, ends = append(parts, part), append(ends, i)
		i = SkipSpace(sql, i)
		if i >= len(sql) || sql[i] != '.' {
			return parts, ends
		}
		i = SkipSpace(sql, i+1)
	}
	return parts, ends
}

// explain reports whether sql is an EXPLAIN. It returns the words to put in front of the
// explained statement, and where that begins.
func explain(sql string) (prefix string, at int, err error) {
	i := SkipSpace(sql, 0)
	for i < len(sql) && sql[i] == ';' {
		i = SkipSpace(sql, i+1)
	}
	w, end := Word(sql, i)
	if w != "explain" {
		return "", i, nil
	}
	i = SkipSpace(sql, end)
	w, end = Word(sql, i)
	switch {
	case w == "analyze" || w == "analyse":
		return "EXPLAIN ANALYZE ", SkipSpace(sql, end), nil
	case w == "verbose":
		return "", i, errs.New(errs.Unsupported, "EXPLAIN VERBOSE is not supported; use EXPLAIN or EXPLAIN ANALYZE")
	case i < len(sql) && sql[i] == '(':
		return explainOptions(sql, i)
	}
	return "EXPLAIN ", i, nil
}

// explainOptions reads the list of options at i, unless a statement in parentheses
// begins there.
func explainOptions(sql string, i int) (prefix string, at int, err error) {
	var words []string
	for k := i + 1; ; {
		k = SkipSpace(sql, k)
		if k >= len(sql) {
			return "EXPLAIN ", i, nil
		}
		switch sql[k] {
		case ')':
			return "EXPLAIN (" + strings.Join(words, " ") + ") ", SkipSpace(sql, k+1), nil
		case ',':
			words = append(words, ",")
			k++
			continue
		}
		w, end := Word(sql, k)
		switch w {
		case "analyze", "analyse", "format", "text", "json", "default", "true", "false", "on", "off":
			words = append(words, w)
		case "select", "with", "from", "values", "table", "":
			if len(words) == 0 {
				return "EXPLAIN ", i, nil
			}
			return "", 0, errs.New(errs.InvalidSyntax, "syntax error at position %d: in the options of EXPLAIN", k)
		default:
			return "", 0, errs.New(errs.Unsupported,
				"EXPLAIN option %q is not supported; there are ANALYZE and FORMAT text or json", w)
		}
		k = end
	}
}

// QuoteText returns s as a text literal.
func QuoteText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// QuoteName returns s as an identifier.
func QuoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// QuoteList returns a list of text literals.
func QuoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = QuoteText(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// SkipLiteral returns the position after the text literal at i.
func SkipLiteral(sql string, i int) int {
	if i+1 < len(sql) && sql[i]|0x20 == 'e' && sql[i+1] == '\'' {
		i++
	}
	return skipQuoted(sql, i)
}

// LowerASCII folds names as the engine does.
func LowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for k := i; k < len(b); k++ {
				if b[k] >= 'A' && b[k] <= 'Z' {
					b[k] |= 0x20
				}
			}
			return string(b)
		}
	}
	return s
}
