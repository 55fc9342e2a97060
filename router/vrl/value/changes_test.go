package value

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTwoShapesOfAPlace checks that a place that sets a field in objects of two shapes in turn knows both.
func TestTwoShapesOfAPlace(t *testing.T) {
	var space Space
	a, b := space.Empty().With("a"), space.Empty().With("b")
	var c Cache
	for round := range 4 {
		for _, h := range []*Shape{a, b} {
			v := NewObject(ofShape(h, []Value{NewInt(1)}))
			if v.SetField(NewInt(2), &c) != (round > 0) {
				t.Errorf("round %d: the place knows the shape: %t", round, round == 0)
			}
			if round == 0 {
				v.MutObject().SetCached("x", NewInt(2), &c)
			}
			if got := v.MutObject().Shape(); got != h.With("x") {
				t.Errorf("round %d: the object has the keys %v", round, got.keys)
			}
		}
	}
}

// ofShape returns an object of a shape.
func ofShape(h *Shape, values []Value) *Fields {
	o := &Fields{}
	o.Fill(h, values)
	return o
}

// FuzzAppendCached compares fields that are set at once with fields that are set one after the other.
func FuzzAppendCached(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c", "d", "e"}[:1+r.IntN(5)]
		var space Space
		var at Changes
		starts := []*Shape{nil, space.Empty(), space.Empty().With("x"), space.Empty().With("b").With("y")}
		starts = append(starts, starts[3].Without("b"))
		for range 50 {
			from := starts[r.IntN(len(starts))]
			fast, slow := &Fields{}, &Fields{}
			if from != nil {
				fast = ofShape(from, slices.Repeat([]Value{NewInt(-1)}, len(from.keys)))
				slow = ofShape(from, slices.Repeat([]Value{NewInt(-1)}, len(from.keys)))
			}
			var set uint64
			var values []Value
			for i := range names {
				if r.IntN(8) > 0 {
					set |= 1 << i
					values = append(values, NewInt(r.Int64N(100)))
				}
			}
			setEach := func(o *Fields) {
				for i, n := 0, 0; i < len(names); i++ {
					if set>>i&1 > 0 {
						o.Set(names[i], values[n])
						n++
					}
				}
			}
			setEach(slow)
			if !fast.AppendCached(&at, set, values) {
				setEach(fast)
				at.Note(from, set, len(values), fast)
				if from != nil && len(slow.vals) == len(from.keys)+len(values) {
					again := ofShape(from, slices.Repeat([]Value{NewInt(-1)}, len(from.keys)))
					if !again.AppendCached(&at, set, values) {
						t.Fatalf("set %b of new fields of %v was not noted", set, from.keys)
					}
				}
			}
			if got, want := NewObject(fast).String(), NewObject(slow).String(); got != want {
				t.Fatalf("set %b: got %s, want %s", set, got, want)
			}
			if got, want := fast.Shape(), slow.Shape(); got != want {
				t.Fatalf("set %b: the shapes differ", set)
			}
		}
	})
}
