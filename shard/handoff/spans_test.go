package handoff

import (
	"math"
	"math/rand/v2"
	"testing"

	"cordwood/shard/cold"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

// TestDivide divides random objects. The spans must have each time once, few bytes each, and not fetch objects often.
func TestDivide(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not for secrets
		var objects []store.ColdObject
		sum := int64(0)
		for range r.IntN(40) {
			from := r.Int64N(1000)
			to := from + r.Int64N([]int64{1, 5, 100, 1000}[r.IntN(4)])
			if r.IntN(30) == 0 {
				from = math.MinInt64
			}
			if r.IntN(30) == 0 {
				to = math.MaxInt64
			}
			o := &cold.Object{Meta: segment.Meta{Bytes: 1 + r.Int64N(100)}}
			sum += o.Meta.Bytes
			objects = append(objects, store.ColdObject{Object: o, Span: segment.TableSpan{Rows: 1, MinTime: from, MaxTime: to}})
		}
		peak := int64(0)
		for i := range objects {
			at := int64(0)
			for k := range objects {
				if x := objects[i].Span.MinTime; objects[k].Span.MinTime <= x && x <= objects[k].Span.MaxTime {
					at += objects[k].Meta.Bytes
				}
			}
			peak = max(peak, at)
		}
		limit := 1 + r.Int64N(500)
		list, fetched := divide(objects, limit), int64(0)
		for i, s := range list {
			if i > 0 && s.from != list[i-1].to+1 || s.from > s.to {
				t.Errorf("seed %d: %v", seed, list)
			}
			bytes := int64(0)
			for _, o := range s.within(1, objects, nil).objects {
				bytes += o.Meta.Bytes
			}
			if bytes > max(limit, 2*peak) {
				t.Errorf("seed %d: a span has %d bytes, of %d, %d at a time", seed, bytes, limit, peak)
			}
			fetched += bytes
		}
		if list[0].from != math.MinInt64 || list[len(list)-1].to != math.MaxInt64 {
			t.Errorf("seed %d: %v", seed, list)
		}
		if fetched > 2*sum+peak {
			t.Errorf("seed %d: %d bytes are fetched of objects with %d", seed, fetched, sum)
		}
	}
}
