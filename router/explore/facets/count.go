package facets

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
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
		case f.wheres != nil || !c.scope.Searches() && c.sample == nil || slices.ContainsFunc(together, f.equals):
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
	if err := c.summarize(ctx, scattered, byName); err != nil {
		return nil, err
	}
	return c.answer(ctx, byName)
}

// answer returns the counts of all fields, with statistics of those that are numbers.
func (c *counter) answer(ctx context.Context, byName map[string]*tally) (a *Answer, err error) {
	a = &Answer{}
	if a.Rows, err = c.rows(ctx, byName); err != nil {
		return nil, err
	}
	for _, f := range c.fields {
		t := byName[f.name]
		out := t.field(f.name)
		switch {
		case !f.numbers || out.Filled == 0:
		case t.stats != nil:
			out.Stats = t.stats
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

// rows returns the number of rows that match the search. The counts of a field have it, if they are of the same rows.
func (c *counter) rows(ctx context.Context, byName map[string]*tally) (n int64, err error) {
	for _, f := range c.fields {
		if t := byName[f.name]; f.wheres == nil && t.whole {
			return t.rows, nil
		}
	}
	from, _ := c.from(nil, nil)
	err = c.scope.Run(ctx, "SELECT count(*)"+from, func(rec arrow.RecordBatch) error {
		n += number(rec.Column(0))
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
			of := setOf(i, len(list))
			err := to[f.name].addAll(rec.Column(2+i), rec.Column(1), func(row int) bool { return grouping.Value(row) == of })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// setOf returns what GROUPING returns for the rows of one of several fields. The first field has the highest bit. A bit
// is set if the row does not belong to the field.
func setOf(i, fields int) int64 { return int64(1)<<fields - 1 - int64(1)<<(fields-1-i) }

// tally counts the values of a field, and keeps the most frequent ones.
type tally struct {
	most             int
	filled, distinct int64
	// rows counts all rows, if whole is set.
	rows      int64
	whole     bool
	estimated bool // distinct is an estimate
	top       values
	// numbers collects the values of a field of numbers; nil if they are not counted one by one. Then stats may have
	// their distribution.
	numbers *numbers
	stats   *Stats
}

// addAll adds values with their counts. If is is not nil, it reports which rows belong to the field.
func (t *tally) addAll(a, counts arrow.Array, is func(row int) bool) error {
	numbers, ok := counts.(*array.Int64)
	if !ok {
		return errs.New(errs.Internal, "count values: counts have the type %s", counts.DataType())
	}
	t.whole = true
	for i := range a.Len() {
		if is != nil && !is(i) {
			continue
		}
		n := numbers.Value(i)
		t.rows += n
		if format.IsNull(a, i) {
			continue
		}
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
