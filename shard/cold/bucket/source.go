package bucket

import (
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"sync"
)

// source is the body of a put. It keeps the error of a failed read, which the client reports as an error of the
// connection.
type source struct {
	r    *io.SectionReader
	read int64 // only the goroutine that reads uses it

	mu  sync.Mutex // guards err: the connection may read on after the request has ended
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.read += int64(n)
	failed := err
	if errors.Is(err, io.EOF) {
		failed = nil
		if s.read < s.r.Size() {
			failed = fmt.Errorf("it ends after %d of %d bytes", s.read, s.r.Size())
		}
	}
	if failed != nil {
		s.mu.Lock()
		s.err = failed
		s.mu.Unlock()
	}
	return n, err
}

// failure returns a *sourceError if a read failed.
func (s *source) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return nil
	}
	return &sourceError{s.err}
}

// digest returns the MD5 checksum of what r reads, for the header Content-MD5, and returns to the start of r.
func digest(r *io.SectionReader) (string, error) {
	h := md5.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	_, err := r.Seek(0, io.SeekStart)
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), err
}
