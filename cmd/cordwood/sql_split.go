package main

import "strings"

// cutStatement cuts the first statement, without its semicolon, off a text. Semicolons
// in strings, quoted names and comments do not end a statement. complete is false if
// there was no semicolon: then all of the text is the statement.
func cutStatement(text string) (statement, rest string, complete bool) {
	for i := 0; i < len(text); {
		if text[i] == ';' {
			return text[:i], text[i+1:], true
		}
		i += tokenLen(text[i:])
	}
	return text, "", false
}

// isBlank tells whether a statement holds nothing but white space and comments.
func isBlank(statement string) bool {
	for i := 0; i < len(statement); {
		n := tokenLen(statement[i:])
		token := statement[i : i+n]
		if !strings.HasPrefix(token, "--") && !strings.HasPrefix(token, "/*") && strings.TrimSpace(token) != "" {
			return false
		}
		i += n
	}
	return true
}

// tokenLen is the length of the string, quoted name or comment that s starts with, or 1
// for anything else. One that does not end takes all of s.
func tokenLen(s string) int {
	switch {
	case s[0] == '\'' || s[0] == '"':
		return through(s, 1, s[:1]) // a doubled quote is two strings side by side
	case strings.HasPrefix(s, "--"):
		return through(s, 2, "\n")
	case strings.HasPrefix(s, "/*"):
		return commentLen(s)
	case s[0] == '$':
		if tag := dollarTag(s); tag != "" {
			return through(s, len(tag), tag)
		}
	}
	return 1
}

// through is the length of s up to the first end at or after from, with it.
func through(s string, from int, end string) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// commentLen is the length of a comment in C's style; they nest.
func commentLen(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); {
		switch s[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			i += 2
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(s)
}

// dollarTag is the mark that a dollar-quoted string starts with, such as $$ or $tag$.
func dollarTag(s string) string {
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '$':
			return s[:i+1]
		case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' && i > 1:
		default:
			return ""
		}
	}
	return ""
}
