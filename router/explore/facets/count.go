package facets

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
)

// maxValueBytes limits the size of a value of an answer, in bytes.
const maxValueBytes = 1024

func alias(i int) string { return "f" + strconv.Itoa(i) }

// count counts all fields.
func (c *counter) count(ctx context.Context) (*Answer, error) {
	byName := map[string]*tally{}
	var together, scattered []*field
	for _, f := range c.fields {
		byName[f.name] = &tally{most: c.req.Top}
		if f.numbers && !f.scattered {
			byName[f.name].numbers = &numbers{}
		}
		switch {
		case f.scattered:
			scattered = append(scattered, f)
		case f.wheres != nil || c.unsearched() && c.sample == nil || slices.ContainsFunc(together, f.equals):
			if err := c.group(ctx, []*field{f}, f.wheres, byName); err != nil {
				return nil, err
			}
		default:
			together = append(together, f)
		}
	}
	if err := c.group(ctx, together, nil, byName); err != nil {
		return nil, err
	}
	for _, f := range scattered {
		if err := c.estimate(ctx, f, byName[f.name]); err != nil {
			return nil, err
		}
	}
	return c.answer(ctx, byName)
}

// answer returns the counts of all fields, with statistics of those that are numbers.
func (c *counter) answer(ctx context.Context, byName map[string]*tally) (a *Answer, err error) {
	a = &Answer{}
	if a.Rows, err = c.rows(ctx); err != nil {
		return nil, err
	}
	for _, f := range c.fields {
		t := byName[f.name]
		out := t.field(f.name)
		switch {
		case !f.numbers || out.Filled == 0:
		case t.numbers != nil && !t.numbers.unknown:
			out.Stats = t.numbers.stats()
		default:
			if out.Stats, err = c.describe(ctx, f); err != nil {
				return nil, err
			}
		}
		a.Fields = append(a.Fields, out)
	}
	return a, nil
}

// rows counts the rows that match the search.
func (c *counter) rows(ctx context.Context) (n int64, err error) {
	from, _ := c.from(nil, nil)
	return c.number(ctx, "SELECT count(*)"+from)
}

func (c *counter) number(ctx context.Context, sql string) (n int64, err error) {
	err = c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		if numbers, ok := rec.Column(0).(*array.Int64); ok && numbers.Len() > 0 {
			n = numbers.Value(0)
		}
		return nil
	})
	return n, err
}

// group counts the values of several fields in one scan.
func (c *counter) group(ctx context.Context, list []*field, wheres map[uint64]string, to map[string]*tally) error {
	if len(list) == 0 {
		return nil
	}
	from, names := c.from(list, wheres)
	if len(list) == 1 {
		sql := "SELECT " + names[0] + ", count(*)" + from + " GROUP BY 1"
		return c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
			return to[list[0].name].addAll(rec.Column(0), rec.Column(1), nil)
		})
	}
	sets := make([]string, len(list))
	for i, name := range names {
		sets[i] = "(" + name + ")"
	}
	columns := strings.Join(names, ", ")
	sql := "SELECT GROUPING(" + columns + "), count(*), " + columns +
		from + " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	return c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		grouping, ok := rec.Column(0).(*array.Int64)
		if !ok {
			return errs.New(errs.Internal, "count values: the answer has the types %s", rec.Schema())
		}
		for i, f := range list {
			// The first field has the highest bit. A bit is set if the row does not belong to the field.
			of := int64(1)<<len(list) - 1 - int64(1)<<(len(list)-1-i)
			err := to[f.name].addAll(rec.Column(2+i), rec.Column(1), func(row int) bool { return grouping.Value(row) == of })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// estimate counts the rows with a value, and estimates the number of distinct values.
func (c *counter) estimate(ctx context.Context, f *field, to *tally) error {
	from, names := c.from([]*field{f}, f.wheres)
	sql := "SELECT count(" + names[0] + "), approx_count_distinct(" + names[0] + ")" + from
	return c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		filled, ok := rec.Column(0).(*array.Int64)
		distinct, also := rec.Column(1).(*array.Int64)
		if ok && also && filled.Len() > 0 {
			to.filled, to.distinct = filled.Value(0), min(distinct.Value(0), filled.Value(0))
			to.estimated = true
		}
		return nil
	})
}

// tally counts the values of a field, and keeps the most frequent ones.
type tally struct {
	most             int
	filled, distinct int64
	estimated        bool // distinct is an estimate
	top              values
	// numbers collects the values of a field of numbers; nil if they are not counted one by one.
	numbers *numbers
}

// addAll adds values with their counts. If is is not nil, it reports which rows belong to the field.
func (t *tally) addAll(a, counts arrow.Array, is func(row int) bool) error {
	numbers, ok := counts.(*array.Int64)
	if !ok {
		return errs.New(errs.Internal, "count values: counts have the type %s", counts.DataType())
	}
	for i := range a.Len() {
		if is != nil && !is(i) || format.IsNull(a, i) {
			continue
		}
		n := numbers.Value(i)
		t.filled += n
		t.distinct++
		if t.numbers != nil {
			t.numbers.add(a, i, n)
		}
		if len(t.top) == t.most && n < t.top[0].Count {
			continue
		}
		text, cut := scope.ValueJSON(a, i, maxValueBytes)
		heap.Push(&t.top, Value{Value: text, Count: n, Cut: cut})
		if len(t.top) > t.most {
			heap.Pop(&t.top)
		}
	}
	return nil
}

