package cluster

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// TestCompressedBodies sends bodies in every encoding: complete, truncated and too large.
func TestCompressedBodies(t *testing.T) {
	t.Parallel()
	n := New(t, "--http-body-limit", "1MiB")
	n.Start()
	zstdWriter := func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	for i, e := range []struct {
		name   string
		writer func(w io.Writer) io.WriteCloser
	}{
		{"br", func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) }},
		{"gzip", func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }},
		{"deflate", func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }},
		{"zstd", zstdWriter},
	} {
		packed := func(body []byte) []byte {
			var out bytes.Buffer
			w := e.writer(&out)
			if _, err := w.Write(body); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
		send := func(body []byte) *Answer {
			t.Helper()
			a, err := n.Do("POST", fmt.Sprintf("/v1/ingest?table=t%d&pipeline_name=svc_identity", i), bytes.NewReader(body),
				"Content-Type", "application/x-ndjson", "Content-Encoding", e.name)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		rows := bytes.Repeat([]byte(`{"m":"a line that is much like the others"}`+"\n"), 1000)
		whole := packed(rows)
		if a := send(whole); a.Status != 200 {
			t.Errorf("%s: status %d: %s", e.name, a.Status, a.Body)
		}
		if a := send(whole[:len(whole)/2]); a.Status != 400 {
			t.Errorf("%s, cut off: status %d: %s", e.name, a.Status, a.Body)
		}
		if a := send([]byte("this is not compressed at all")); a.Status != 400 {
			t.Errorf("%s, none: status %d: %s", e.name, a.Status, a.Body)
		}
		if a := send(packed(bytes.Repeat([]byte("\n"), 64<<20))); a.Status != 413 {
			t.Errorf("%s, 64 MiB in a few: status %d: %s", e.name, a.Status, a.Body)
		}
		if got := fmt.Sprint(n.Rows(t, fmt.Sprintf("SELECT count(*), count(DISTINCT m) FROM t%d", i))); got != "[[1000 1]]" {
			t.Errorf("%s: rows %s", e.name, got)
		}
	}
}
