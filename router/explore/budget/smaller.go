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
	// leastProbed is the number of rows up to which all are counted without a smaller sample first.
	leastProbed = 500_000
	// smaller is by how much a sample is smaller than the rows for whose count the time did not suffice.
	smaller = 8
	// probed is by how much the rows of a probe are fewer than all, and probeSlices the number of its slices.
	probed      = 64
	probeSlices = 4
	// Few is the number of rows in a probe below which an estimate would say little.
	Few = 100
	// fixedTime is about how much of the time of a probe does not depend on the number of its rows.
	fixedTime = 25 * time.Millisecond
	// headStart is the part of the time limit after which a probe begins.
	headStart = 16
)

// Count runs count for all rows of s, or for a sample of them if that would take longer than limit. It returns the
// sample; nil means all rows. There must be more than LeastSample rows in s. If count fails, it must keep the result of
// the last time that it did not.
//
// Among many rows, it first counts a sample of an eighth of them. If that takes so long that all of them would take
// longer than the limit, the sample is the answer, so little time is lost on a busy machine. Among more than MaxExact
// rows, all are counted only if a search finds few of them, soon.
func Count(ctx context.Context, s *scope.Scope, extents map[uint64]*query.Extent, limit time.Duration,
	count func(context.Context, *Sample) error,
) (*Sample, error) {
	rows := Estimate(s, extents).Rows
	all := func(ctx context.Context) error { return count(ctx, nil) }
	if rows > MaxExact {
		if s.Searches() {
			if late, err := ifFew(ctx, s, extents, limit, count); err != nil || !late {
				return nil, err
			}
		}
		return inSamples(ctx, s, extents, limit, rows, count)
	}
	if rows <= leastProbed {
		if late, err := Try(ctx, limit, all); err != nil || !late {
			return nil, err
		}
		return inSamples(ctx, s, extents, limit, rows, count)
	}
	probe, _ := NewSample(s, extents, rows/smaller)
	began := time.Now()
	late, err := Try(ctx, limit, func(ctx context.Context) error { return count(ctx, probe) })
	if err != nil {
		return nil, err
	}
	if late {
		probe, _ = NewSample(s, extents, rows/smaller/smaller)
		return probe, count(ctx, probe)
	}
	took := time.Since(began)
	// Half of a sample's time does not depend on its size: its statements have a part for each slice.
	if smaller/2*took > limit-took {
		return probe, nil
	}
	if late, err = Try(ctx, limit-took, all); err != nil || !late {
		return nil, err
	}
	return probe, nil
}

// ifFew runs count for all rows of s if the search seems to find few of them soon, as by filters that leave out nearly
// all rows. Otherwise, or if that takes longer than limit, late is set.
func ifFew(ctx context.Context, s *scope.Scope, extents map[uint64]*query.Extent, limit time.Duration,
	count func(context.Context, *Sample) error,
) (late bool, err error) {
	began := time.Now()
	if part, ok := inSlices(s, extents, Estimate(s, extents).Rows/probed, probeSlices); ok {
		found := int64(0)
		late, err = Try(ctx, limit/smaller, func(ctx context.Context) (err error) {
			found, err = matching(ctx, s, part)
			return err
		})
		// About half of the time for so few rows does not depend on their number.
		if late || err != nil || found >= Few || time.Since(began) > limit*2/probed {
			return err == nil, err
		}
	}
	return Try(ctx, limit-time.Since(began), func(ctx context.Context) error { return count(ctx, nil) })
}

// matching counts the rows of a sample of s that match the search.
func matching(ctx context.Context, s *scope.Scope, part *Sample) (n int64, err error) {
	for _, t := range s.Tables {
		more, err := countRows(ctx, s, part.Rows(t, t.Condition, s.Times(t)))
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

// countRows counts the rows of the FROM clause of a statement.
func countRows(ctx context.Context, s *scope.Scope, from string) (n int64, err error) {
	err = s.Run(ctx, "SELECT count(*) FROM "+from, func(rec arrow.RecordBatch) error {
		if counts, ok := rec.Column(0).(*array.Int64); ok && counts.Len() > 0 {
			n += counts.Value(0)
		}
		return nil
	})
	return n, err
}

// inSamples runs count for a sample of the rows. If it does not end within limit, as on a busy machine, count runs
// again for an eighth of these rows, without a limit.
func inSamples(ctx context.Context, s *scope.Scope, extents map[uint64]*query.Extent, limit time.Duration, rows int64,
	count func(context.Context, *Sample) error,
) (*Sample, error) {
	want := min(sampleSize(limit), rows/smaller)
	if want > LeastSample {
		part, _ := NewSample(s, extents, want)
		late, err := Try(ctx, limit, func(ctx context.Context) error { return count(ctx, part) })
		if err != nil || !late {
			return part, err
		}
		want /= smaller
	}
	part, _ := NewSample(s, extents, max(want, LeastSample))
	return part, count(ctx, part)
}

// sampleSize returns the number of rows of the first sample with a time limit: SampleRows for the default, and fewer
// for a shorter one.
func sampleSize(limit time.Duration) int64 {
	return int64(SampleRows * min(1, limit.Seconds()/usualBudget.Seconds()))
}

// SampledRows counts the rows of a sample of s, including those that do not match the search.
func SampledRows(ctx context.Context, s *scope.Scope, part *Sample) (n int64, err error) {
	for _, t := range s.Tables {
		more, err := countRows(ctx, s, part.Rows(t, s.Times(t)))
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}
