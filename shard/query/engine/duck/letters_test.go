package duck

import (
	"testing"
	"unicode"
)

// TestLetters compares the table of code points with Go's functions.
func TestLetters(t *testing.T) {
	numbers, entries := letters()
	if len(entries) > 1<<17 {
		t.Errorf("the table has %d entries: equal pages are not shared", len(entries))
	}
	const word, han, point = 1 << 31, 1 << 30, 1<<21 - 1
	for r := range rune(unicode.MaxRune + 1) {
		e := entries[int(numbers[r/pageRunes])*pageRunes+int(r%pageRunes)]
		if got, want := rune((e+uint32(r))&point), unicode.ToLower(r); got != want {
			t.Fatalf("the lower case of %U is %U, want %U", r, got, want)
		}
		if got, want := e&word != 0, unicode.IsLetter(r) || unicode.IsDigit(r); got != want {
			t.Fatalf("%U belongs to a word: %t, want %t", r, got, want)
		}
		if got, want := e&han != 0, unicode.Is(unicode.Han, r); got != want {
			t.Fatalf("%U is Han: %t, want %t", r, got, want)
		}
	}
}

// BenchmarkLetters measures the building of the table, which is part of each start of the engine.
func BenchmarkLetters(b *testing.B) {
	for b.Loop() {
		letters()
	}
}
