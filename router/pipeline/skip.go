package pipeline

import (
	"errors"
	"strings"
)

// SkipKind is the step at which a skipped record failed.
type SkipKind uint8

// The kinds, in the order in which a record passes the steps.
const (
	SkipOther      SkipKind = iota
	SkipParse               // the text is malformed, or the record is not an object
	SkipProcessor           // a processor refused it
	SkipTransform           // a value cannot be converted to the type in the pipeline
	SkipTimeIndex           // the time index is missing or unreadable
	SkipOption              // the value of a variable is not valid for the table option
	SkipTable               // the table or a column would have an illegal name
	SkipType                // a value does not fit the column's type, or must not be null
	SkipLimit               // the table would have too many columns
	SkipPermission          // the sender may not store rows in the table
	SkipQuota               // the database may have no further table, or the table no further column
	skipKinds
)

var skipNames = [skipKinds]string{
	"other", "parse", "processor", "transform", "time_index", "option", "table", "type",
	"limit", "permission", "quota",
}

// String returns the name of the kind in metrics and in svc_private.rejects.
func (k SkipKind) String() string {
	if int(k) < len(skipNames) {
		return skipNames[k]
	}
	return skipNames[SkipOther]
}

// SkipKinds lists all kinds.
func SkipKinds() []SkipKind {
	out := make([]SkipKind, skipKinds)
	for i := range out {
		out[i] = SkipKind(i)
	}
	return out
}

// Reason is why a record was skipped.
type Reason struct {
	// Index is the record's number in the request, from 0.
	Index int
	Kind  SkipKind
	// Error is the text, without the index.
	Error string
}

// SkipCounts are the numbers of skipped records by kind.
type SkipCounts [skipKinds]int

// kindError is an error of a record with its kind.
type kindError struct {
	kind SkipKind
	err  error
}

func (e *kindError) Error() string { return e.err.Error() }
func (e *kindError) Unwrap() error { return e.err }

// WithKind sets the kind of a record's error, unless it already has one.
func WithKind(kind SkipKind, err error) error {
	if err == nil || KindOf(err) != SkipOther {
		return err
	}
	return &kindError{kind, err}
}

// KindOf returns the kind of err, or SkipOther.
func KindOf(err error) SkipKind {
	if err == nil {
		return SkipOther // errors.As would allocate
	}
	if e := (*kindError)(nil); errors.As(err, &e) {
		return e.kind
	}
	return SkipOther
}

const (
	// maxReasons limits the number of reasons in an Output.
	maxReasons = 10
	// maxReasonBytes limits the length of each reason.
	maxReasonBytes = 1024
)

// skips counts the skipped records of a request.
type skips struct {
	total   int
	kinds   SkipCounts
	reasons []Reason
}

// add counts a record that is skipped because of err, and calls onSkip if it is not nil.
func (s *skips) add(index int, err error, onSkip func(Reason)) {
	kind := KindOf(err)
	s.total++
	s.kinds[kind]++
	keep := len(s.reasons) < maxReasons
	if !keep && onSkip == nil {
		return
	}
	r := Reason{Index: index, Kind: kind, Error: err.Error()}
	if len(r.Error) > maxReasonBytes {
		r.Error = strings.ToValidUTF8(r.Error[:maxReasonBytes], "") + "…"
	}
	if keep {
		s.reasons = append(s.reasons, r)
	}
	if onSkip != nil {
		onSkip(r)
	}
}

// fatal is an error that fails the request even if errors are skipped.
type fatal struct{ error }

func (e *fatal) Unwrap() error { return e.error }
