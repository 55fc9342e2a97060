package rows

import (
	"strings"
	"testing"
	"time"

	"cordwood/router/explore/scope"
)

func someCursors() []*cursor {
	at := time.Date(2026, 1, 5, 10, 0, 0, 123456789, time.UTC)
	return []*cursor{
		{issued: at, newest: true, of: 7, rng: scope.Range{To: at}, last: place{at: at, hash: 1, table: "app", number: 1}},
		{
			issued: at, of: 1<<64 - 1, rng: scope.Range{From: at.Add(-time.Hour), To: at}, whole: true,
			last: place{at: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), hash: 1<<64 - 1, table: `ä"; --`, number: 12},
		},
	}
}

// TestCursor formats cursors and parses them again.
func TestCursor(t *testing.T) {
	for _, c := range someCursors() {
		text := c.String()
		got, err := parseCursor(text)
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != text || got.newest != c.newest || got.of != c.of || got.whole != c.whole ||
			got.rng.From != c.rng.From || got.last != c.last {
			t.Errorf("%+v became %+v", c, got)
		}
		for i := range len(text) {
			if _, err := parseCursor(text[:i] + "A" + text[i+1:]); err == nil && text[i] != 'A' {
				t.Errorf("byte %d was changed, and parseCursor accepted it", i)
			}
			if _, err := parseCursor(text[:i]); err == nil {
				t.Errorf("%d bytes of %d are accepted as a cursor", i, len(text))
			}
		}
	}
}

// FuzzCursor checks that the parser accepts or refuses any text. An accepted cursor has the same text when formatted,
// and SQL can express its positions.
func FuzzCursor(f *testing.F) {
	for _, c := range someCursors() {
		f.Add(c.String())
	}
	f.Add("")
	f.Add(strings.Repeat("A", maxCursor+1))
	f.Fuzz(func(t *testing.T, text string) {
		c, err := decodeCursor(text)
		if err != nil {
			return
		}
		if c.last.at.Year() < 1 || c.last.number < 0 || len(text) > maxCursor {
			t.Fatalf("%q is %+v", text, c)
		}
		if again, err := decodeCursor(c.String()); err != nil || again.last != c.last || again.of != c.of {
			t.Fatalf("%q is %+v, and after formatting %+v, %v", text, c, again, err)
		}
	})
}

func TestID(t *testing.T) {
	for _, p := range []place{
		{at: time.Date(2026, 1, 5, 10, 0, 0, 1, time.UTC), hash: 0xabc, number: 1},
		{at: time.Date(1931, 1, 1, 0, 0, 0, 5, time.UTC), hash: 1<<64 - 1, number: 3},
		{at: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), number: 1},
		{at: time.Date(55555, 1, 1, 0, 0, 0, 0, time.UTC), number: 1},
	} {
		got, err := parseID(p.id())
		if err != nil || got != p {
			t.Errorf("%s is %+v, %v, want %+v", p.id(), got, err, p)
		}
	}
	for _, text := range []string{
		"", "-", "1", "1-2", "1-000000000000000g", "1-0000000000000000-1", "1-0000000000000000-2-2", "+1-0000000000000000",
		"01-0000000000000000", "1-ABCDEFABCDEFABCD", "99999999999999999999999999999999-0000000000000000",
		strings.Repeat("9", 1000) + "-0000000000000000", "1-0000000000000000-02", "--1-0000000000000000",
	} {
		if p, err := parseID(text); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
}

func FuzzID(f *testing.F) {
	f.Add("1767607200000000000-a692feb4b9421049-2")
	f.Add("-1-0000000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parseID(text); err == nil && p.id() != text {
			t.Fatalf("%q is %+v", text, p)
		}
	})
}
