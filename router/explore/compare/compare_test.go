package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"cordwood/router/explore/fields"
	"cordwood/router/explore/roles"
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

// TestScattered checks which fields are not called alike, because most of their values are in a few rows only.
func TestScattered(t *testing.T) {
	for _, c := range []struct {
		name  string
		rare  int64 // values of one row
		nulls int64
		want  bool
	}{
		{"an id in each row", 1000, 0, true},
		{"an id in most rows", 600, 400, true},
		{"an id in few rows", 100, 900, false},
	} {
		of := &Answer{A: Set{500}, B: Set{500}}
		f := &field{most: 10}
		for i := range c.rare {
			f.add(json.RawMessage(strconv.Quote(fmt.Sprint(i))), i%2, 1-i%2, of)
		}
		f.add(json.RawMessage("null"), c.nulls/2, c.nulls/2, of)
		if got := f.scattered(of); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestUsefulFields checks that the paths of a JSON column are compared in its place.
func TestUsefulFields(t *testing.T) {
	message := roles.Message
	about := &fields.Answer{Fields: []fields.Field{
		{Name: "msg", Type: "String", Role: &message, Fill: 1, Rank: 1},
		{Name: "k", Type: "Json", Fill: 1, Rank: 2, JSONPaths: []string{"app", "labels.zone"}},
		{Name: "raw", Type: "Binary", Fill: 1, Rank: 3},
		{Name: "host", Type: "String", Fill: 1, Rank: 4},
		{Name: "gone", Type: "Json", Rank: 5},
	}}
	if names := usefulFields(about); !slices.Equal(names, []string{"k.app", "k.labels.zone", "host"}) {
		t.Errorf("these are compared: %q", names)
	}
	about.Fields[1].JSONPaths = slices.Repeat([]string{"app"}, 2*MaxFields)
	if names := usefulFields(about); len(names) != MaxFields {
		t.Errorf("%d fields are compared", len(names))
	}
}
