package bucket

import (
	"context"
	"errors"
)

// Kind says what an error means for the caller.
type Kind uint8

// The kinds of errors.
const (
	// Refused means that the service refuses the request, or that the request cannot be sent. Repeating it does not help.
	Refused Kind = iota
	// Unavailable means that there was no answer, or that the service failed. It is not known whether it has done what
	// was asked.
	Unavailable
	// Throttled means that the service asks for fewer requests.
	Throttled
	// Damaged means that bytes changed on the way or in the bucket: a length, a range or a checksum is wrong.
	Damaged
	// Forbidden means that the service does not accept the credentials, or that they lack a permission.
	Forbidden
	// NotFound means that the object does not exist.
	NotFound
	// NoBucket means that the bucket does not exist.
	NoBucket
	// Exists means that an object with the key exists.
	Exists
	// Local means that what was to be stored could not be read.
	Local
)

var kinds = [...]string{
	"refused", "unavailable", "throttled", "damaged", "forbidden", "not_found", "no_bucket", "exists", "local",
}

func (k Kind) String() string { return kinds[k] }

// Errors that callers distinguish, by errors.Is.
var (
	// ErrNotFound is returned for an object that does not exist.
	ErrNotFound = errors.New("it does not exist")
	// ErrExists is returned for a key that is in use.
	ErrExists = errors.New("an object with this key exists already")
	// ErrOtherService is returned by Copy if two services or machines hold the buckets.
	ErrOtherService = errors.New("the service cannot copy to the other location by itself")
)

// Error is a failed request.
type Error struct {
	Kind Kind
	// Op is what was attempted: write, read, describe, list, remove, copy.
	Op string
	// At is the location of the object, or of the bucket.
	At  string
	Err error
}

// Error returns what was attempted, the object, and the cause.
func (e *Error) Error() string { return e.Op + " " + e.At + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is find ErrNotFound and ErrExists.
func (e *Error) Is(target error) bool {
	return target == ErrNotFound && e.Kind == NotFound || target == ErrExists && e.Kind == Exists
}

// sourceError is an error of reading what is to be stored.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return "read the file to be stored: " + e.err.Error() }

func (e *sourceError) Unwrap() error { return e.err }

// KindOf returns the kind of an error. ok is false for nil, for the errors of a context and for those of callers.
func KindOf(err error) (k Kind, ok bool) {
	var e *Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return Refused, false
	}
	return e.Kind, true
}

// is reports whether err is of a kind.
func is(err error, k Kind) bool {
	got, ok := KindOf(err)
	return ok && got == k
}
