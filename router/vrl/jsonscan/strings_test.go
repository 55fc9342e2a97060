package jsonscan

import "testing"

// FuzzStringEnd compares StringEnd with a search byte by byte, from every position.
func FuzzStringEnd(f *testing.F) {
	f.Add([]byte(`Mozilla/5.0 (iPhone; CPU)","next":"ü\n!#[]^`))
	f.Add([]byte("\x00\x01\x02\x03\x1d\x1e\x1f !\"#$[\\]\x7f\x80\x81\x82\xa0\xa2\xdc\xdd\xfd\xfe\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := NewText(data)
		for pos := range len(data) + 1 {
			if got, want := StringEnd(text.Bytes(), pos), slowStringEnd(text.Bytes(), pos); got != want {
				t.Fatalf("StringEnd of %q from %d is %d, want %d", data, pos, got, want)
			}
		}
	})
}

// TestStringEnd tries all pairs of bytes at both sides of a word's end.
func TestStringEnd(t *testing.T) {
	src := make([]byte, 8+Padding)
	for first := range 256 {
		for second := range 256 {
			for pos := range 8 {
				for i := range src {
					src[i] = 'a'
				}
				src[pos], src[pos+1], src[9] = byte(first), byte(second), '"'
				if got, want := StringEnd(src, 0), slowStringEnd(src, 0); got != want {
					t.Fatalf("StringEnd with bytes %#x and %#x at %d is %d, want %d", first, second, pos, got, want)
				}
			}
		}
	}
}

func slowStringEnd(src []byte, pos int) int {
	for src[pos] != '"' && src[pos] != '\\' && src[pos] >= ' ' {
		pos++
	}
	return pos
}
