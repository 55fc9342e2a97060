package segment

import (
	"slices"
	"strings"
	"testing"
)

// FuzzTokens holds the quick cutting of text against that by characters.
func FuzzTokens(f *testing.F) {
	for _, text := range []string{
		"GET /cart?id=17 HTTP/1.1", "Größe ÄNDERN ABCß", "磁盘 full满 x磁", "a\xc3 b\xff\xfeC", "\xe7\xa3", "",
		"İstanbul K", "ABCxyz089@[`{/:", "x\x80y",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, a := range []analyzer{{}, {chinese: true}, {caseSensitive: true}, {chinese: true, caseSensitive: true}} {
			var got, want []string
			before := string(text)
			a.each(text, nil, func(token []byte) { got = append(got, string(token)) })
			a.eachOf(text, nil, func(token []byte) { want = append(want, string(token)) })
			if !slices.Equal(got, want) || string(text) != before {
				t.Errorf("%+v: %q is cut into %q, want %q", a, text, got, want)
			}
		}
	})
}

func TestHashSet(t *testing.T) {
	var s hashSet
	for range 2 { // the second time with the memory of the first
		const n = 5000
		for range 2 {
			for i := range uint64(n) {
				s.add(i << 40) // with the same low bits
				s.add(i)
			}
		}
		got := map[uint64]int{}
		s.each(func(h uint64) { got[h]++ })
		if s.n != 2*n-1 || len(got) != s.n {
			t.Fatalf("%d hashes, %d different ones, want %d", s.n, len(got), 2*n-1)
		}
		for h, times := range got {
			if times != 1 || h >= n && h&(1<<40-1) != 0 {
				t.Fatalf("%d is there %d times", h, times)
			}
		}
		s.clear()
	}
	if s.met(7<<60) || !s.met(7<<60) || s.met(0) || s.met(0) {
		t.Error("what was added lately is not told apart")
	}
}

// TestWordsOfEachGroup: a word that the row group before had too is in the filter of the next.
func TestWordsOfEachGroup(t *testing.T) {
	set := fulltext{bits: 10}
	for range 2 {
		set.analyzer.each([]byte("the same words"), nil, set.token)
		set.end()
	}
	if len(set.groups) != 2 || !slices.Equal(set.groups[0], set.groups[1]) {
		t.Error("two row groups of the same words have different filters")
	}
}

func BenchmarkTokens(b *testing.B) {
	text := []byte(strings.Repeat("GET /static/img/vendor.95da191.woff2 HTTP/1.1 Mozilla/5.0 (Windows NT 10.0) ", 7))
	set := fulltext{bits: 10}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		set.buf = set.analyzer.each(text, set.buf, set.token)
	}
}
