package write

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"cordwood/proto/errs"
)

// Result is the result of a request.
type Result struct {
	// Groups has one element for each distinct set of table options in the request, in the order of their first rows.
	Groups []Group
	// Rows is the number of rows stored.
	Rows int
	// Warnings are for the client of a successful request.
	Warnings []string
}

// Group describes the rows that were written with one set of table options.
type Group struct {
	// AffectedRows is 0 for tables that discard their rows at once (ttl instant).
	AffectedRows int
}

// ErrSchemaChanged is wrapped by errors that ask the caller to run the pipeline again: nothing was stored, and the
// rows do not fit the current tables. Such an error also wraps the *errs.Error to return to the client if the
// caller gives up, with status 503, because only a pipeline that saw the current table can justify a permanent
// refusal.
var ErrSchemaChanged = errors.New("write: a table's schema changed")

// schemaChanged is ErrSchemaChanged together with the error for the client.
type schemaChanged struct{ final *errs.Error }

func (e *schemaChanged) Error() string   { return e.final.Error() }
func (e *schemaChanged) Unwrap() []error { return []error{ErrSchemaChanged, e.final} }

// PartialError is the error if only a part of a request was stored. If the client repeats the whole request without a
// key, this part is stored again.
type PartialError struct {
	// Acked is the number of rows that are certainly stored, and Total the number of all rows. If Err is an unknown
	// outcome, other rows may be stored too.
	Acked, Total int
	// Err is the reason why the other rows are not stored.
	Err *errs.Error
}

func (e *PartialError) Error() string { return e.Err.Error() }

func (e *PartialError) Unwrap() error { return e.Err }

// noteAdapted counts the values whose type differed from the type of their column, and adds warnings.
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

// fail converts the error of a round into the error of the request.
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

// answerable converts the error of a request without a row that is known to be stored into the error for the client.
// If time ran out, the error says when to retry. If rows may be stored, the text begins with outcomeUnknown.
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

// outcomeUnknown begins the text of every error after which rows may be stored. The documentation promises this
// text to clients.
const outcomeUnknown = "the outcome is unknown"
