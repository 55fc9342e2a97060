package body

import (
	"bytes"
	"io"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// TestAhead reads bodies that announce more than maxAhead in total and send nothing at first. The first bodies get
// buffers of their whole length, the buffers of the others grow as data arrives, and all bodies are complete at the
// end.
func TestAhead(t *testing.T) {
	for name, test := range map[string]struct {
		cfg   Config
		limit int64
	}{
		"without a budget": {Config{}, maxAhead},
		"with a budget":    {Config{MaxInFlight: 160 * mib}, 20 * mib},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newReader(t, test.cfg)
			text := lines(3 * mib)
			type result struct {
				data []byte
				err  error
			}
			results := make(chan result, 30)
			var ends []*io.PipeWriter
			for range cap(results) {
				in, out := io.Pipe()
				ends = append(ends, out)
				req := httptest.NewRequest("POST", "/v1/ingest", nil)
				req.Body, req.ContentLength = in, int64(len(text))
				go func() {
					data, release, err := r.Read(req)
					if err == nil {
						data = bytes.Clone(data)
						release()
					}
					results <- result{data, err}
				}()
				synctest.Wait()
				if n := r.ahead.bytes.Load(); n > test.limit {
					t.Fatalf("%s: %d bytes are allocated ahead, and at most %d may be", name, n, test.limit)
				}
			}
			want := test.limit / int64(len(text)) * int64(len(text))
			if n := r.ahead.bytes.Load(); n != want {
				t.Errorf("%s: %d bytes are allocated ahead, want %d", name, n, want)
			}
			for _, out := range ends {
				go func() {
					_, _ = out.Write(text) // the reader may have failed, which is reported below
					_ = out.Close()
				}()
			}
			for range cap(results) {
				if got := <-results; got.err != nil || !bytes.Equal(got.data, text) {
					t.Errorf("%s: got %d bytes and %v", name, len(got.data), got.err)
				}
			}
			if n := r.ahead.bytes.Load(); n != 0 {
				t.Errorf("%s: %d bytes are still allocated ahead", name, n)
			}
		})
	}
}
