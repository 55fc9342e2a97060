package exchange

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/access/token"
	"cordwood/router/write"
)

// The headers of answers, in the canonical form of net/http. Clients ignore case.
const (
	HeaderFormat        = "X-Svc-Format"
	HeaderExecutionTime = "X-Svc-Execution-Time"
	HeaderErrCode       = "X-Svc-Err-Code"
	HeaderErrMsg        = "X-Svc-Err-Msg"
	HeaderMetrics       = "X-Svc-Metrics"
	HeaderSkipped       = "X-Svc-Skipped"
	HeaderDropped       = "X-Svc-Dropped"
	HeaderExpired       = "X-Svc-Expired"
	HeaderSkipReasons   = "X-Svc-Skip-Reasons"
	HeaderWarnings      = "X-Svc-Warnings"
	HeaderPartial       = "X-Ingest-Partial"
	HeaderOutcome       = "X-Svc-Outcome"
)

// maxHeaderText limits the length of free text in a header, in bytes.
const maxHeaderText = 1024

// WriteError answers a request with err. All errors have the same form: JSON with code, text and time, and the same
// data in headers. Details of internal errors go only to the log. If a part of the answer has already been sent,
// WriteError only logs.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	x := Of(r)
	err = x.lostRight(err)
	e, status := resolve(x, err)
	x.Failed = e
	if status >= 500 && e.Code.Masked() {
		x.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", token.Hide(r.URL.Path), "remote",
			x.Client, "code", int(e.Code), "error", err)
	}
	if x.Status != 0 {
		x.log.WarnContext(r.Context(), "answer aborted", "method", r.Method, "path", token.Hide(r.URL.Path), "remote",
			x.Client, "error", err)
		return
	}
	h := w.Header()
	msg := x.named(e.ClientMessage())
	millis := x.Millis()
	setHeaders(h, e, msg)
	h.Set(HeaderExecutionTime, strconv.FormatInt(millis, 10))
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable ||
		x.Refuse != nil && (&Refusal{Status: status}).Passing() {
		after := retrySeconds(e)
		if x.ExactRetry {
			after = int(math.Ceil(e.RetryAfter.Seconds()))
		}
		h.Set("Retry-After", strconv.Itoa(after))
	}
	if partial := (*write.PartialError)(nil); errors.As(err, &partial) {
		h.Set(HeaderPartial, strconv.Itoa(partial.Acked)+"/"+strconv.Itoa(partial.Total))
	}
	if errs.ReasonOf(err) == errs.OutcomeUnknown {
		h.Set(HeaderOutcome, "unknown")
	}
	if x.Refuse != nil {
		x.Refuse(w, r, &Refusal{Status: status, Code: e.Code, Text: msg})
		return
	}
	if status == http.StatusRequestTimeout && x.PlainTimeout {
		w.WriteHeader(status)
		return
	}
	out := make([]byte, 0, len(msg)+64)
	out = append(out, `{"code":`...)
	out = strconv.AppendUint(out, uint64(e.Code), 10)
	out = append(out, `,"error":`...)
	out = AppendJSONString(out, msg)
	out = append(out, `,"execution_time_ms":`...)
	out = strconv.AppendInt(out, millis, 10)
	out = appendPart(out, err)
	if d := detailed(nil); errors.As(err, &d) {
		out = d.AppendDetail(out)
	}
	out = appendQuota(out, e)
	out = append(out, '}')
	WriteJSON(w, status, out)
}

func setHeaders(h http.Header, e *errs.Error, msg string) {
	h.Set(HeaderErrCode, strconv.Itoa(int(e.Code)))
	h.Set(HeaderErrMsg, HeaderText(msg))
}

// SetRetryHeaders sets headers before an answer whose body reports that records may be stored later: when the client
// should retry and, if the whole request was refused, the error.
func SetRetryHeaders(w http.ResponseWriter, r *http.Request, err error, whole bool) {
	x, e := Of(r), errs.From(err)
	w.Header().Set("Retry-After", strconv.Itoa(retrySeconds(e)))
	if whole {
		x.Failed = e
		setHeaders(w.Header(), e, x.named(e.ClientMessage()))
	}
}

