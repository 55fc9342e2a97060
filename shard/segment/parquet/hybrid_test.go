package parquet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHybridPart compares the decoding of some values with the decoding of all.
func TestHybridPart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		width := uint(r.IntN(18))
		codes := make([]uint32, 1+r.IntN(600))
		for i := 0; i < len(codes); {
			v, n := r.Uint32()&(1<<width-1), 1
			if r.IntN(4) == 0 {
				n = r.IntN(90)
			}
			for ; n > 0 && i < len(codes); n, i = n-1, i+1 {
				codes[i] = v
			}
		}
		src := padded(appendHybrid(nil, codes, width))
		to := 1 + r.IntN(len(codes))
		from := r.IntN(to) &^ 7
		got := make([]uint32, to)
		if err := decodeHybridPart(got, from, src, width); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[from:], codes[from:to]) {
			t.Fatalf("width %d, %d values, from %d to %d: got %v, want %v", width, len(codes), from, to, got[from:],
				codes[from:to])
		}
		var spans []Span
		for at := r.IntN(9); at < to; {
			n := min(1+r.IntN(40), to-at)
			spans = append(spans, Span{at, at + n})
			at += n + r.IntN(200)
		}
		const other = 1<<32 - 1
		want := make([]uint32, to)
		for i := range want {
			got[i], want[i] = other, other
		}
		for _, s := range spans {
			copy(want[s.From:s.To], codes[s.From:s.To])
		}
		if err := decodeHybridSpans(got, spans, src, width); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("width %d, %d values, %v: got %v, want %v", width, len(codes), spans, got, want)
		}
		for cut := range src {
			_ = decodeHybridSpans(got, spans, padded(slices.Clone(src[:cut])), width) // must not panic
			_ = decodeHybridPart(got, from, padded(slices.Clone(src[:cut])), width)   // must not panic
		}
	}
}
