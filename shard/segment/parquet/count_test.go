package parquet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCountHybrid compares counts of codes with counts of decoded codes, for every width.
func TestCountHybrid(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for i := range 600 {
		width := uint(i % 12)
		codes := make([]uint32, 0, 5000)
		for n := 1 + r.IntN(5000); len(codes) < n; {
			v := uint32(r.Uint64() >> (64 - width))
			for range min(1+r.IntN([]int{1, 2, 20, 300}[r.IntN(4)]), n-len(codes)) {
				codes = append(codes, v)
			}
		}
		want := make([]int64, 1<<width)
		for _, c := range codes {
			want[c]++
		}
		src := padded(appendHybrid(nil, codes, width))
		got := make([]int64, 1<<width)
		if err := countHybrid(got, src, len(codes), width, new(memory)); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d codes of %d bits: %v", len(codes), width, err)
		}
		// Codes beyond the dictionary and missing bytes must be errors, not panics.
		if most := slices.Max(codes); most > 0 {
			if err := countHybrid(make([]int64, most), src, len(codes), width, new(memory)); err == nil {
				t.Fatalf("code %d in a dictionary of %d: no error", most, most)
			}
		}
		if cut := padded(slices.Clone(src[:len(src)/2])); countHybrid(make([]int64, 1<<width), cut, len(codes), width,
			new(memory)) == nil {
			t.Fatalf("%d of %d bytes: no error", len(cut), len(src))
		}
	}
}
