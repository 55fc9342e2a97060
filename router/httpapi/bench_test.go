package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is a ResponseWriter for benchmarks. It keeps headers and discards the rest.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkSmallIngest measures a request with one row, from the first handler to a writer that does nothing.
func BenchmarkSmallIngest(b *testing.B) {
	f := newWhole(b, func(c *Config) { c.Logger, c.MaxNewTablesPerMinute = nil, 1<<40 })
	h := f.Handler()
	const text = `{"host":"web-1","status":200,"path":"/index.html","took":0.25,"message":"GET /index.html"}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, ingestURL, strings.NewReader(text))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(&discard{header: http.Header{}}, r)
	}
}
