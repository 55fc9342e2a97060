// Package errs defines the kinds of errors of the project. Clients receive a numeric code and an HTTP status.
// Between roles, errors are sent as a gRPC status. An error of this package may cross any number of processes and
// arrives unchanged.
package errs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Code is the numeric code that clients see. The numbers are part of the API.
type Code uint32

// The codes. codeTable has the HTTP status of each.
const (
	Success                   Code = 0
	Unknown                   Code = 1000
	Unsupported               Code = 1001
	Unexpected                Code = 1002
	Internal                  Code = 1003
	InvalidArguments          Code = 1004
	Cancelled                 Code = 1005
	IllegalState              Code = 1006
	External                  Code = 1007
	DeadlineExceeded          Code = 1008
	Suspended                 Code = 1009
	InvalidSyntax             Code = 2000
	PlanQuery                 Code = 3000
	EngineExecuteQuery        Code = 3001
	QueryTimeout              Code = 3005
	TableAlreadyExists        Code = 4000
	TableNotFound             Code = 4001
	ColumnNotFound            Code = 4002
	ColumnExists              Code = 4003
	DatabaseNotFound          Code = 4004
	ShardNotFound             Code = 4005
	ShardAlreadyExists        Code = 4006
	ShardReadonly             Code = 4007
	ShardNotReady             Code = 4008
	ShardBusy                 Code = 4009
	TableUnavailable          Code = 4010
	DatabaseAlreadyExists     Code = 4011
	ObjectStorageUnavailable  Code = 4012
	StorageUnavailable        Code = 5000
	RequestOutdated           Code = 5001
	ShardUnreachable          Code = 5003
	RuntimeResourcesExhausted Code = 6000
	RateLimited               Code = 6001
	UserNotFound              Code = 7000
	UnsupportedPasswordType   Code = 7001
	UserPasswordMismatch      Code = 7002
	AuthHeaderNotFound        Code = 7003
	InvalidAuthHeader         Code = 7004
	AccessDenied              Code = 7005
	PermissionDenied          Code = 7006
)

// Reason classifies an error between a shard and its writers: it decides whether and how the write
// may be tried again. It is empty for all other errors.
type Reason string

const (
	// NotLeader means that nothing was appended, because another replica leads.
	NotLeader Reason = "NOT_LEADER"
	// Busy means that nothing was appended. Try again after Error.RetryAfter.
	Busy Reason = "BUSY"
	// WrongEpoch means that nothing was appended, because other shards accept the writes of the table.
	WrongEpoch Reason = "WRONG_EPOCH"
	// SchemaStale means that nothing was appended, because the schema of the batch is older than the shard accepts.
	SchemaStale Reason = "SCHEMA_STALE"
	// OutcomeUnknown means that rows may have been appended. Try again only with the same batch ids.
	OutcomeUnknown Reason = "OUTCOME_UNKNOWN"
	// BadBatch means that nothing was appended, and that a retry fails too.
	BadBatch Reason = "BAD_BATCH"
	// TableGone means that the table was dropped.
	TableGone Reason = "TABLE_GONE"
	// ShardAway means that a read needs a shard that could not be reached. The read fails on every node.
	ShardAway Reason = "SHARD_AWAY"
)

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{NotLeader, Busy, WrongEpoch, SchemaStale, OutcomeUnknown, BadBatch, TableGone, ShardAway}
}

// Error is an error that may be shown to a client.
type Error struct {
	Code Code
	// Msg contains the attempted action, its subject, and what to do.
	Msg string
	// HTTPStatus replaces the code's own status if it is not 0.
	HTTPStatus int
	// RetryAfter, if not 0, is the time after which a retry may succeed.
	RetryAfter time.Duration
	Reason     Reason
	// Leader is the id of the node that leads, if it is known and the reason is NotLeader.
	Leader string
	// Quota is the quota that does not allow more; nil if the reason is another.
	Quota *Quota
	// Err is the cause, for the log; clients do not see it.
	Err error
}

// Quota is a quota of a database that does not allow more.
type Quota struct {
	Database string
	// Name is the option that sets it.
	Name string
	// Limit and Value are the limit and the present value of the whole cluster.
	Limit, Value uint64
	// Unit is what Limit and Value count, for example "tables" or "bytes/s".
	Unit string
}

