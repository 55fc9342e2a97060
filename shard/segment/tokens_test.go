package segment

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"cordwood/shard/segment/parquet"
)

// FuzzTokens compares the fast separation of text with a separation character by character.
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

// FuzzWords compares filters of texts that are separated eight bytes at a time with filters of
// single tokens.
func FuzzWords(f *testing.F) {
	long := strings.Repeat("GET /static/img/vendor.95da191.woff2 HTTP/1.1 Mozilla/5.0 ", 5)
	for _, text := range []string{
		"", "a", "GET /cart?id=17", long, long + "Größe" + long, strings.Repeat("x", 64), strings.Repeat("y", 200) + " z",
		strings.Repeat("w", 63) + " " + strings.Repeat("v", 64) + "Größe", "@A[`a{/0:9", "aaaaaaaaa aaaaaaaaaa AAAAAAAAA",
		"\x00a\x00",
	} {
		f.Add([]byte(text), uint(len(text)/3))
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint) {
		at := uint32(cut % uint(len(text)+1))
		v := parquet.Values{Rows: 4, Data: text, Ends: []uint32{at, at, uint32(len(text)), uint32(len(text))}}
		for _, a := range []analyzer{{}, {chinese: true}, {caseSensitive: true}} {
			got, want := fulltext{analyzer: a, bits: 10}, fulltext{analyzer: a, bits: 10}
			for range 2 { // in the second row group, a word of the first must not count as known
				got.group(&v)
				for i := range v.Ends {
					want.buf = a.eachOf(v.Entry(i), want.buf, want.token)
				}
				want.end()
			}
			if !reflect.DeepEqual(got.groups, want.groups) {
				t.Errorf("%+v: other filters of %q, cut at %d", a, text, at)
			}
		}
	})
}

// TestWordMask compares the kinds of eight bytes with the table of kinds, for each byte at each
// place.
func TestWordMask(t *testing.T) {
	for place := range 8 {
		for c := range 256 {
			for _, rest := range []byte{0, 'a', 0x7f, 0xff} {
				var text [8]byte
				for i := range text {
					text[i] = rest
				}
				text[place] = byte(c)
				mask, other := wordMask64(text[:])
				for i, b := range text {
					kind := byteKinds[b]
					if got := mask>>i&1 == 1; kind != kindOther && got != (kind != 0) {
						t.Fatalf("%q: byte %d belongs to a word: %v", text, i, got)
					}
				}
				if want := c >= 0x80 || rest >= 0x80; other != want {
					t.Fatalf("%q: beyond ASCII: %v", text, other)
				}
			}
		}
	}
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
		t.Error("recently added hashes are confused")
	}
}

// TestWordsOfEachGroup checks that a word of the previous row group is in the filter of the next
// one too.
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
		set.text(text, 0, len(text))
	}
}
