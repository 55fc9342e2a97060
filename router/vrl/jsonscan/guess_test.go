package jsonscan

import "testing"

func TestGuess(t *testing.T) {
	for _, key := range []string{
		"", "a", "abcde", "abcdef", "abcdefg", "abcdefghijklm", "abcdefghijklmn", "abcdefghijklmno",
		"a key of more than sixteen bytes",
	} {
		var g Guess
		g.Set([]byte(key + `":`))
		if g.Len() != len(key)+2 {
			t.Errorf("%q: length %d", key, g.Len())
		}
		for text, want := range map[string]bool{
			key + `":1`:           true,
			key + `":`:            true,
			key + `" :1`:          false,
			key + `":`[:1]:        false,
			key + `x":1`:          false,
			"x" + key + `":1`:     false,
			key[:len(key)/2] + "": false,
		} {
			data := NewText([]byte(`"` + text))
			if got := g.At(data.Bytes(), 1); got != want {
				t.Errorf("%q at %q: %t, want %t", key, text, got, want)
			}
		}
	}
	var zero Guess
	if zero.At(NewText([]byte(`"":1`)).Bytes(), 1) {
		t.Error("the zero Guess is right")
	}
	for key, want := range map[string]bool{"": true, "a b": true, "ä": true, `a"`: false, `a\`: false, "a\n": false} {
		if IsPlain([]byte(key)) != want {
			t.Errorf("%q is plain: %t", key, !want)
		}
	}
}

func TestFractionEnd(t *testing.T) {
	for text, want := range map[string]struct {
		end int
		ok  bool
	}{
		"":        {0, true},
		",":       {0, true},
		".5":      {2, true},
		".50x":    {3, true},
		".":       {1, false},
		".x":      {1, false},
		"e5":      {2, true},
		"E+05":    {4, true},
		"e-":      {2, false},
		"e":       {1, false},
		".25e-10": {7, true},
		".2.5":    {2, true},
	} {
		if end, ok := FractionEnd(text, 0); end != want.end || ok != want.ok {
			t.Errorf("%q: %d %t, want %d %t", text, end, ok, want.end, want.ok)
		}
	}
}
