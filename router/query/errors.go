package query

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/query/statement"
)

// storedBefore changes an error after which clients retry, if earlier statements of the text have stored rows,
// because a retry would store those rows again.
func storedBefore(err error) error {
	if err == nil || errs.ReasonOf(err) == errs.OutcomeUnknown {
		return err
	}
	switch errs.From(err).Status() {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return errs.Wrap(errs.ShardUnreachable, err,
			"the outcome is unknown: statements before this one stored rows, then").WithReason(errs.OutcomeUnknown)
	}
	return err
}

// StoredError is an error of an INSERT that has stored rows, which remain.
type StoredError struct {
	Rows int64
	error
}

// Unwrap returns the cause.
func (e *StoredError) Unwrap() error { return e.error }

// storedPartly adds to an error how many rows the statement has stored. They remain, so clients must not send the
// statement again.
func storedPartly(err error, rows int64) error {
	if err == nil || rows == 0 {
		return err
	}
	err = &StoredError{rows, err}
	what := words.Say(rows, "row was", "rows were") + " stored and will remain, then the statement failed"
	switch errs.From(err).Status() {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return errs.Wrap(errs.ShardUnreachable, err, "the outcome is unknown: %s", what).WithReason(errs.OutcomeUnknown)
	}
	return errs.Wrap(errs.Internal, err, "%s", what)
}

// unread returns the error for a statement that needs metadata that this node cannot read now.
func unread(behind error, what string) error {
	e := errs.Wrap(errs.ShardNotReady, behind, "%s", what).WithRetryAfter(time.Second)
	e.Code, e.Leader, e.Reason = errs.ShardNotReady, "", "" // nothing was changed
	return e
}

// unsure changes an error for something that does not exist, because a node that cannot read the metadata cannot
// be sure.
func unsure(err, behind error) error {
	if behind == nil || err == nil {
		return err
	}
	switch e := errs.From(err); e.Code {
	case errs.TableNotFound, errs.ColumnNotFound, errs.DatabaseNotFound:
		return unread(behind, "this node's metadata may be out of date ("+e.Msg+
			"), and the changes of other nodes cannot be read now")
	}
	return err
}

// MoreTime ends the message of a query whose time was up. It is for clients of HTTP; others replace it.
const MoreTime = "; request less, or allow more time by the header x-svc-timeout"

// explain returns an error that names the cause if time was up or the client disconnected.
func explain(ctx context.Context, st statement.Statement, err error, after time.Duration) error {
	switch {
	case err == nil:
		return nil
	case errs.CodeOf(err) == errs.QueryTimeout && errs.From(err).Quota != nil:
		return err
	case !statement.OnlyReads(st) && errs.ReasonOf(err) == errs.OutcomeUnknown &&
		errs.From(err).Status() == http.StatusServiceUnavailable:
		return err // rows may have been written, which is more important than the cause
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || timeIsUp(ctx, err):
		advice := MoreTime
		switch e := errs.From(err); {
		case e.Code == errs.ShardUnreachable, e.Code == errs.ShardNotReady:
			advice = "; it waited for a shard: " + e.Msg
		case e.Quota != nil:
			advice = "; it waited for its turn: " + e.Msg
		}
		return &errs.Error{Code: errs.QueryTimeout, Err: err, Msg: fmt.Sprintf(
			"the query was cancelled after %s, when its time was up%s", after.Round(time.Millisecond), advice)}
	case lostRight(ctx) != nil:
		return lostRight(ctx)
	case ctx.Err() != nil:
		return &errs.Error{Code: errs.Cancelled, Err: err, Msg: "the query was cancelled because the client went away"}
	}
	if e := (*errs.Error)(nil); errors.As(err, &e) {
		return err
	}
	return errs.Wrap(errs.Internal, err, "run SQL")
}

// lostRight returns the reason why ctx was cancelled, if it was because the user lost the right.
func lostRight(ctx context.Context) error {
	switch cause := context.Cause(ctx); errs.CodeOf(cause) {
	case errs.AccessDenied, errs.UserPasswordMismatch:
		return cause
	}
	return nil
}

// timeIsUp reports whether err comes from another process that has the same deadline and noticed its end slightly
// earlier.
func timeIsUp(ctx context.Context, err error) bool {
	switch errs.CodeOf(err) {
	case errs.QueryTimeout:
		return true
	case errs.DeadlineExceeded, errs.Cancelled:
		deadline, ok := ctx.Deadline()
		return ok && ctx.Err() == nil && time.Until(deadline) < 100*time.Millisecond
	}
	return false
}
