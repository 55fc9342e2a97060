package facets

import (
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

// This file describes fields whose values are not counted one by one: how many rows have a value, about how many
// values are distinct, and how numbers are distributed.

// bins is the number of ranges in which numbers are counted.
const bins = 20

// summarize describes fields with scattered values. If all rows are on one shard, two scans describe all fields of the
// same rows. Statements for several shards are only split if they ask for less at once; then the distributions follow
// later.
func (c *counter) summarize(ctx context.Context, list []*field, to map[string]*tally) error {
	var groups [][]*field
	var together []*field
	for _, f := range list {
		if f.wheres == nil && c.oneShard() {
			together = append(together, f)
		} else {
			groups = append(groups, []*field{f})
		}
	}
	if len(together) > 0 {
		groups = append(groups, together)
	}
	for _, group := range groups {
		found, err := c.survey(ctx, group, to, c.oneShard() && (c.sample != nil || c.described == nil))
		if err != nil {
			return err
		}
		if err := c.fillBins(ctx, found); err != nil {
			return err
		}
		for _, d := range found {
			to[d.field.name].stats = d.stats
		}
	}
	return nil
}

// oneShard reports whether each table is on one shard.
func (c *counter) oneShard() bool {
	return !slices.ContainsFunc(c.scope.Tables, func(t *scope.Table) bool { return len(t.Def.Shards()) > 1 })
}

// describe returns the distribution of a field's numbers. Among many rows, it estimates it from a sample.
func (c *counter) describe(ctx context.Context, f *field) (*Stats, error) {
	sampled := c.sample == nil && c.described != nil
	if sampled {
		c.sample = c.described
		defer func() { c.sample = nil }()
	}
	found, err := c.survey(ctx, []*field{f}, nil, true)
	if err == nil {
		err = c.fillBins(ctx, found)
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	s := found[0].stats
	if s.Sampled = sampled; sampled {
		for i := range s.Bins {
			s.Bins[i] = int64(math.Round(float64(s.Bins[i]) * c.describedBy))
		}
	}
	return s, nil
}

// distribution is the distribution of the numbers of a field.
type distribution struct {
	field     *field
	low, high float64
	stats     *Stats
}

// survey reads fields once. If to is not nil, it gets the number of rows with a value, and about how many values are
// distinct. If distributed is set, the distributions of numbers are returned, without their bins and without fields
// that have no numbers. NaN and infinities are left out.
func (c *counter) survey(ctx context.Context, list []*field, to map[string]*tally, distributed bool,
) (found []*distribution, err error) {
	from, names := c.from(list, list[0].wheres)
	columns := []string{"count(*)"}
	for i, f := range list {
		if to != nil {
			columns = append(columns, "count("+names[i]+")", "approx_count_distinct("+names[i]+")")
		}
		if distributed && f.numbers {
			columns = append(columns, c.distribution(f, names[i])...)
		}
	}
	err = c.scope.Run(ctx, "SELECT "+strings.Join(columns, ", ")+from, func(rec arrow.RecordBatch) error {
		if rec.NumRows() == 0 {
			return nil
		}
		column := 1
		for _, f := range list {
			if to != nil {
				t := to[f.name]
				t.rows, t.whole = number(rec.Column(0)), true
				t.filled, t.distinct, t.estimated = number(rec.Column(column)), number(rec.Column(column+1)), true
				t.distinct = min(t.distinct, t.filled)
				column += 2
			}
			if distributed && f.numbers {
				d, width, err := readDistribution(rec, column)
				if err != nil {
					return err
				}
				if column += width; d != nil {
					d.field = f
					found = append(found, d)
				}
			}
		}
		return nil
	})
	return found, err
}

// number returns the count in the first row of a column.
func number(a arrow.Array) int64 {
	if n, ok := a.(*array.Int64); ok && n.Len() > 0 && !n.IsNull(0) {
		return n.Value(0)
	}
	return 0
}

// double returns the expression for the numbers of a field as doubles, and the filter that leaves out NaN and
// infinities.
func (f *field) double(name string) (expr, finite string) {
	expr = "CAST(" + name + " AS DOUBLE)"
	if f.floats {
		finite = " FILTER (WHERE isfinite(" + expr + "))"
	}
	return expr, finite
}

// distribution returns the columns that readDistribution reads.
func (c *counter) distribution(f *field, name string) []string {
	double, finite := f.double(name)
	columns := []string{
		"min(" + name + ")" + finite, "max(" + name + ")" + finite, "min(" + double + ")" + finite,
		"max(" + double + ")" + finite,
	}
	// An exact quartile would require all numbers in memory.
	quartile := "quantile_disc(" + double + ", "
	if c.many {
		quartile = "approx_quantile(" + double + ", "
	}
	if c.oneShard() {
		return append(columns, quartile+"[0.25, 0.5, 0.75])"+finite) // the numbers are sorted once
	}
	return append(columns, quartile+"0.25)"+finite, quartile+"0.5)"+finite, quartile+"0.75)"+finite)
}

// readDistribution reads a distribution from the columns of the first row, from a column on. It returns nil if there
// are no numbers, and the number of columns.
func readDistribution(rec arrow.RecordBatch, from int) (d *distribution, width int, err error) {
	var quartiles []float64
	columns := rec.Columns()[from:]
	width = 5
	if list, ok := columns[4].(*array.List); ok {
		values, ok := list.ListValues().(*array.Float64)
		if ok && !list.IsNull(0) {
			begin, end := list.ValueOffsets(0)
			quartiles = values.Float64Values()[begin:end]
		}
	} else if width = 7; len(columns) >= width {
		for _, a := range columns[4:width] {
			if q, ok := a.(*array.Float64); ok && !q.IsNull(0) {
				quartiles = append(quartiles, q.Value(0))
			}
		}
	}
	if format.IsNull(columns[0], 0) {
		return nil, width, nil
	}
	low, ok := columns[2].(*array.Float64)
	high, also := columns[3].(*array.Float64)
	if !ok || !also || len(quartiles) != 3 {
		return nil, width, errs.New(errs.Internal, "describe numbers: the answer has the types %s", rec.Schema())
	}
	d = &distribution{
		low: low.Value(0), high: high.Value(0),
		stats: &Stats{P25: quartiles[0], P50: quartiles[1], P75: quartiles[2], Bins: make([]int64, bins)},
	}
	d.stats.Min, _ = scope.ValueJSON(columns[0], 0, maxValueBytes)
	d.stats.Max, _ = scope.ValueJSON(columns[1], 0, maxValueBytes)
	return d, width, nil
}

// fillBins counts the numbers of distributions of the same rows in their bins.
func (c *counter) fillBins(ctx context.Context, list []*distribution) error {
	if len(list) == 0 {
		return nil
	}
	all := make([]*field, len(list))
	for i, d := range list {
		all[i] = d.field
	}
	from, names := c.from(all, all[0].wheres)
	columns := make([]string, len(list))
	for i, d := range list {
		columns[i] = d.bin(names[i])
	}
	if len(list) == 1 {
		return c.scope.Run(ctx, "SELECT "+columns[0]+", count(*)"+from+" GROUP BY 1", func(rec arrow.RecordBatch) error {
			for row := range int(rec.NumRows()) {
				list[0].add(rec.Column(0), rec.Column(1), row)
			}
			return nil
		})
	}
	sets, numbered := make([]string, len(list)), make([]string, len(list))
	for i := range list {
		numbered[i] = "b" + strconv.Itoa(i)
		sets[i] = "(" + numbered[i] + ")"
		columns[i] += " AS " + numbered[i]
	}
	together := strings.Join(numbered, ", ")
	sql := "SELECT GROUPING(" + together + "), count(*), " + together + " FROM (SELECT " + strings.Join(columns, ", ") +
		from + ") AS n GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	return c.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		grouping, ok := rec.Column(0).(*array.Int64)
		if !ok {
			return errs.New(errs.Internal, "describe numbers: the answer has the types %s", rec.Schema())
		}
		for row := range int(rec.NumRows()) {
			for i, d := range list {
				if grouping.Value(row) == setOf(i, len(list)) {
					d.add(rec.Column(2+i), rec.Column(1), row)
				}
			}
		}
		return nil
	})
}

// bin returns the SQL of the number of the bin of a value.
func (d *distribution) bin(name string) string {
	double, _ := d.field.double(name)
	literal := func(f float64) string {
		return "CAST('" + strconv.FormatFloat(f, 'g', -1, 64) + "' AS DOUBLE)"
	}
	// Both numbers are halved first, because their difference may overflow.
	width := (d.high/2 - d.low/2) / bins
	bin := "CAST(least(" + strconv.Itoa(bins-1) + ", floor((" + double + " / 2 - " + literal(d.low/2) + ") / " +
		literal(width) + ")) AS INTEGER)"
	if width == 0 {
		bin = "0"
	}
	return "CASE WHEN isfinite(" + double + ") THEN " + bin + " END"
}

// add adds the count of a bin.
func (d *distribution) add(bin, counts arrow.Array, row int) {
	at, ok := bin.(*array.Int32)
	n, also := counts.(*array.Int64)
	if ok && also && !at.IsNull(row) && at.Value(row) >= 0 && at.Value(row) < bins {
		d.stats.Bins[at.Value(row)] += n.Value(row)
	}
}
