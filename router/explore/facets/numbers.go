package facets

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/explore/scope"
)

const (
	// maxNumbers is the largest number of distinct values from which a distribution is computed here.
	maxNumbers = 200_000
	// exactIntegers is the largest absolute value of integers that are all different as doubles.
	exactIntegers = 1 << 53
)

// numbers collects the values of a field with their counts, from which its distribution follows without another scan.
type numbers struct {
	values []counted
	// low and high are the smallest and the largest value, and min and max are their texts.
	low, high float64
	min, max  json.RawMessage
	// unknown is set if there are too many values, or if they cannot be computed with here.
	unknown bool
}

// counted is a number with its number of occurrences.
type counted struct {
	value float64
	rows  int64
}

// add adds a value of a batch.
func (n *numbers) add(a arrow.Array, row int, rows int64) {
	v, ok := numberAt(a, row)
	if n.unknown = n.unknown || !ok || len(n.values) == maxNumbers; n.unknown {
		n.values = nil
		return
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if len(n.values) == 0 || v < n.low {
		n.low = v
		n.min, _ = scope.ValueJSON(a, row, maxValueBytes)
	}
	if len(n.values) == 0 || v > n.high {
		n.high = v
		n.max, _ = scope.ValueJSON(a, row, maxValueBytes)
	}
	n.values = append(n.values, counted{v, rows})
}

// numberAt returns a value as a double, if that is exact.
func numberAt(a arrow.Array, row int) (v float64, ok bool) {
	integer := func(n int64) (float64, bool) { return float64(n), -exactIntegers <= n && n <= exactIntegers }
	switch a := a.(type) {
	case *array.Int8:
		return float64(a.Value(row)), true
	case *array.Int16:
		return float64(a.Value(row)), true
	case *array.Int32:
		return float64(a.Value(row)), true
	case *array.Int64:
		return integer(a.Value(row))
	case *array.Uint8:
		return float64(a.Value(row)), true
	case *array.Uint16:
		return float64(a.Value(row)), true
	case *array.Uint32:
		return float64(a.Value(row)), true
	case *array.Uint64:
		return float64(a.Value(row)), a.Value(row) <= exactIntegers
	case *array.Float32:
		return float64(a.Value(row)), true
	case *array.Float64:
		return a.Value(row), true
	}
	return 0, false
}

// stats returns the distribution of the numbers; nil if there is none.
func (n *numbers) stats() *Stats {
	if len(n.values) == 0 {
		return nil
	}
	slices.SortFunc(n.values, func(a, b counted) int { return cmp.Compare(a.value, b.value) })
	rows := int64(0)
	for _, v := range n.values {
		rows += v.rows
	}
	s := &Stats{
		Min: n.min, Max: n.max, Bins: make([]int64, bins),
		P25: n.quantile(rows, 0.25), P50: n.quantile(rows, 0.5), P75: n.quantile(rows, 0.75),
	}
	width := (n.high/2 - n.low/2) / bins
	for _, v := range n.values {
		at := 0
		if width > 0 {
			at = min(bins-1, int((v.value/2-n.low/2)/width))
		}
		s.Bins[at] += v.rows
	}
	return s
}

// quantile returns the smallest value such that at least a fraction of the rows has it or a smaller one.
func (n *numbers) quantile(rows int64, fraction float64) float64 {
	left := max(1, int64(math.Ceil(float64(rows)*fraction)))
	for _, v := range n.values {
		if left -= v.rows; left <= 0 {
			return v.value
		}
	}
	return n.values[len(n.values)-1].value
}
