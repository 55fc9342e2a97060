package exchange

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/write"
)

// The headers of answers, in the form that net/http keeps them in. Clients match them
// in any case.
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

// maxHeaderText bounds free text in a header, in bytes.
const maxHeaderText = 1024

// WriteError answers a request with err, in the one shape of errors: JSON with code,
// text and time, and the same in headers. Codes of internal errors are masked; the log
// has the detail. After the first byte of an answer it does nothing but log.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	x := Of(r)
	err = x.lostRight(err)
	e, status := resolve(x, err)
	x.Failed = e
	if status >= 500 && e.Code.Masked() {
		x.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "remote", x.Client, "code",
			int(e.Code), "error", err)
	}
	if x.Status != 0 {
		x.log.WarnContext(r.Context(), "answer broken off", "method", r.Method, "path", r.URL.Path, "remote",
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
		after := retrySeconds(e.RetryAfter)
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
	out = append(out, '}')
	WriteJSON(w, status, out)
}

func setHeaders(h http.Header, e *errs.Error, msg string) {
	h.Set(HeaderErrCode, strconv.Itoa(int(e.Code)))
	h.Set(HeaderErrMsg, HeaderText(msg))
}

// TellPassing sets the headers of an answer that is not begun yet, whose body says that records may be stored later:
// when the client should come again and, if the whole request was refused, why.
func TellPassing(w http.ResponseWriter, r *http.Request, err error, whole bool) {
	x, e := Of(r), errs.From(err)
	w.Header().Set("Retry-After", strconv.Itoa(retrySeconds(e.RetryAfter)))
	if whole {
		x.Failed = e
		setHeaders(w.Header(), e, x.named(e.ClientMessage()))
	}
}

// detailed is an error whose answer has more members.
type detailed interface {
	error
	// AppendDetail appends members, each with a comma before it.
	AppendDetail(out []byte) []byte
}

// located is an error about a part of a text that the client sent.
type located interface {
	error
	// Part returns the part, in bytes of the text.
	Part() (offset, length int)
	// Candidates returns the names that what is there may have been meant to be.
	Candidates() []string
}

// appendPart appends where in the client's text the fault is, if err knows it.
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

// Refusal is an error as another protocol's answer needs it. The headers x-svc-err-code, x-svc-err-msg
// and Retry-After are set already.
type Refusal struct {
	// Status is the status of the one shape of errors.
	Status int
	Code   errs.Code
	// Text is what the client may know.
	Text string
}

// Passing reports whether the same request may succeed later: much is under way, a limit for a
// time is reached, or a part of the cluster cannot be reached.
func (f *Refusal) Passing() bool {
	return f.Status == http.StatusTooManyRequests || f.Status >= 500 || f.Status == http.StatusRequestTimeout
}

// resolve finds the error's code and status. An error that came about because the
// request's time was up is answered as such.
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

// HeaderText makes text safe for a header: one line of printable ASCII, bounded. The body has it
// as it is.
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

// retrySeconds returns when to come back, 1 to 30 s, spread by a quarter so that clients
// that were refused together do not come back together.
func retrySeconds(d time.Duration) int {
	secs := min(max(d.Seconds(), 1), 30)
	return int(math.Ceil(secs * (0.75 + rand.Float64()/2)))
}
