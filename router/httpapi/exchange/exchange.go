// Package exchange is one HTTP request and its answer, as every handler sees them: its sender, how
// long it may take, what the log of changes says about it, and the shape of answers, above all the
// one shape of errors (errors.go).
//
// The server makes an Exchange from the first byte of a request (Begin); handlers get it by
// Of. One that was ended because its user lost a right answers so (follow.go).
//
// An Exchange belongs to the goroutine of its request. Only a Follower's end may come from
// another one.
package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"cordwood/router/access"
)

// Exchange is one request and its answer, from the first byte to the last. It is the
// http.ResponseWriter that handlers see, and travels in the request's context.
type Exchange struct {
	// Tag is the answer's ETag, in quotes; empty: it has none.
	Tag string
	http.ResponseWriter
	log *slog.Logger
	// Start is when the request arrived.
	Start time.Time
	// Client is the address of the sender, behind proxies that are trusted.
	Client netip.Addr
	// Route is the pattern of the request's path, and Answered counts the answer for it.
	Route    string
	Answered func(status int, took time.Duration)
	// Deadline is when the request's time is up; zero: never.
	Deadline time.Time
	// PlainTimeout answers a time-out without a body.
	PlainTimeout bool
	// Refuse answers an error in the words of another protocol; nil: in the one shape of errors.
	Refuse func(w http.ResponseWriter, r *http.Request, why *Refusal)
	// Caller is the sender of the request; until it is known, a caller who may do nothing.
	Caller access.Caller
	// Need is what the route asks of the caller.
	Need access.Need
	// Statement and Message say more about a change in its line of the log.
	Statement, Message string
	// Unchanged: nothing was done, and nothing refused; the sender was asked to confirm.
	Unchanged bool
	// Failed is the error that was answered; nil: none was.
	Failed error
	// ExactRetry: Retry-After is what the error says, not spread.
	ExactRetry bool
	// NodeNames puts the names of nodes in the place of their ids; nil: they stay.
	NodeNames func(string) string
	// Traced is the request's context with its span; nil if it has no trace.
	Traced context.Context

	// Status is the status of the answer; 0 while no header was written.
	Status int
	// Bytes counts the bytes of the answer.
	Bytes int64
	// Broken: the answer is not whole.
	Broken bool

	follower *follower // nil: nothing ends the request
}

type exchangeKey struct{}

// exchangeContext is the context of a request: it holds the exchange, and in it the caller on
// whose behalf everything below works.
type exchangeContext struct {
	context.Context
	x *Exchange
}

// Value implements context.Context.
func (c exchangeContext) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return c.x
	case access.CallerKey:
		return &c.x.Caller
	}
	return c.Context.Value(key)
}

// Of returns the request's exchange, or a blank one if the request did not pass through
// a server.
func Of(r *http.Request) *Exchange {
	if x, ok := r.Context().Value(exchangeKey{}).(*Exchange); ok {
		return x
	}
	return &Exchange{
		log:    slog.New(slog.DiscardHandler),
		Start:  time.Now(),
		Caller: access.Caller{Sender: access.Everybody()},
	}
}

// Begin wraps a request that has just arrived.
func Begin(w http.ResponseWriter, r *http.Request, log *slog.Logger) (*Exchange, *http.Request) {
	x := &Exchange{ResponseWriter: w, log: log, Start: time.Now()}
	return x, r.WithContext(exchangeContext{r.Context(), x})
}

// StartOf returns when the request arrived.
func StartOf(r *http.Request) time.Time { return Of(r).Start }

// Context returns the context of r, with its trace.
func (x *Exchange) Context(r *http.Request) context.Context {
	if x.Traced != nil {
		return x.Traced
	}
	return r.Context()
}

// Millis returns the time that the request has taken so far.
func (x *Exchange) Millis() int64 { return time.Since(x.Start).Milliseconds() }

// named returns text with nodes called by their names.
func (x *Exchange) named(text string) string {
	if x.NodeNames == nil {
		return text
	}
	return x.NodeNames(text)
}

// NamedNodes returns a text that answers a request, with nodes called by their names.
func NamedNodes(r *http.Request, text string) string { return Of(r).named(text) }

// User returns the name of the user who sent the request. It is empty if the server has no users.
func (x *Exchange) User() string {
	if x.Caller.Proof == "none" {
		return ""
	}
	return x.Caller.User
}

// TimedOut reports whether the request's time is up.
func (x *Exchange) TimedOut() bool {
	return !x.Deadline.IsZero() && !time.Now().Before(x.Deadline)
}

// WriteHeader implements http.ResponseWriter and notes the status.
func (x *Exchange) WriteHeader(status int) {
	if x.Status == 0 && status >= 200 {
		x.Status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter and notes the size.
func (x *Exchange) Write(p []byte) (int, error) {
	if x.Status == 0 {
		x.Status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(p)
	x.Bytes += int64(n)
	return n, err
}

// Flush sends what was written so far.
func (x *Exchange) Flush() { _ = http.NewResponseController(x.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

var _ slog.LogValuer = (*Exchange)(nil)

// LogValue returns the exchange as it stands in the request log.
func (x *Exchange) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("route", x.Route), slog.Int("status", x.Status),
		slog.Int64("bytes", x.Bytes), slog.Duration("took", time.Since(x.Start)),
	)
}
