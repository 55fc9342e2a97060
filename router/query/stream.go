package query

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"cordwood/proto/errs"
)

// stream reads the Arrow IPC stream of a query. It keeps the error of the connection, because the IPC reader may
// replace it.
type stream struct {
	src io.ReadCloser
	err error
	*ipc.Reader
}

// Read implements io.Reader for the IPC reader.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.src.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *stream) open() error {
	r, err := ipc.NewReader(readerOnly{s})
	if err != nil {
		return s.cause(err)
	}
	s.Reader = r
	return nil
}

// Err implements format.Rows.
func (s *stream) Err() error { return s.cause(s.Reader.Err()) }

func (s *stream) cause(err error) error {
	if s.err != nil {
		return s.err
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return errs.Wrap(errs.Internal, err, "read the result of the query")
}

func (s *stream) close() {
	if s.Reader != nil {
		s.Reader.Release()
	}
	_ = s.src.Close() // ends the query; an error does not matter
}

// readerOnly hides the methods of the record reader that conflict with Read.
type readerOnly struct{ s *stream }

func (r readerOnly) Read(p []byte) (int, error) { return r.s.Read(p) }
