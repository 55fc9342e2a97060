// Package words counts things in sentences for people.
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

// Pick returns the form of a word that goes with a number: one for 1, else many.
func Pick[N int | int32 | int64 | uint | uint32 | uint64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Say returns a number with words in the singular or plural form that it needs.
func Say[N int | int32 | int64 | uint | uint32 | uint64](n N, one, many string) string {
	return fmt.Sprintf("%d %s", n, Pick(n, one, many))
}

// ascii replaces the characters outside ASCII that the program's own texts contain.
var ascii = strings.NewReplacer("…", "...", "±", "+/-", "→", "->", "–", "-", "—", "-", "×", "x", "≤", "<=", "≥", ">=",
	"≠", "!=",
	"‘", "'", "’", "'", "“", `"`, "”", `"`, "µ", "u", "\u00a0", " ")

// ASCII writes the signs of our own texts with characters of ASCII, for where others have no
// place, as in headers of HTTP. Names and data of users stay as they are.
func ASCII(text string) string { return ascii.Replace(text) }
