package distribute

import (
	"errors"
	"io"

	"cordwood/proto/errs"
)

// Reader reads the Arrow IPC stream that a node returns.
type Reader interface {
	io.ReadCloser
	// Partial says what is missing of the rows, once they have been read.
	Partial() []string
}

// Tries is how often rows are requested from a node if its stream breaks.
const Tries = 3

// Away reports whether rows are missing because a shard cannot be reached, and not because of its answer.
func Away(err error) bool {
	e := errs.From(err)
	switch e.Code {
	case errs.ShardUnreachable, errs.ShardNotFound, errs.ShardNotReady:
		return true
	}
	return e.Reason == errs.NotLeader
}

// Remembering keeps the error of a reader, because the decoder that reads from it returns a less exact one.
type Remembering struct {
	R   io.Reader
	Err error
}

func (r *Remembering) Read(p []byte) (int, error) {
	n, err := r.R.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.Err = err
	}
	return n, err
}
