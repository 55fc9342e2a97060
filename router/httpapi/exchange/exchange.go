// Package exchange represents one HTTP request and its answer for handlers: its sender, its deadline, its details for
// the log of changes, and the common form of answers and errors (errors.go).
//
// The server creates an Exchange when a request arrives (Begin), and handlers get it by Of. If a request ends because
// its user lost a right, the answer reports it (follow.go).
//
// An Exchange belongs to the goroutine of its request. Only a follower may be ended by another goroutine.
package exchange

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"cordwood/proto/turns"
	"cordwood/router/access"
)

// Exchange is one request and its answer. It is the http.ResponseWriter that handlers get, and is stored in the
// request's context.
type Exchange struct {
	// Tag is the ETag of the answer, in quotes; empty if there is none.
	Tag string
	http.ResponseWriter
	log *slog.Logger
	// Start is when the request arrived.
	Start time.Time
	// Client is the address of the client. Trusted proxies are skipped.
	Client netip.Addr
	// Route is the pattern of the request's path, and Answered counts the answer for it.
	Route    string
	Answered func(status int, took time.Duration)
	// Deadline is the time limit of the request; zero if there is none.
	Deadline time.Time
	// Plain is set if no other layer compresses the answer, or removes the header by which handlers prevent that.
	Plain bool
	// PlainTimeout is set if a timeout is answered without a body.
	PlainTimeout bool
	// Refuse answers errors in the format of another protocol; nil means our own format.
	Refuse func(w http.ResponseWriter, r *http.Request, why *Refusal)
	// Caller is the sender of the request. Until the sender is known, it is a caller who may do nothing.
	Caller access.Caller
	// Database is the database whose share of the server's memory and places the request uses; "" if there is none.
	// The request's context has it too, for turns.DatabaseOf.
	Database string
	// Need is the privilege that the route requires.
	Need access.Need
	// Statement and Message are additional details for the log of changes.
	Statement, Message string
	// Unchanged is set if nothing was done or refused, because the sender was asked to confirm.
	Unchanged bool
	// Failed is the error in the answer; nil if there is none.
	Failed error
	// ExactRetry is set if Retry-After is exactly the error's value, without random variation.
	ExactRetry bool
	// NodeNames replaces the ids of nodes by their names; nil means that they are not replaced.
	NodeNames func(string) string
	// Traced is the request's context with its span; nil if it has no trace.
	Traced context.Context

	// Status is the status of the answer; 0 until the header is written.
	Status int
	// Bytes counts the bytes of the answer.
	Bytes int64
	// Broken is set if the answer is incomplete.
	Broken bool

	follower *follower // nil if nothing ends the request
	context  exchangeContext
}

type exchangeKey struct{}

// exchangeContext is the context of a request. It contains the exchange, and thereby the caller for whom the work
// is done.
type exchangeContext struct {
	context.Context
	x *Exchange
}

// Value implements context.Context.
func (c *exchangeContext) Value(key any) any {
	switch key.(type) {
	case exchangeKey:
		return c.x
	case access.CallerKey:
		return &c.x.Caller
	case turns.DatabaseKey:
		if c.x.Database != "" {
			return c.x.Database
		}
	}
	return c.Context.Value(key)
}

// Of returns the request's exchange, or an empty one if the request did not pass through a server.
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
	x.context = exchangeContext{r.Context(), x}
	return x, r.WithContext(&x.context)
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

// named returns text in which ids of nodes are replaced by their names.
func (x *Exchange) named(text string) string {
	if x.NodeNames == nil {
		return text
	}
	return x.NodeNames(text)
}

// NamedNodes returns a text for the answer to r, in which ids of nodes are replaced by their names.
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

// WriteHeader implements http.ResponseWriter and records the status.
func (x *Exchange) WriteHeader(status int) {
	x.unmark()
	if x.Status == 0 && status >= 200 {
		x.Status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter and counts the bytes.
func (x *Exchange) Write(p []byte) (int, error) {
	if x.Status == 0 {
		x.unmark()
		x.Status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(p)
	x.Bytes += int64(n)
	return n, err
}

// Flush sends everything written so far.
func (x *Exchange) Flush() {
	x.unmark()
	_ = http.NewResponseController(x.ResponseWriter).Flush()
}

// unmark removes the header by which handlers prevent compression, if no other layer does.
func (x *Exchange) unmark() {
	if x.Plain && x.Status == 0 {
		delete(x.Header(), gzhttp.HeaderNoCompression)
	}
}

// Unwrap returns the wrapped writer, for http.ResponseController.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

var _ slog.LogValuer = (*Exchange)(nil)

// LogValue returns the exchange as it appears in the request log.
func (x *Exchange) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("route", x.Route), slog.Int("status", x.Status),
		slog.Int64("bytes", x.Bytes), slog.Duration("took", time.Since(x.Start)),
	)
}
