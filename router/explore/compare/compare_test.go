package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
)

// scored returns the score of a field whose values have these counts in a and b.
func scored(counts map[string][2]int64) float64 {
	of := &Answer{}
	for _, n := range counts {
		of.A.Rows += n[0]
		of.B.Rows += n[1]
	}
	f := &field{most: 10}
	for value, n := range counts {
		f.add(json.RawMessage(value), n[0], n[1], of)
	}
	return f.score + difference(f.rest[0], f.rest[1], of)
}

// TestChance draws two sets from the same rows, which have many rare values: they must not differ. The counts of a
// value that only one set has, or that one has more often, must.
func TestChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	counts := map[string][2]int64{}
	for range 20_000 {
		value := fmt.Sprint(int(random.ExpFloat64() * random.ExpFloat64() * 800))
		n := counts[value]
		if random.IntN(8) == 0 {
			n[0]++
		} else {
			n[1]++
		}
		counts[value] = n
	}
	if score := scored(counts); score > alike*alike {
		t.Errorf("sets of the same rows differ by %v in %d values", score, len(counts))
	}
	counts["spike"] = [2]int64{400, 0}
	if score := scored(counts); score < alike {
		t.Errorf("a value of 400 rows that only one set has makes a difference of %v", score)
	}
	for _, c := range []struct {
		a, b [2]int64
		want bool
	}{
		{[2]int64{50, 500}, [2]int64{50, 500}, false},
		{[2]int64{48, 500}, [2]int64{52, 500}, false},
		{[2]int64{90, 500}, [2]int64{10, 500}, true},
		{[2]int64{100, 0}, [2]int64{0, 1000}, true},
		{[2]int64{2, 0}, [2]int64{1, 3}, false},
	} {
		score := scored(map[string][2]int64{"x": c.a, "y": c.b})
		if (score > alike*alike) != c.want {
			t.Errorf("%v and %v: %v", c.a, c.b, score)
		}
	}
}
