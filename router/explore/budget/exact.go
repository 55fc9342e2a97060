package budget

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/errs"
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
	if err != nil && errors.Is(context.Cause(inner), errLate) && ctx.Err() == nil &&
		(errs.CodeOf(err) == errs.Cancelled || errors.Is(err, context.Canceled)) {
		return true, nil
	}
	return false, err
}
