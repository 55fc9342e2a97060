package patterns

import (
	"context"
	"time"

	"cordwood/router/explore/budget"
)

// inTime runs count for all rows of the range. If there are too many of them, or if the rest of the budget does not
// suffice, it runs count for a sample instead. If count fails, it must keep its last result. It returns the number of
// rows in the sample, and the number of rows in the range; 0 for all rows.
func (f *finder) inTime(ctx context.Context, count func(context.Context, *budget.Sample) error) (read, of int64,
	err error,
) {
	if _, ok := budget.NewSample(f.scope, f.extents, budget.LeastSample); f.req.Exact || !ok {
		return 0, 0, count(ctx, nil)
	}
	part, err := budget.Count(ctx, f.scope, f.extents, time.Until(f.until), count)
	if err != nil || part == nil {
		return 0, 0, err
	}
	read, err = budget.SampledRows(ctx, f.scope, part)
	return read, max(budget.Estimate(f.scope, f.extents).Rows, read), err
}
