package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"cordwood/router/access"
)

// exchange is one request and its answer, from the first byte to the last. It is the
// http.ResponseWriter that handlers see, and travels in the request's context.
type exchange struct {
	http.ResponseWriter
	log   *slog.Logger
	start time.Time
	// client is the address of who sent the request. See Server.clientAddress.
	client netip.Addr
	// counts are the metrics of the route.
	counts *routeMetrics
	// deadline is when the request's time is up; zero: never.
	deadline time.Time
	// plainTimeout answers a time-out without a body.
	plainTimeout bool
	// caller is who sent the request; until that is known, somebody who may do nothing.
	caller access.Caller
	// need is what the route asks of the caller.
	need access.Need
	// statement and message say more of a change in its line of the log.
	statement, message string
	// unchanged: nothing was done, and nothing refused; the sender was asked to confirm.
	unchanged bool
	// failed is the error that was answered; nil: none was.
	failed error
	// follower ends the request when its user may no longer send it; nil: nothing does.
	follower *follower
	// exactRetry: Retry-After is what the error says, not spread.
	exactRetry bool
	// nodeNames puts the names of nodes in the place of their ids; nil: they stay.
	nodeNames func(string) string

	// traced is the request's context with its span; nil if it has no trace.
	traced context.Context

	status int // 0 while no header was written
	bytes  int64
	broken bool // the answer is not whole
}

type exchangeKey struct{}

// exchangeContext is the context of a request: it holds the exchange, and in it the caller
// for whom everything below works.
type exchangeContext struct {
	context.Context
	x *exchange
}

// Value implements context.Context.
func (c exchangeContext) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return c.x
	case access.CallerKey:
		return &c.x.caller
	}
	return c.Context.Value(key)
}

// exchangeOf returns the request's exchange, or a blank one if the request did not come
// through a Server.
func exchangeOf(r *http.Request) *exchange {
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{log: slog.New(slog.DiscardHandler), start: time.Now(), caller: access.Caller{Sender: access.Everybody()}}
}

// begin wraps a request that has just come in.
func begin(w http.ResponseWriter, r *http.Request, log *slog.Logger, counts *routeMetrics) (*exchange, *http.Request) {
	x := &exchange{ResponseWriter: w, log: log, start: time.Now(), counts: counts}
	return x, r.WithContext(exchangeContext{r.Context(), x})
}

// SenderOf tells who sent the request.
func SenderOf(r *http.Request) access.Sender { return exchangeOf(r).caller.Sender }

// StartOf tells when the request came in.
func StartOf(r *http.Request) time.Time { return exchangeOf(r).start }

// routeName is the pattern of the request's path.
func (x *exchange) routeName() string {
	if x.counts == nil {
		return "none"
	}
	return x.counts.route
}

// millis is the time that the request has taken so far.
func (x *exchange) millis() int64 { return time.Since(x.start).Milliseconds() }

// named is a text with nodes called by their names.
func (x *exchange) named(text string) string {
	if x.nodeNames == nil {
		return text
	}
	return x.nodeNames(text)
}

// NamedNodes is a text that answers a request, with nodes called by their names.
func NamedNodes(r *http.Request, text string) string { return exchangeOf(r).named(text) }

// timedOut tells whether the request's time is up.
func (x *exchange) timedOut() bool {
	return !x.deadline.IsZero() && !time.Now().Before(x.deadline)
}

// WriteHeader notes the status.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes the size.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(p)
	x.bytes += int64(n)
	return n, err
}

// Flush sends what was written so far.
func (x *exchange) Flush() { _ = http.NewResponseController(x.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }
