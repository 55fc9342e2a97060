package lru_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cordwood/proto/lru"
)

// TestModel compares a cache with a slice in the order of use.
func TestModel(t *testing.T) {
	type entry struct{ key, value, weight int }
	const limit = 20
	rng := rand.New(rand.NewPCG(1, 2))
	c := lru.New[int, int](limit)
	var model []entry // used last at the end
	weigh := func() (sum int) {
		for _, e := range model {
			sum += e.weight
		}
		return sum
	}
	take := func(key int) (e entry, ok bool) {
		i := slices.IndexFunc(model, func(e entry) bool { return e.key == key })
		if i < 0 {
			return e, false
		}
		e = model[i]
		model = slices.Delete(model, i, i+1)
		return e, true
	}
	for step := range 10_000 {
		key := rng.IntN(12)
		switch rng.IntN(4) {
		case 0:
			take(key)
			c.Remove(key)
		case 1, 2:
			e, want := take(key)
			if want {
				model = append(model, e)
			}
			if v, ok := c.Peek(key); ok != want || v != e.value {
				t.Fatalf("step %d: Peek(%d): %d, %t, want %d, %t", step, key, v, ok, e.value, want)
			}
			if v, ok := c.Get(key); ok != want || v != e.value {
				t.Fatalf("step %d: Get(%d): %d, %t, want %d, %t", step, key, v, ok, e.value, want)
			}
		default:
			e := entry{key, step, rng.IntN(limit + 5)}
			take(key)
			model = append(model, e)
			want := 0
			for ; weigh() > limit && len(model) > 1; want++ {
				model = model[1:]
			}
			if got := c.Put(e.key, e.value, int64(e.weight)); got != want {
				t.Fatalf("step %d: Put dropped %d, want %d", step, got, want)
			}
		}
		if c.Len() != len(model) || c.Weight() != int64(weigh()) {
			t.Fatalf("step %d: %d values of weight %d, want %d and %d", step, c.Len(), c.Weight(), len(model), weigh())
		}
	}
}
