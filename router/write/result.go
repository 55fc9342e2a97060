package write

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"cordwood/proto/errs"
)

// Result is what a request brought about.
type Result struct {
	// Groups has one element per distinct set of table options in the request, in the
	// order of their first rows.
	Groups []Group
	// Rows is the number of rows stored.
	Rows int
	// Warnings are what the client should know although all went well.
	Warnings []string
}

// Group is the rows that were written under one set of table options.
type Group struct {
	// AffectedRows is 0 for tables whose rows are thrown away at once (ttl instant).
	AffectedRows int
}

// ErrSchemaChanged is in the chain of an error that asks the caller to run the pipeline
// again: nothing was stored, and the rows do not fit the tables as they are now. The
// chain also holds the *errs.Error to answer with if the caller gives up, of status 503: a
// permanent refusal needs a pipeline that saw the table as it is.
var ErrSchemaChanged = errors.New("write: a table's schema changed")

// schemaChanged is ErrSchemaChanged together with the answer.
type schemaChanged struct{ final *errs.Error }

func (e *schemaChanged) Error() string   { return e.final.Error() }
func (e *schemaChanged) Unwrap() []error { return []error{ErrSchemaChanged, e.final} }

// PartialError says that a request was stored in part. A client that repeats the whole
// request stores that part again, unless the request has a key.
type PartialError struct {
	// Acked of Total rows are stored; of the others some may be, if Err says so.
	Acked, Total int
	// Err is why the others are not.
	Err *errs.Error
}

func (e *PartialError) Error() string { return e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }

// noteAdapted counts and says what became of values whose type was not their column's.
func (w *Writer) noteAdapted(req *request) {
	for _, t := range req.targets {
		if t.rows.Internal || len(t.rows.Asides) == 0 && t.rows.Cast == 0 {
			continue
		}
		w.metrics.types.WithLabelValues("cast").Add(float64(t.rows.Cast))
		for _, a := range t.rows.Asides {
			w.metrics.types.WithLabelValues("aside").Add(float64(a.Count))
		}
		for _, text := range t.rows.AsideWarnings() {
			if len(req.warnings) < maxWarnings {
				req.warnings = append(req.warnings, text)
			}
		}
	}
}

// fail turns the error of a round into the error of the request.
func (w *Writer) fail(req *request, err error) error {
	acked, total := req.counts()
	if acked == 0 {
		return answerable(err)
	}
	label := "no"
	if req.keyed {
		label = "yes"
	}
	w.metrics.partial.WithLabelValues(label).Inc()
	cause := errs.From(err)
	return &PartialError{Acked: acked, Total: total, Err: &errs.Error{
		Code: cause.Code, Reason: cause.Reason, Err: cause,
		Msg:        fmt.Sprintf("%d of %d rows were stored, then: %s", acked, total, err),
		HTTPStatus: http.StatusServiceUnavailable,
		RetryAfter: max(cause.RetryAfter, time.Second),
	}}
}

// answerable turns the error of a request, if no row of it is known to be stored, into one
// that a client can act on. If time ran out, it says when to try again. If rows may be
// stored, by the error's reason, its text begins with that.
func answerable(err error) error {
	cause := errs.From(err)
	late := cause.Code == errs.DeadlineExceeded && cause.Status() == http.StatusGatewayTimeout
	unknown := cause.Reason == errs.OutcomeUnknown
	if !late && !unknown {
		return err
	}
	e := *cause
	e.Msg, e.Err, e.RetryAfter = err.Error(), err, max(cause.RetryAfter, time.Second)
	if unknown {
		e.Msg = outcomeUnknown + ": " + e.Msg
	}
	if late {
		e.HTTPStatus = http.StatusServiceUnavailable
	}
	return &e
}

// outcomeUnknown begins the text of every answer after which rows may be stored. That it is
// in the text is promised to clients.
const outcomeUnknown = "the outcome is unknown"