// detailed is an error whose answer has additional members.
type detailed interface {
	error
	// AppendDetail appends members, each with a comma before it.
	AppendDetail(out []byte) []byte
}

// located is an error with the position of a part of the client's text.
type located interface {
	error
	// Part returns the position and length of the part, in bytes.
	Part() (offset, length int)
	// Candidates returns names that may have been meant.
	Candidates() []string
}

// appendPart appends the position of the fault in the client's text, if err has it.
func appendPart(out []byte, err error) []byte {
	l := located(nil)
	if !errors.As(err, &l) {
		return out
	}
	offset, length := l.Part()
	out = append(out, `,"at":{"offset":`...)
	out = strconv.AppendInt(out, int64(offset), 10)
	out = append(out, `,"length":`...)
	out = strconv.AppendInt(out, int64(length), 10)
	out = append(out, '}')
	names := l.Candidates()
	if len(names) == 0 {
		return out
	}
	out = append(out, `,"nearest":[`...)
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = AppendJSONString(out, name)
	}
	return append(out, ']')
}

// appendQuota appends the quota because of which a request was refused, if there is one.
func appendQuota(out []byte, e *errs.Error) []byte {
	q := e.Quota
	if q == nil {
		return out
	}
	out = append(out, `,"quota":{"database":`...)
	out = AppendJSONString(out, q.Database)
	out = append(out, `,"name":`...)
	out = AppendJSONString(out, q.Name)
	out = append(out, `,"limit":`...)
	out = strconv.AppendUint(out, q.Limit, 10)
	out = append(out, `,"value":`...)
	out = strconv.AppendUint(out, q.Value, 10)
	out = append(out, `,"unit":`...)
	out = AppendJSONString(out, q.Unit)
	out = append(out, '}')
	if e.RetryAfter <= 0 { // it would be refused again
		return out
	}
	out = append(out, `,"retry_after_ms":`...)
	return strconv.AppendInt(out, e.RetryAfter.Milliseconds(), 10)
}

// Refusal has the parts of an error that another protocol's answer needs. The headers x-svc-err-code, x-svc-err-msg
// and Retry-After are already set.
type Refusal struct {
	// Status is the HTTP status that our own protocol would use.
	Status int
	Code   errs.Code
	// Text is the message for the client.
	Text string
}

// Passing is true if the same request may succeed later: the server is busy, a rate limit was reached, or a part of
// the cluster cannot be reached.
func (f *Refusal) Passing() bool {
	return f.Status == http.StatusTooManyRequests || f.Status >= 500 || f.Status == http.StatusRequestTimeout
}

// resolve returns the error's code and status. If the request's time is up, the error becomes a timeout.
func resolve(x *Exchange, err error) (*errs.Error, int) {
	e := errs.From(err)
	if e.Code == errs.Unknown {
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			e = errs.New(errs.DeadlineExceeded, "%s", err)
		case errors.Is(err, context.Canceled):
			e = errs.New(errs.Cancelled, "%s", err)
		}
	}
	status := e.Status()
	if x.TimedOut() && (status == http.StatusGatewayTimeout || status == http.StatusServiceUnavailable) {
		e = errs.New(errs.DeadlineExceeded, "the request did not end within its time limit: %s", e.Msg)
		status = http.StatusRequestTimeout
	}
	return e, status
}

// HeaderText makes text safe for a header: one line of printable ASCII with a limited length. The body contains the
// original text.
func HeaderText(text string) string {
	text = words.ASCII(text)
	if len(text) > maxHeaderText {
		text = text[:maxHeaderText]
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return ' '
		}
		return c
	}, text)
}

// retrySeconds returns the time to wait before a retry, 1 to 30 s. It varies at random by up to a quarter, so that
// clients that were refused at the same time do not retry at the same time. For quotas it is up to 60 s, and varies by
// up to a fifth.
func retrySeconds(e *errs.Error) int {
	longest, spread := 30.0, 0.25
	if e.Quota != nil {
		longest, spread = 60, 0.2
	}
	secs := min(max(e.RetryAfter.Seconds(), 1), longest)
	return int(math.Ceil(secs * (1 - spread + rand.Float64()*2*spread)))
}
