package distribute

import (
	"errors"
	"io"

	"cordwood/proto/errs"
	"cordwood/proto/words"
)

// Reader reads the Arrow IPC stream that a node returns.
type Reader interface {
	io.ReadCloser
	// Missing returns what is missing of the rows, after they have been read.
	Missing() []words.Missing
}

// Tries is the number of times that rows are requested from a node if its stream breaks.
const Tries = 3

// Away reports whether rows are missing because a shard cannot be reached, as opposed to an error
// in its answer.
func Away(err error) bool {
	e := errs.From(err)
	switch e.Code {
	case errs.ShardUnreachable, errs.ShardNotFound, errs.ShardNotReady:
		return true
	}
	return e.Reason == errs.NotLeader
}

// brokenError is the error of a stream of rows that had begun.
type brokenError struct{ error }

func (b *brokenError) Unwrap() error { return b.error }

// Broke marks the error of a stream of rows that had begun.
func Broke(err error) error { return &brokenError{err} }

// Again reports whether the rows should be requested again after an error: their node was lost
// while it sent them, and another node may have them. If no node has begun to answer, all have been
// asked already.
func Again(err error) bool {
	b := (*brokenError)(nil)
	return errors.As(err, &b) && Away(err)
}

// Remembering keeps the first error of a reader, because the decoder that reads from it returns a
// less exact error.
type Remembering struct {
	R   io.Reader
	Err error
	// Bytes is the number of bytes that were read.
	Bytes int64
}

func (r *Remembering) Read(p []byte) (int, error) {
	n, err := r.R.Read(p)
	r.Bytes += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		r.Err = err
	}
	return n, err
}
