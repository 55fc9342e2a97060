package httpapi

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
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
	headerFormat        = "X-Svc-Format"
	headerExecutionTime = "X-Svc-Execution-Time"
	headerErrCode       = "X-Svc-Err-Code"
	headerErrMsg        = "X-Svc-Err-Msg"
	headerMetrics       = "X-Svc-Metrics"
	headerSkipped       = "X-Svc-Skipped"
	headerExpired       = "X-Svc-Expired"
	headerSkipReasons   = "X-Svc-Skip-Reasons"
	headerWarnings      = "X-Svc-Warnings"
	headerPartial       = "X-Ingest-Partial"
	headerOutcome       = "X-Svc-Outcome"
)

// maxHeaderText bounds free text in a header, in bytes.
const maxHeaderText = 1024

// WriteError answers a request with err, in the one shape of errors: JSON with code,
// text and time, and the same in headers. Codes of internal errors are masked; the log
// has the detail. After the first byte of an answer it does nothing but log.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r)
	err = x.lostRight(err)
	e, status := resolve(x, err)
	x.failed = e
	if status >= 500 && e.Code.Masked() {
		x.log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "remote", x.client, "code", int(e.Code), "error", err)
	}
	if x.status != 0 {
		x.log.WarnContext(r.Context(), "answer broken off", "method", r.Method, "path", r.URL.Path, "remote", x.client, "error", err)
		return
	}
	h := w.Header()
	msg := x.named(e.ClientMessage())
	millis := x.millis()
	h.Set(headerErrCode, strconv.Itoa(int(e.Code)))
	h.Set(headerErrMsg, headerText(msg))
	h.Set(headerExecutionTime, strconv.FormatInt(millis, 10))
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		after := retrySeconds(e.RetryAfter)
		if x.exactRetry {
			after = int(math.Ceil(e.RetryAfter.Seconds()))
		}
		h.Set("Retry-After", strconv.Itoa(after))
	}
	if partial := (*write.PartialError)(nil); errors.As(err, &partial) {
		h.Set(headerPartial, strconv.Itoa(partial.Acked)+"/"+strconv.Itoa(partial.Total))
	}
	if errs.ReasonOf(err) == errs.OutcomeUnknown {
		h.Set(headerOutcome, "unknown")
	}
	if status == http.StatusRequestTimeout && x.plainTimeout {
		w.WriteHeader(status)
		return
	}
	out := make([]byte, 0, len(msg)+64)
	out = append(out, `{"code":`...)
	out = strconv.AppendUint(out, uint64(e.Code), 10)
	out = append(out, `,"error":`...)
	out = appendJSONString(out, msg)
	out = append(out, `,"execution_time_ms":`...)
	out = strconv.AppendInt(out, millis, 10)
	out = append(out, '}')
	writeJSON(w, status, out)
}

// resolve finds the error's code and status. An error that came about because the
// request's time was up is answered as such.
func resolve(x *exchange, err error) (*errs.Error, int) {
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
	if x.timedOut() && (status == http.StatusGatewayTimeout || status == http.StatusServiceUnavailable) {
		e = errs.New(errs.DeadlineExceeded, "the request did not end within its time limit: %s", e.Msg)
		status = http.StatusRequestTimeout
	}
	return e, status
}

// headerText makes text safe for a header: one line of printable ASCII, bounded. The body has it
// as it is.
func headerText(text string) string {
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

// retrySeconds is when to come back, 1 to 30 s, spread by a quarter so that clients
// that were refused together do not come back together.
func retrySeconds(d time.Duration) int {
	secs := min(max(d.Seconds(), 1), 30)
	return int(math.Ceil(secs * (0.75 + rand.Float64()/2)))
}

// writeJSON answers with a JSON text and a line end, so that a shell's prompt does not follow
// on the same line.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	end := []byte("\n")
	if bytes.HasSuffix(body, end) {
		end = nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+len(end)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; nobody else wants to know
	_, _ = w.Write(end)
}

// appendJSONString appends s as a JSON string, safe in HTML too.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ' || c == '<' || c == '>' || c == '&' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, string(c)...)
		}
	}
	return append(dst, '"')
}

var _ slog.LogValuer = (*exchange)(nil)

// LogValue is the exchange in the request log.
func (x *exchange) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("route", x.routeName()), slog.Int("status", x.status),
		slog.Int64("bytes", x.bytes), slog.Duration("took", time.Since(x.start)),
	)
}
