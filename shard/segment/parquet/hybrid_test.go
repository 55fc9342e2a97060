package parquet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestHybridPart compares the last values of runs with those of all.
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
			t.Fatalf("width %d, %d values, from %d to %d: got %v, want %v", width, len(codes), from, to, got[from:], codes[from:to])
		}
		for cut := range src {
			_ = decodeHybridPart(got, from, padded(slices.Clone(src[:cut])), width) // must not panic
		}
	}
}
