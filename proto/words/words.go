// Package words formats numbers of things in sentences, and reads and prints sizes.
package words

import (
	"fmt"
	"strings"
)

// Count returns a number of things, such as "1 row" or "3 batches".
func Count[N int | int32 | int64 | uint | uint32 | uint64](n N, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "ch") || strings.HasSuffix(thing, "s"):
		return fmt.Sprintf("%d %ses", n, thing)
	case strings.HasSuffix(thing, "y") && !strings.HasSuffix(thing, "ey"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(thing, "y"))
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Pick returns the form of a word for a number: one for 1, and otherwise many.
func Pick[N int | int32 | int64 | uint | uint32 | uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Say returns a number with the matching form of a noun, such as "1 row".
func Say[N int | int32 | int64 | uint | uint32 | uint64](n N, one, many string) string {
	return fmt.Sprintf("%d %s", n, Pick(n, one, many))
}

// ascii replaces the non-ASCII characters that the program's own texts contain.
var ascii = strings.NewReplacer("…", "...", "±", "+/-", "→", "->", "–", "-", "—", "-", "×", "x", "≤", "<=", "≥", ">=",
	"≠", "!=",
	"‘", "'", "’", "'", "“", `"`, "”", `"`, "µ", "u", "\u00a0", " ")

// ASCII replaces the special characters of our own texts with ASCII, for places that allow no
// others, such as HTTP headers. Names and data of users stay unchanged.
func ASCII(text string) string { return ascii.Replace(text) }
