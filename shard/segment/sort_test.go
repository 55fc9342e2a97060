package segment

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortRows compares sortRows with a simple sort.
func TestSortRows(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		batches, most := 1+r.IntN(12), 1+r.IntN(200)
		spread := []int{1, 3, 50, 10_000}[r.IntN(4)]
		var rows []RowRef
		keys := make([]sortKey, r.IntN(3))
		for i := range keys {
			keys[i] = sortKey{ranks: make([][]uint32, batches), values: r.IntN(5)}
		}
		for b := range batches {
			n := r.IntN(most)
			at := int64(r.IntN(spread * 10))
			for row := range n {
				switch seed % 3 {
				case 0:
					at += int64(r.IntN(spread))
				case 1:
					at = int64(r.IntN(spread))
				default:
					at = int64(b*spread + row)
				}
				rows = append(rows, RowRef{Time: at, Batch: uint32(b), Row: uint32(row)})
			}
			for i := range keys {
				if r.IntN(4) == 0 {
					continue // the column has only nulls
				}
				ranks := make([]uint32, n)
				for j := range ranks {
					ranks[j] = uint32(r.IntN(keys[i].values + 1))
				}
				keys[i].ranks[b] = ranks
			}
		}
		want := slices.Clone(rows)
		slices.SortFunc(want, func(a, b RowRef) int {
			for i := range keys {
				if c := cmp.Compare(keys[i].at(a), keys[i].at(b)); c != 0 {
					return c
				}
			}
			return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Batch, b.Batch), cmp.Compare(a.Row, b.Row))
		})
		sortRows(rows, keys)
		if !slices.Equal(rows, want) {
			t.Fatalf("seed %d: %d rows of %d batches, %d keys: not in order", seed, len(rows), batches, len(keys))
		}
	}
}

func BenchmarkSort(b *testing.B) {
	for _, shape := range []string{"sorted", "four connections", "random"} {
		r := rand.New(rand.NewPCG(1, 1))
		var rows []RowRef
		for batch := range 300 {
			at := int64(batch) * 1000
			if shape == "four connections" {
				at = int64(batch/4*4000 + batch%4*10)
			}
			for row := range 1000 {
				switch shape {
				case "random":
					at = r.Int64N(1e9)
				default:
					at++
				}
				rows = append(rows, RowRef{at, uint32(batch), uint32(row)})
			}
		}
		b.Run(shape, func(b *testing.B) {
			work := make([]RowRef, len(rows))
			for b.Loop() {
				copy(work, rows)
				sortTimes(work)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
		})
	}
}
