package replayapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
)

// inner sends requests from this server to itself on behalf of a client. They are checked, counted, logged and
// limited as if the client had sent them.
type inner struct {
	handler http.Handler
	outer   *http.Request
}

// errInnerClosed ends an inner request whose answer is no longer read.
var errInnerClosed = errors.New("the answer is no longer read")

// innerHeaders are the headers that identify a client and decide its rights and limits.
var innerHeaders = []string{
	"Authorization", "X-Svc-Auth", "Cookie", "Origin", "Sec-Fetch-Site", "User-Agent", "X-Svc-Page", "X-Forwarded-For",
	"X-Forwarded-Proto", "Forwarded", "X-Request-Id",
}

// send sends a request. The caller must close the body of the answer. If the context ends, send aborts the request
// and waits for its end.
func (i inner) send(
	ctx context.Context, path string, query url.Values, header http.Header, body []byte,
) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	r.URL.RawQuery = query.Encode()
	r.RequestURI = r.URL.RequestURI()
	for name, values := range header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	for _, name := range innerHeaders {
		if values := i.outer.Header.Values(name); len(values) > 0 {
			r.Header[name] = values
		}
	}
	r.Host, r.RemoteAddr, r.TLS = i.outer.Host, i.outer.RemoteAddr, i.outer.TLS
	from, to := io.Pipe()
	w := &innerWriter{header: http.Header{}, body: to, started: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		defer func() {
			// A handler may abort the answer by a panic, as with net/http.
			if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is what panic was called with
				w.fail(errors.New("the request was aborted"))
				return
			}
			w.WriteHeader(http.StatusOK)
			_ = to.Close()
		}()
		i.handler.ServeHTTP(w, r)
	}()
	select {
	case <-w.started:
	case <-ctx.Done():
		cancel(nil)
		_ = from.CloseWithError(errInnerClosed)
		<-w.ended
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		StatusCode: w.status, Header: w.sent, Body: &innerBody{from, cancel, w.ended}, Request: r,
	}, nil
}

// innerBody is the body of the answer to an inner request.
type innerBody struct {
	*io.PipeReader
	cancel context.CancelCauseFunc
	ended  <-chan struct{}
}

// Close ends the request, and waits until its handler has returned.
func (b *innerBody) Close() error {
	b.cancel(errInnerClosed)
	err := b.PipeReader.CloseWithError(errInnerClosed)
	<-b.ended
	return err
}

// innerWriter receives the answer to an inner request.
type innerWriter struct {
	header  http.Header
	body    *io.PipeWriter
	started chan struct{} // closed when status and sent are set
	ended   chan struct{} // closed when the handler has returned

	once   sync.Once
	status int
	sent   http.Header
}

// Header implements http.ResponseWriter.
func (w *innerWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *innerWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	})
}

// Write implements http.ResponseWriter.
func (w *innerWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush implements http.Flusher. It does nothing, because writes are not buffered.
func (w *innerWriter) Flush() { w.WriteHeader(http.StatusOK) }

// fail aborts the answer.
func (w *innerWriter) fail(err error) {
	w.WriteHeader(http.StatusInternalServerError)
	_ = w.body.CloseWithError(err)
}
