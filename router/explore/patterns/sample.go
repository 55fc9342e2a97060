package patterns

import (
	"context"
	"time"

	"cordwood/router/explore/budget"
)

// inTime runs count for all rows of the range. If there are too many of them, or if the rest of the budget does not
// suffice, it runs count for a sample instead. It returns the number of rows in the sample, and the number of rows in
// the range; 0 for all rows.
func (f *finder) inTime(ctx context.Context, count func(context.Context, *budget.Sample) error) (read, of int64,
	err error,
) {
	rows := budget.Estimate(f.scope, f.extents).Rows
	if _, ok := budget.NewSample(f.scope, f.extents, budget.LeastSample); f.req.Exact || !ok {
		return 0, 0, count(ctx, nil)
	}
	if rows <= budget.MaxExact {
		late, err := budget.Try(ctx, time.Until(f.until), func(ctx context.Context) error { return count(ctx, nil) })
		if err != nil || !late {
			return 0, 0, err
		}
	}
	var last *budget.Sample
	err = budget.InSamples(ctx, f.scope, f.extents, f.req.Budget, func(ctx context.Context, part *budget.Sample) error {
		last = part
		return count(ctx, part)
	})
	if err != nil {
		return 0, 0, err
	}
	read, err = budget.SampledRows(ctx, f.scope, last)
	return read, max(rows, read), err
}
