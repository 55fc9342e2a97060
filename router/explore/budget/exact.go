package budget

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

// The default and the maximum of the time after which estimates replace exact counts.
const (
	usualBudget = 1500 * time.Millisecond
	maxBudget   = time.Minute
)

// Time returns how long exact counts may take. millis is the time in the request; it is nil if the request has none.
func Time(millis *int64) (time.Duration, error) {
	switch {
	case millis == nil:
		return usualBudget, nil
	case *millis < 1 || *millis > maxBudget.Milliseconds():
		return 0, errs.New(errs.InvalidArguments, "budget_ms is %d: it must be from 1 to %d", *millis,
			maxBudget.Milliseconds())
	}
	return time.Duration(*millis) * time.Millisecond, nil
}

// errLate is the cause of the end of a count that takes too long.
var errLate = errors.New("the count takes too long")

// Try runs count with a time limit, and reports whether it was aborted because of the limit, or not begun because there
// is no time left. The error is count's own.
//
// The limit is no deadline of the context: the statements are cancelled, as if their client had left. To a shard, a
// statement that passes its deadline is one that takes too long, and such statements are refused after a while.
func Try(ctx context.Context, limit time.Duration, count func(ctx context.Context) error) (late bool, err error) {
	if limit <= 0 {
		return true, nil
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(limit, func() { cancel(errLate) })
	defer timer.Stop()
	err = count(inner)
	if isLate(inner, ctx, err) {
		return true, nil
	}
	return false, err
}

// isLate reports whether a count within ctx ended with err because its own context has ended with errLate.
func isLate(own, ctx context.Context, err error) bool {
	return err != nil && errors.Is(context.Cause(own), errLate) && ctx.Err() == nil &&
		(errs.CodeOf(err) == errs.Cancelled || errors.Is(err, context.Canceled))
}

// TryLarge is like Try, for a count of all rows of s, which are many. It gives up earlier if a count of a small part of
// them, which begins while the other has not ended soon, shows that there is not enough time. part counts such a part,
// and reports whether it has found so few rows that an estimate would say little. Then there is all the time of limit.
func TryLarge(ctx context.Context, s *scope.Scope, extents map[uint64]*query.Extent, limit time.Duration,
	all func(context.Context) error, part func(context.Context, *Sample) (few bool, err error),
) (late bool, err error) {
	probe, ok := inSlices(s, extents, Estimate(s, extents).Rows/probed, probeSlices)
	if !ok {
		return Try(ctx, limit, all)
	}
	counting, giveUp := context.WithCancelCause(ctx)
	probing, counted := context.WithCancel(ctx)
	defer counted()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-probing.Done():
			return
		case <-time.After(limit / headStart):
		}
		began := time.Now()
		few, err := part(probing, probe)
		// The other count takes time, too.
		if err == nil && !few && time.Since(began) > fixedTime+limit*3/probed {
			giveUp(errLate)
		}
	}()
	late, err = Try(counting, limit, all)
	if isLate(counting, ctx, err) {
		late, err = true, nil
	}
	counted()
	<-ended
	giveUp(nil)
	return late, err
}
