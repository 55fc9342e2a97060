package client

import (
	"crypto/tls"
	"errors"
	"net/http"
	"time"
)

// kind says what sending a request a second time does.
type kind int

const (
	// changing: it may be done a second time.
	changing kind = iota
	// reading: nothing, since it changes nothing.
	reading
	// keyed: nothing, since the server knows the request by its Idempotency-Key.
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

// keyHeader is the header of a request's key.
const keyHeader = "Idempotency-Key"

// keyMemory is for how long after a request was first sent it is sent again under its key
// although it may have been done: servers forget keys after 15 minutes.
const keyMemory = 14 * time.Minute

// failure is how a try of a request failed.
type failure struct {
	// status is the status of the answer, or noConnection or noAnswer.
	status int
	// stored: the answer says that rows are stored, or may be (X-Ingest-Partial,
	// X-Svc-Outcome).
	stored bool
}

// What takes the place of a status if there was no answer.
const (
	// noConnection: the request was not sent.
	noConnection = -1
	// noAnswer: the connection broke, or nothing came, after the request was sent.
	noAnswer = -2
)

// rule says which kinds of requests may be sent again after a failure.
type rule struct {
	changing, reading, keyed bool
	// unknown: what the request was to do may have been done.
	unknown bool
	// elsewhere: another server is asked at once, because this one is not there.
	elsewhere bool
}

func (r rule) allows(k kind) bool {
	return [...]bool{changing: r.changing, reading: r.reading, keyed: r.keyed}[k]
}

// rules is the one place that decides what is sent again, for all commands. After any
// other failure nothing is: the server has looked at the request and said no, or it has a
// fault that another try does not mend.
var rules = map[failure]rule{
	{status: noConnection}: {changing: true, reading: true, keyed: true, elsewhere: true},
	{status: noAnswer}:     {reading: true, keyed: true, unknown: true, elsewhere: true},

	// The time limit of the request is over: a query would need as long again.
	{status: http.StatusRequestTimeout}:                {keyed: true, unknown: true},
	{status: http.StatusRequestTimeout, stored: true}:  {keyed: true, unknown: true},
	{status: http.StatusTooManyRequests}:               {changing: true, reading: true, keyed: true},
	{status: http.StatusTooManyRequests, stored: true}: {keyed: true, unknown: true},

	// The server answers so if it cannot do it now, and a load balancer too.
	{status: http.StatusServiceUnavailable}:               {changing: true, reading: true, keyed: true},
	{status: http.StatusServiceUnavailable, stored: true}: {keyed: true, unknown: true},

	// These are of a load balancer, or of a server that waited for another one.
	{status: http.StatusBadGateway}:                   {reading: true, keyed: true, unknown: true, elsewhere: true},
	{status: http.StatusBadGateway, stored: true}:     {keyed: true, unknown: true, elsewhere: true},
	{status: http.StatusGatewayTimeout}:               {reading: true, keyed: true, unknown: true, elsewhere: true},
	{status: http.StatusGatewayTimeout, stored: true}: {keyed: true, unknown: true, elsewhere: true},
}

// failureOf reports how a try failed.
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
	return failureOf(err).status == http.StatusRequestTimeout || errors.Is(err, errPatience)
}

// unsentError says that no connection came about, so that nothing was sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// misdirected reports whether an error says that no such server is at the address:
// another try meets it again.
func misdirected(err error) bool {
	certificate := (*tls.CertificateVerificationError)(nil)
	return errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &certificate)
}

// MayBeDone reports whether what a request was to do may have been done, in whole or in part,
// although Do returned the error.
func MayBeDone(err error) bool {
	var u *unknownError
	return errors.As(err, &u) || err != nil && rules[failureOf(err)].unknown
}

// unknownError is an error after an earlier try whose outcome is not known.
type unknownError struct{ error }

func (e *unknownError) Unwrap() error { return e.error }
