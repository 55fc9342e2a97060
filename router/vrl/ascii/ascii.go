// Package ascii classifies the bytes of a text for parsers of log formats. The syntax of such formats is ASCII,
// whatever the encoding of the texts in them.
package ascii

import "unicode/utf8"

// IsBlank reports whether c is a space or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// IsSpace reports whether c is white space.
func IsSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsWord reports whether c is a letter, a digit or an underscore.
func IsWord(c byte) bool { return IsDigit(c) || c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// Only reports whether all of s is ASCII.
func Only(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		// The compiler makes one load of these.
		w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if w&0x8080808080808080 != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// HexDigit returns the value of the hexadecimal digit c, or -1 if c is not a hexadecimal digit.
func HexDigit(c byte) int {
	switch {
	case IsDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// Digits returns the number of digits at the start of s.
func Digits(s string) int {
	n := 0
	for n < len(s) && IsDigit(s[n]) {
		n++
	}
	return n
}

// SkipSpace returns s without leading white space.
func SkipSpace(s string) string {
	for s != "" && IsSpace(s[0]) {
		s = s[1:]
	}
	return s
}

// SkipBlanks returns s without leading spaces and tabs.
func SkipBlanks(s string) string {
	for s != "" && IsBlank(s[0]) {
		s = s[1:]
	}
	return s
}

// CutWord returns the text before the first white space, and the rest.
func CutWord(s string) (word, rest string) {
	for i := 0; i < len(s); i++ {
		if IsSpace(s[i]) {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// Closing returns the index of the byte that closes s, which starts with the opening byte. A byte after a backslash
// does not close. If there is no closing byte, Closing returns -1.
func Closing(s string, c byte) int {
	if i := Unescaped(s[1:], c); i >= 0 {
		return i + 1
	}
	return -1
}

// Unescaped returns the index of the first c that has no backslash before it, or -1 if there is none.
func Unescaped(s string, c byte) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case c:
			return i
		}
	}
	return -1
}
