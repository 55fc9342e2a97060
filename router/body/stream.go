package body

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"cordwood/proto/errs"
)

// Stream is a body that is read piece by piece because it is too long for memory. The code that reads it must
// reserve memory for what it keeps, by Hold. Only one goroutine may use a Stream.
type Stream struct {
	reader  *Reader
	body    io.ReadCloser
	control *http.ResponseController
	limits  bool // whether the connection has deadlines
	src     *source
	dec     *decoder // nil if the body is not compressed
	fresh   int      // bytes since the deadline moved

	mu      sync.Mutex // guards the fields below
	until   time.Time  // the deadline
	stopped bool
}

// Stream returns the decompressed body of a request. It is read at the pace of Receive, and its length is not
// limited. The caller must close it. Stream returns an error if the encoding is not known.
func (r *Reader) Stream(w http.ResponseWriter, req *http.Request, start time.Time) (*Stream, error) {
	encodings, err := parseEncodings(req.Header.Values("Content-Encoding"))
	if err != nil {
		r.refused.WithLabelValues("encoding").Inc()
		return nil, err
	}
	s := &Stream{reader: r, body: req.Body, control: http.NewResponseController(w), until: start.Add(r.cfg.Patience)}
	if s.body == nil {
		s.body = http.NoBody
	}
	s.limits = s.control.SetReadDeadline(s.until) == nil
	s.src = &source{r: (*pacedStream)(s), left: -1, res: &r.newBody(req.Context()).res}
	if len(encodings) > 0 {
		s.dec = &decoder{r: &opening{src: s.src, encodings: encodings, stream: s}}
	}
	return s, nil
}

// pacedStream is the compressed body, with a deadline that moves as bytes arrive.
type pacedStream Stream

// Read implements io.Reader.
func (p *pacedStream) Read(b []byte) (int, error) {
	n, err := p.body.Read(b)
	for p.fresh += n; p.fresh >= paceBytes; p.fresh -= paceBytes {
		(*Stream)(p).Waited(paceTime)
	}
	return n, err
}

// opening creates the decompressor at the first read, because creating it may require data from the client.
type opening struct {
	src       *source
	encodings []encoding
	stream    *Stream
}

// Read implements io.Reader.
func (o *opening) Read(p []byte) (int, error) {
	dec, err := open(o.src, o.encodings)
	if err != nil {
		return 0, err
	}
	o.stream.dec = dec
	return dec.Read(p)
}

// Read implements io.Reader. It returns the same errors as Receive, and io.EOF.
func (s *Stream) Read(p []byte) (n int, err error) {
	if s.dec == nil {
		n, err = s.src.Read(p)
	} else if n, err = s.dec.Read(p); errors.Is(err, io.EOF) {
		if end := s.dec.finish(); end != nil {
			err = end
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.explain(err)
	}
	return n, err
}

// explain converts a read error into an error for the client.
func (s *Stream) explain(err error) error {
	var transport *transportError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSlowPace()
	case errors.As(err, &transport):
		s.reader.refused.WithLabelValues("broken").Inc()
		return errs.Wrap(errs.InvalidArguments, transport.err,
			"reading the request body: the connection failed before its end")
	}
	s.reader.refused.WithLabelValues("corrupt").Inc()
	return errs.Wrap(errs.InvalidArguments, err, "decompressing the request body as its Content-Encoding says: "+
		"it is corrupt, truncated, or not compressed in this way")
}

// Waited extends the deadline by d, during which the client could not send because the server was storing what it
// had sent. Any goroutine may call it.
func (s *Stream) Waited(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until = s.until.Add(d); s.limits && !s.stopped {
		_ = s.control.SetReadDeadline(s.until) // setting a deadline has worked before
	}
}

// Stop makes the current read and later ones fail soon. Any goroutine may call it.
func (s *Stream) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped = true; s.limits {
		_ = s.control.SetReadDeadline(time.Unix(1, 0))
		return
	}
	_ = s.body.Close() // the rest of the body is not needed
}

// Close releases the decompressor. Read must not be called afterwards.
func (s *Stream) Close() {
	if s.dec != nil {
		s.dec.close()
	}
}