// field returns the counts of a field.
func (t *tally) field(name string) Field {
	f := Field{
		Name: name, Filled: t.filled, Distinct: t.distinct, Estimated: t.estimated, Values: []Value{}, Other: t.filled,
	}
	f.Values = append(f.Values, t.top...)
	slices.SortFunc(f.Values, func(a, b Value) int { return -order(a, b) })
	for _, v := range f.Values {
		f.Other -= v.Count
	}
	return f
}

// order compares values by their number of occurrences, the rarest first.
func order(a, b Value) int {
	return cmp.Or(cmp.Compare(a.Count, b.Count), bytes.Compare(b.Value, a.Value))
}

// values is a heap with the rarest value first.
type values []Value

// Len implements heap.Interface.
func (v values) Len() int { return len(v) }

// Less implements heap.Interface.
func (v values) Less(i, j int) bool { return order(v[i], v[j]) < 0 }

// Swap implements heap.Interface.
func (v values) Swap(i, j int) { v[i], v[j] = v[j], v[i] }

// Push implements heap.Interface.
func (v *values) Push(x any) { *v = append(*v, x.(Value)) } //nolint:forcetypeassert // only values are pushed

// Pop implements heap.Interface.
func (v *values) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// bins is the number of ranges in which numbers are counted.
const bins = 20

// describe returns the distribution of a field's numbers. Among many rows, it estimates it from a sample.
func (c *counter) describe(ctx context.Context, f *field) (*Stats, error) {
	if c.sample != nil || c.described == nil {
		return c.stats(ctx, f)
	}
	c.sample = c.described
	defer func() { c.sample = nil }()
	s, err := c.stats(ctx, f)
	if err != nil || s == nil {
		return nil, err
	}
	s.Sampled = true
	for i := range s.Bins {
		s.Bins[i] = int64(math.Round(float64(s.Bins[i]) * c.describedBy))
	}
	return s, nil
}

// stats returns the distribution of a field's numbers. NaN and infinities are left out.
func (c *counter) stats(ctx context.Context, f *field) (*Stats, error) {
	from, names := c.from([]*field{f}, f.wheres)
	number := "CAST(" + names[0] + " AS DOUBLE)"
	finite := " FILTER (WHERE isfinite(" + number + "))"
	s := &Stats{}
	var low, high float64
	var quartiles []float64
	// An exact quartile would require all numbers in memory.
	quartile := "quantile_disc("
	if c.many {
		quartile = "approx_quantile("
	}
	sql := "SELECT min(" + names[0] + ")" + finite + ", max(" + names[0] + ")" + finite + ", min(" + number + ")" +
		finite + ", max(" + number + ")" + finite + ", " + quartile + number + ", 0.25)" + finite + ", " + quartile + number +
		", 0.5)" + finite + ", " + quartile + number + ", 0.75)" + finite + from
	err := c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		if rec.NumRows() == 0 || format.IsNull(rec.Column(0), 0) {
			return nil
		}
		s.Min, _ = scope.ValueJSON(rec.Column(0), 0, maxValueBytes)
		s.Max, _ = scope.ValueJSON(rec.Column(1), 0, maxValueBytes)
		for i := 2; i < int(rec.NumCols()); i++ {
			d, ok := rec.Column(i).(*array.Float64)
			if !ok {
				return errs.New(errs.Internal, "describe numbers: the answer has the types %s", rec.Schema())
			}
			quartiles = append(quartiles, d.Value(0))
		}
		return nil
	})
	if err != nil || quartiles == nil {
		return nil, err
	}
	low, high = quartiles[0], quartiles[1]
	s.P25, s.P50, s.P75 = quartiles[2], quartiles[3], quartiles[4]
	s.Bins = make([]int64, bins)
	literal := func(f float64) string {
		return "CAST('" + strconv.FormatFloat(f, 'g', -1, 64) + "' AS DOUBLE)"
	}
	// Both numbers are halved first, because their difference may overflow.
	width := (high/2 - low/2) / bins
	bin := "CAST(least(" + strconv.Itoa(bins-1) + ", floor((" + number + " / 2 - " + literal(low/2) + ") / " +
		literal(width) + ")) AS INTEGER)"
	if width == 0 {
		bin = "0"
	}
	sql = "SELECT CASE WHEN isfinite(" + number + ") THEN " + bin + " END, count(*)" + from + " GROUP BY 1"
	err = c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		at, ok := rec.Column(0).(*array.Int32)
		numbers, also := rec.Column(1).(*array.Int64)
		for i := 0; ok && also && i < int(rec.NumRows()); i++ {
			if !at.IsNull(i) && at.Value(i) >= 0 && at.Value(i) < bins {
				s.Bins[at.Value(i)] += numbers.Value(i)
			}
		}
		return nil
	})
	return s, err
}