// OverQuota returns an error of code RateLimited.
func OverQuota(q Quota, after time.Duration, format string, args ...any) *Error {
	e := New(RateLimited, format, args...).WithRetryAfter(after)
	e.Quota = &q
	return e
}

// New returns an error of the given code.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Msg: fmt.Sprintf(format, args...)}
}

// Wrap returns an error of the given code whose text ends with the text of err. If err already has
// a code, its code is kept.
func Wrap(code Code, err error, format string, args ...any) *Error {
	w := &Error{Code: code, Msg: fmt.Sprintf(format, args...) + ": " + err.Error(), Err: err}
	if e := (*Error)(nil); errors.As(err, &e) {
		w.Code, w.HTTPStatus, w.RetryAfter, w.Reason, w.Leader = e.Code, e.HTTPStatus, e.RetryAfter, e.Reason, e.Leader
		w.Quota = e.Quota
	}
	return w
}

// WithStatus returns a copy of e with the given HTTP status.
func (e *Error) WithStatus(status int) *Error {
	c := *e
	c.HTTPStatus = status
	return &c
}

// WithReason returns a copy of e with the given reason.
func (e *Error) WithReason(r Reason) *Error {
	c := *e
	c.Reason = r
	return &c
}

// WithLeader returns a copy of e with reason NotLeader and the id of the leader.
func (e *Error) WithLeader(node string) *Error {
	c := *e
	c.Reason, c.Leader = NotLeader, node
	return &c
}

// WithRetryAfter returns a copy of e that asks for a retry after d.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

func (e *Error) Error() string { return e.Msg }

func (e *Error) Unwrap() error { return e.Err }

// From returns the Error in err's chain, or one of code Unknown around err.
func From(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	return &Error{Code: Unknown, Msg: err.Error(), Err: err}
}

// ContextCode returns the code for an ended context with the error err: DeadlineExceeded if its
// deadline passed, and otherwise Cancelled.
func ContextCode(err error) Code {
	if errors.Is(err, context.DeadlineExceeded) {
		return DeadlineExceeded
	}
	return Cancelled
}

// ReasonOf returns the reason that err carries, or "".
func ReasonOf(err error) Reason {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// CodeOf returns the code that err carries: Success for nil, Unknown for an error of another
// package.
func CodeOf(err error) Code {
	if err == nil {
		return Success
	}
	return From(err).Code
}

// Masked reports whether clients see only "Internal error: <code>" for this code.
func (c Code) Masked() bool { return c == Unknown || c == Internal || c == Unexpected }

// ClientMessage returns the text that a client may see.
func (e *Error) ClientMessage() string {
	if e.Code.Masked() {
		return "Internal error: " + strconv.Itoa(int(e.Code))
	}
	return e.Msg
}

// Status returns the HTTP status of answers with e.
func (e *Error) Status() int {
	if e.HTTPStatus != 0 {
		return e.HTTPStatus
	}
	return e.Code.Status()
}

// Status returns the HTTP status of answers with the code.
func (c Code) Status() int {
	switch c {
	case Success:
		return http.StatusOK
	case Unsupported, InvalidArguments, InvalidSyntax, PlanQuery, RequestOutdated,
		TableAlreadyExists, TableNotFound, ColumnNotFound, ColumnExists, DatabaseNotFound,
		ShardNotFound, ShardAlreadyExists, DatabaseAlreadyExists:
		return http.StatusBadRequest
	case UserNotFound, UnsupportedPasswordType, UserPasswordMismatch, AuthHeaderNotFound, InvalidAuthHeader:
		return http.StatusUnauthorized
	case AccessDenied, PermissionDenied:
		return http.StatusForbidden
	case QueryTimeout:
		return http.StatusRequestTimeout
	case RateLimited:
		return http.StatusTooManyRequests
	case External, Suspended, ShardReadonly, ShardNotReady, ShardBusy, TableUnavailable, ObjectStorageUnavailable,
		StorageUnavailable,
		ShardUnreachable,
		RuntimeResourcesExhausted:
		return http.StatusServiceUnavailable
	case Cancelled, DeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}
