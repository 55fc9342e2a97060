package facets

import (
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// collect returns the numbers of a column whose rows have the given counts.
func collect(a arrow.Array, counts ...int64) *numbers {
	n := &numbers{}
	for i, rows := range counts {
		n.add(a, i, rows)
	}
	return n
}

func doubles(values ...float64) arrow.Array {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

// TestNumbers checks the distribution of counted numbers: quartiles by rows and not by values, and neither NaN nor
// infinities.
func TestNumbers(t *testing.T) {
	n := collect(doubles(100, 0, math.NaN(), 1.5, math.Inf(1), 2), 1, 1, 50, 5, 50, 3)
	s := n.stats()
	if string(s.Min) != "0.0" || string(s.Max) != "100.0" || s.P25 != 1.5 || s.P50 != 1.5 || s.P75 != 2 {
		t.Errorf("%s to %s, quartiles %v, %v, %v", s.Min, s.Max, s.P25, s.P50, s.P75)
	}
	if want := append([]int64{9}, make([]int64, 19)...); !slices.Equal(s.Bins[:19], want[:19]) || s.Bins[19] != 1 {
		t.Errorf("bins %v", s.Bins)
	}
	if one := collect(doubles(-3), 4).stats(); one.P50 != -3 || one.Bins[0] != 4 {
		t.Errorf("of one value: %+v", one)
	}
	wide := collect(doubles(-math.MaxFloat64, math.MaxFloat64), 1, 1).stats()
	if wide.Bins[0] != 1 || wide.Bins[19] != 1 {
		t.Errorf("of the widest range: %v", wide.Bins)
	}
	if got := collect(doubles(math.NaN()), 1); got.stats() != nil || got.unknown {
		t.Errorf("of NaN: %+v", got)
	}
}

// TestNumbersUnknown checks that integers which are equal as doubles, and too many values, are left to the engine.
func TestNumbersUnknown(t *testing.T) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{5, 1<<53 + 1}, nil)
	if n := collect(b.NewArray(), 1, 1); !n.unknown {
		t.Errorf("a large integer: %+v", n)
	}
	n := &numbers{}
	for i := range maxNumbers + 1 {
		n.add(doubles(float64(i)), 0, 1)
	}
	if !n.unknown || n.values != nil {
		t.Errorf("%d values are kept", len(n.values))
	}
}
