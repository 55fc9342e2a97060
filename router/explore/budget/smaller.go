package budget

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

const (
	// LeastSample is the number of rows that are always counted.
	LeastSample = 10_000
	// smaller is by how much a sample is smaller than the rows for whose count the time did not suffice.
	smaller = 8
)

// InSamples runs count for a sample of the rows of s. If it does not end within limit, as on a busy machine, count runs
// again for an eighth of these rows, without a limit. There must be more than LeastSample rows in files.
func InSamples(ctx context.Context, s *scope.Scope, extents map[uint64]*query.Extent, limit time.Duration,
	count func(context.Context, *Sample) error,
) error {
	want := min(sampleSize(limit), Estimate(s, extents).Rows/smaller)
	if want > LeastSample {
		part, _ := NewSample(s, extents, want)
		late, err := Try(ctx, limit, func(ctx context.Context) error { return count(ctx, part) })
		if err != nil || !late {
			return err
		}
		want /= smaller
	}
	part, _ := NewSample(s, extents, max(want, LeastSample))
	return count(ctx, part)
}

// sampleSize returns the number of rows of the first sample with a time limit: SampleRows for the default, and fewer
// for a shorter one.
func sampleSize(limit time.Duration) int64 {
	return int64(SampleRows * min(1, limit.Seconds()/usualBudget.Seconds()))
}

// SampledRows counts the rows of a sample of s, including those that do not match the search.
func SampledRows(ctx context.Context, s *scope.Scope, part *Sample) (n int64, err error) {
	for _, t := range s.Tables {
		where := scope.WhereAll("TRUE", s.Times(t), part.Condition(t))
		err := s.Run(ctx, "SELECT count(*) FROM "+part.From(t)+where, func(rec arrow.RecordBatch) error {
			if counts, ok := rec.Column(0).(*array.Int64); ok && counts.Len() > 0 {
				n += counts.Value(0)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}
