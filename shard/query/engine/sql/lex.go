package sql

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"cordwood/proto/errs"
)

// This file reads only as much of SQL's lexical structure as the package needs: it finds EXPLAIN at
// the start of a statement, and a name at a known position. DuckDB's parser reads everything else.

// normalize replaces comments and non-ASCII spaces by blanks, so that the positions that DuckDB
// reports are positions in sql. Comments are removed also because DuckDB is very slow for comments
// that are nested a thousand times.
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

// isOpen reports whether a comment in the first n bytes of text is not closed.
func isOpen(text string, n int) bool { return n == len(text) && skipQuoted(text+" ", 0) > n }

// lineComment returns where the first comment that starts with -- begins, or -1.
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

// quoteAt puts the bare word "at" in double quotes, and returns the edits. At is a common name for
// a column of times, but DuckDB reserves it for a clause that does not apply to the tables here. AT
// TIME ZONE stays.
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

// skipQuoted returns the position after the quoted text or comment that begins at i. It returns i
// if none begins there, and the end of sql if it is not closed.
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

// quotedLen returns the length of the quoted text at the start of text. If escapes is set, a
// backslash escapes the next byte.
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

// commentLen returns the length of the comment at the start of text, including nested comments.
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

// dollarLen returns the length of the dollar-quoted text at the start of text, or 0 if there is
// none.
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

// Word returns the bare word at i in lower case, and the position after it. It returns "" if there
// is none.
func Word(sql string, i int) (string, int) {
	end := i
	for end < len(sql) && IsNameByte(sql[end]) {
		end++
	}
	return strings.ToLower(sql[i:end]), end
}

// wordBefore returns the bare word before i in lower case, and its position. Blanks may separate
// the word from i. It returns "" if there is none.
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

// namePath reads a qualified name at i, such as a."b".c. It returns up to most parts, and the
// position after each. It returns nothing if there is no name.
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

// explain reports whether sql is an EXPLAIN. It returns the words of the EXPLAIN, and the position
// of the explained statement.
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
				"EXPLAIN option %q is not supported; use ANALYZE, FORMAT text or FORMAT json", w)
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

// LowerASCII converts a name to lower case as DuckDB does.
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

// SameName reports whether two names are the same in DuckDB, which ignores the case of ASCII letters only.
func SameName(x, y string) bool { return LowerASCII(x) == LowerASCII(y) }
