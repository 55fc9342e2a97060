package client

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"
)

// kind is the effect of sending a request twice.
type kind int

const (
	// changing requests may be executed twice.
	changing kind = iota
	// reading requests change nothing, so there is no effect.
	reading
	// keyed requests are recognised by their Idempotency-Key, so there is no effect.
	keyed
)

func (r *Request) kind() kind {
	switch {
	case r.Header.Get(keyHeader) != "":
		return keyed
	case r.Reads || r.Method == http.MethodGet || r.Method == http.MethodHead:
		return reading
	}
	return changing
}

// keyHeader is the header with a request's key.
const keyHeader = "Idempotency-Key"

// keyMemory is the time after the first try for which a request is retried under its key although
// it may have been executed: servers forget keys after 15 minutes.
const keyMemory = 14 * time.Minute

// failure is the kind of failure of a try.
type failure struct {
	// status is the status of the answer, or noConnection or noAnswer.
	status int
	// stored is set if the answer states that rows are or may be stored (X-Ingest-Partial, X-Svc-Outcome).
	stored bool
}

// Statuses for a missing answer.
const (
	// noConnection means that the request was not sent.
	noConnection = -1
	// noAnswer means that the connection failed, or nothing was received, after the request was sent.
	noAnswer = -2
)

// rule lists the kinds of requests that may be retried after a failure.
type rule struct {
	changing, reading, keyed bool
	// unknown is set if the request may have been executed.
	unknown bool
	// elsewhere is set if another server is tried at once, because this one does not answer.
	elsewhere bool
}

func (r rule) allows(k kind) bool {
	return [...]bool{changing: r.changing, reading: r.reading, keyed: r.keyed}[k]
}

// rules decides about the retries of all commands. No request is retried after any other failure: the server refused
// it, or has a fault that a retry does not avoid.
var rules = map[failure]rule{
	{status: noConnection}: {changing: true, reading: true, keyed: true, elsewhere: true},
	{status: noAnswer}:     {reading: true, keyed: true, unknown: true, elsewhere: true},

	// The time limit of the request has passed. A repeated query would take as long.
	{status: http.StatusRequestTimeout}:                {keyed: true, unknown: true},
	{status: http.StatusRequestTimeout, stored: true}:  {keyed: true, unknown: true},
	{status: http.StatusTooManyRequests}:               {changing: true, reading: true, keyed: true},
	{status: http.StatusTooManyRequests, stored: true}: {keyed: true, unknown: true},

	// A server, or a load balancer, cannot serve the request now.
	{status: http.StatusServiceUnavailable}:               {changing: true, reading: true, keyed: true},
	{status: http.StatusServiceUnavailable, stored: true}: {keyed: true, unknown: true},

	// Answers of a load balancer, or of a server that waited for another one.
	{status: http.StatusBadGateway}:                   {reading: true, keyed: true, unknown: true, elsewhere: true},
	{status: http.StatusBadGateway, stored: true}:     {keyed: true, unknown: true, elsewhere: true},
	{status: http.StatusGatewayTimeout}:               {reading: true, keyed: true, unknown: true, elsewhere: true},
	{status: http.StatusGatewayTimeout, stored: true}: {keyed: true, unknown: true, elsewhere: true},
}

// failureOf returns the kind of failure of a try.
func failureOf(err error) failure {
	if e := (*Error)(nil); errors.As(err, &e) {
		return failure{status: e.Status, stored: e.Partial != "" || e.Unknown}
	}
	if u := (*unsentError)(nil); errors.As(err, &u) {
		return failure{status: noConnection}
	}
	return failure{status: noAnswer}
}

// timeUp reports whether a try failed because the time of the request was over.
func timeUp(err error) bool {
	return failureOf(err).status == http.StatusRequestTimeout || errors.Is(err, errNoAnswer)
}

// unsentError means that no connection could be made, so that nothing was sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// misdirected reports whether an error means that there is no such server at the address, so that a
// retry would fail again.
func misdirected(err error) bool {
	certificate := (*tls.CertificateVerificationError)(nil)
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &certificate)
}

// MayBeDone reports whether a request may have been executed, in whole or in part, although Do
// returned the error.
func MayBeDone(err error) bool {
	var u *unknownError
	return errors.As(err, &u) || err != nil && rules[failureOf(err)].unknown
}

// unknownError is an error after an earlier try with an unknown outcome.
type unknownError struct{ error }

func (e *unknownError) Unwrap() error { return e.error }
