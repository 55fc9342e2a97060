// Package receivertest sends requests to receivers over HTTP as the server does: with an exchange, a user who may
// write, and the protocol's own refusals.
package receivertest

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/ingesttest"
)

// MaxBytes limits the size of a body, in bytes.
const MaxBytes = 1 << 20

// New returns the parts of a receiver with a store in memory.
func New(t testing.TB) (httpreceiver.Receiver, *ingesttest.Store) {
	t.Helper()
	return NewLarge(t, MaxBytes)
}

// NewLarge is like New, with bodies of at most maxBytes.
func NewLarge(t testing.TB, maxBytes int64) (httpreceiver.Receiver, *ingesttest.Store) {
	t.Helper()
	s, st := ingesttest.New(t)
	bodies, err := body.New(body.Config{MaxBytes: maxBytes, MaxInFlight: 8 * maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	return httpreceiver.Receiver{Ingestion: s, Bodies: bodies}, st
}

// Post returns a request with a body. headers are pairs of a name and a value.
func Post(target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// Serve calls the handler for a request whose sender may write and read. refuse answers errors in the protocol's
// format.
func Serve(h http.HandlerFunc, refuse func(http.ResponseWriter, *http.Request, *exchange.Refusal),
	r *http.Request,
) *httptest.ResponseRecorder {
	return ServeAs(ingesttest.Caller(access.ReadWrite), h, refuse, r)
}

// ServeAs is like Serve, for a request of the caller.
func ServeAs(caller *access.Caller, h http.HandlerFunc,
	refuse func(http.ResponseWriter, *http.Request, *exchange.Refusal), r *http.Request,
) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	x, r := exchange.Begin(w, r, slog.New(slog.DiscardHandler))
	x.Caller, x.Refuse = *caller, refuse
	h(x, r)
	return w
}

// Credentials describes credentials for tests of a protocol.
func Credentials(found []params.Credential) string {
	var out []string
	for _, c := range found {
		text := c.Text
		if c.InURL {
			text += " in URL"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}
