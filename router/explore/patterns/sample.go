package patterns

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/router/explore/budget"
	"cordwood/router/explore/scope"
)

const (
	// leastSample is the number of rows that are always counted.
	leastSample = 10_000
	// smaller is by how much a sample is smaller than the rows for whose count the time did not suffice.
	smaller = 8
)

// inTime runs count for all rows of the range. If there are too many of them, or if the rest of the budget does not
// suffice, it runs count for a sample instead. A sample for which the budget does not suffice either is replaced by a
// smaller one. It returns the number of rows in the sample, and the number of rows in the range; 0 for all rows.
func (f *finder) inTime(ctx context.Context, count func(context.Context, *budget.Sample) error) (read, of int64,
	err error,
) {
	rows := budget.Estimate(f.scope, f.extents).Rows
	if _, ok := budget.NewSample(f.scope, f.extents, leastSample); f.req.Exact || !ok {
		return 0, 0, count(ctx, nil)
	}
	if rows <= budget.MaxExact {
		late, err := budget.Try(ctx, time.Until(f.until), func(ctx context.Context) error { return count(ctx, nil) })
		if err != nil || !late {
			return 0, 0, err
		}
	}
	want := min(budget.SampleSize(f.req.Budget), rows/smaller)
	for ; want > leastSample; want /= smaller {
		part, _ := budget.NewSample(f.scope, f.extents, want)
		late, err := budget.Try(ctx, f.req.Budget, func(ctx context.Context) error { return count(ctx, part) })
		if err != nil {
			return 0, 0, err
		}
		if !late {
			read, err = f.sampledRows(ctx, part)
			return read, max(rows, read), err
		}
	}
	part, _ := budget.NewSample(f.scope, f.extents, leastSample)
	if err := count(ctx, part); err != nil {
		return 0, 0, err
	}
	read, err = f.sampledRows(ctx, part)
	return read, max(rows, read), err
}

// sampledRows counts the rows of a sample, including those that do not match the search.
func (f *finder) sampledRows(ctx context.Context, part *budget.Sample) (n int64, err error) {
	for _, t := range f.scope.Tables {
		where := scope.WhereAll("TRUE", f.scope.Times(t), part.Condition(t))
		err := f.scope.Run(ctx, "SELECT count(*) FROM "+part.From(t)+where, func(rec arrow.RecordBatch) error {
			n += number(rec.Column(0), 0)
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
