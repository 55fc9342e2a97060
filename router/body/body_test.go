package body

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
)

// pack compresses data, like a client.
func pack(t testing.TB, encoding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch encoding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 5)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	default:
		return data
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// header returns the Content-Encoding of data from pack.
func header(encoding string) string {
	if encoding == "raw" {
		return "deflate"
	}
	return encoding
}

func request(encoding string, body []byte, chunked bool) *http.Request {
	var r io.Reader = bytes.NewReader(body)
	if chunked {
		r = struct{ io.Reader }{r}
	}
	req := httptest.NewRequest(http.MethodPost, "/v1/ingest", r)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	return req
}

func newReader(t testing.TB, cfg Config) *Reader {
	t.Helper()
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// lines returns n bytes of text that can be compressed a little.
func lines(n int) []byte {
	var b bytes.Buffer
	rng := rand.New(rand.NewPCG(1, 2))
	for b.Len() < n {
		fmt.Fprintf(&b, "{\"n\":%d,\"m\":\"something happened\"}\n", rng.IntN(1e6))
	}
	return b.Bytes()[:n]
}

func TestReadAllEncodingsAndSizes(t *testing.T) {
	readers := []*Reader{newReader(t, Config{}), newReader(t, Config{MaxBytes: 2 << 20, MaxInFlight: 2 << 20})}
	for _, size := range []int{0, 1, 2, 100, 4095 - Pad, 4096, 1 << 16, 1<<16 + 1, 1 << 20, 2 << 20} {
		want := lines(size)
		for _, encoding := range []string{"", "identity", "gzip", "x-gzip", "GZip", "deflate", "raw", "br", "zstd"} {
			packed := pack(t, strings.ToLower(encoding), want)
			if size == 0 {
				packed = nil
			}
			for _, r := range readers {
				checkRead(t, r, request(header(encoding), packed, false), want)
				checkRead(t, r, request(header(encoding), packed, true), want)
			}
		}
	}
}

func checkRead(t *testing.T, r *Reader, req *http.Request, want []byte) {
	t.Helper()
	name := fmt.Sprintf("%q, %d bytes of %d", req.Header.Get("Content-Encoding"), req.ContentLength, len(want))
	got, release, err := r.Read(req)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: got %d others", name, len(got))
	}
	if cap(got)-len(got) < Pad || !bytes.Equal(got[len(got):len(got)+Pad], make([]byte, Pad)) {
		t.Fatalf("%s: no zeroes after the data", name)
	}
	release()
	release()
	if r.InFlight() != 0 {
		t.Fatalf("%s: %d bytes in flight", name, r.InFlight())
	}
}

func TestStackedEncodings(t *testing.T) {
	r := newReader(t, Config{MaxBytes: 1 << 20, MaxInFlight: 1 << 20})
	want := lines(10_000)
	req := request("gzip, zstd", pack(t, "zstd", pack(t, "gzip", want)), false)
	got, release, err := r.Read(req)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	release()
	req = request("gzip", pack(t, "br", pack(t, "gzip", want)), false)
	req.Header.Add("Content-Encoding", "identity, br")
	got, release, err = r.Read(req)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	release()
}

func TestRefusals(t *testing.T) {
	r := newReader(t, Config{MaxBytes: 100_000})
	data := lines(90_000)
	gz := pack(t, "gzip", data)
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		status         int
		code           errs.Code
		text           string
	}{
		{"unknown", "snappy", data, 415, errs.Unsupported, `"snappy" is not supported`},
		{"too many", "gzip,gzip,gzip,gzip", gz, 415, errs.Unsupported, "more than 3"},
		{"too large", "", lines(100_001), 413, errs.InvalidArguments, "more than 100000 bytes"},
		{"too large, gzip", "gzip", pack(t, "gzip", lines(100_001)), 413, errs.InvalidArguments, "more than 100000 bytes"},
		{"bomb, gzip", "gzip", pack(t, "gzip", make([]byte, 8<<20)), 413, errs.InvalidArguments, "more than 100000 bytes"},
		{"bomb, zstd", "zstd", pack(t, "zstd", make([]byte, 8<<20)), 413, errs.InvalidArguments, "more than 100000 bytes"},
		{"bomb, br", "br", pack(t, "br", make([]byte, 8<<20)), 413, errs.InvalidArguments, "more than 100000 bytes"},
		{
			"bomb in a bomb", "gzip, gzip", pack(t, "gzip", pack(t, "gzip", make([]byte, 8<<20))), 413,
			errs.InvalidArguments, "more than 100000 bytes",
		},
		{
			"empty members", "gzip", bytes.Repeat(pack(t, "gzip", nil), 10_000), 413, errs.InvalidArguments,
			"more than 100000 bytes",
		},
		{"truncated, gzip", "gzip", gz[:len(gz)/2], 400, errs.InvalidArguments, "decompressing the request body"},
		{"truncated by a byte", "gzip", gz[:len(gz)-1], 400, errs.InvalidArguments, "decompressing the request body"},
		{"one byte, gzip", "gzip", gz[:1], 400, errs.InvalidArguments, "decompressing the request body"},
		{
			"truncated, deflate", "deflate", pack(t, "deflate", data)[:5000], 400, errs.InvalidArguments,
			"decompressing the request body",
		},
		{"truncated, br", "br", pack(t, "br", data)[:5000], 400, errs.InvalidArguments, "decompressing the request body"},
		{
			"truncated, zstd", "zstd", pack(t, "zstd", data)[:5000], 400, errs.InvalidArguments,
			"decompressing the request body",
		},
		{"one byte, zstd", "zstd", pack(t, "zstd", data)[:1], 400, errs.InvalidArguments, "decompressing the request body"},
		{"plain as gzip", "gzip", data, 400, errs.InvalidArguments, "decompressing the request body"},
		{"plain as deflate", "deflate", data, 400, errs.InvalidArguments, "decompressing the request body"},
		{"plain as br", "br", data, 400, errs.InvalidArguments, "decompressing the request body"},
		{"plain as zstd", "zstd", data, 400, errs.InvalidArguments, "decompressing the request body"},
		{
			"garbage after gzip", "gzip", append(bytes.Clone(gz), "garbage"...), 400, errs.InvalidArguments,
			"decompressing the request body",
		},
		{
			"garbage after deflate", "deflate", append(pack(t, "deflate", data), "garbage"...), 400,
			errs.InvalidArguments, "decompressing the request body",
		},
		{
			"flipped bit", "gzip",
			append(bytes.Clone(gz[:len(gz)-5]), gz[len(gz)-5]^1, gz[len(gz)-4], gz[len(gz)-3], gz[len(gz)-2], gz[len(gz)-1]),
			400, errs.InvalidArguments, "decompressing the request body",
		},
	} {
		for _, chunked := range []bool{false, true} {
			data, release, err := r.Read(request(tt.encoding, tt.body, chunked))
			if err == nil {
				t.Errorf("%s: read %d bytes", tt.name, len(data))
				release()
				continue
			}
			if e := errs.From(err); e.Status() != tt.status || e.Code != tt.code || !strings.Contains(e.Msg, tt.text) {
				t.Errorf("%s: got %d, %d, %v", tt.name, e.Status(), e.Code, e)
			}
			if r.InFlight() != 0 {
				t.Errorf("%s: %d bytes in flight", tt.name, r.InFlight())
			}
		}
	}
	// The decoders that failed are in the pools again and must still work.
	for _, encoding := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		got, release, err := r.Read(request(header(encoding), pack(t, encoding, data), false))
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%s: %v", encoding, err)
		}
		release()
	}
}

// failing returns some bytes and then an error.
type failing struct {
	data []byte
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if len(f.data) == 0 {
		return 0, f.err
	}
	n := copy(p, f.data)
	f.data = f.data[n:]
	return n, nil
}

func TestTransportErrors(t *testing.T) {
	r := newReader(t, Config{MaxInFlight: 1 << 20})
	gz := pack(t, "gzip", lines(10_000))
	for name, req := range map[string]*http.Request{
		"plain": httptest.NewRequest(http.MethodPost, "/", &failing{lines(100), io.ErrUnexpectedEOF}),
		"gzip":  httptest.NewRequest(http.MethodPost, "/", &failing{gz[:100], io.ErrUnexpectedEOF}),
		"first": httptest.NewRequest(http.MethodPost, "/", &failing{nil, errors.New("connection reset")}),
	} {
		if name != "plain" {
			req.Header.Set("Content-Encoding", "gzip")
		}
		_, _, err := r.Read(req)
		if e := errs.From(err); err == nil || e.Status() != 400 || !strings.HasPrefix(e.Msg, "reading the request body: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	req := httptest.NewRequest(http.MethodPost, "/", &failing{nil, &http.MaxBytesError{Limit: 5}})
	if _, _, err := r.Read(req); errs.From(err).Status() != 413 {
		t.Errorf("MaxBytesError: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	req = httptest.NewRequestWithContext(ctx, http.MethodPost, "/", &failing{nil, context.Canceled})
	if _, _, err := r.Read(req); errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
	req = httptest.NewRequest(http.MethodPost, "/", &failing{nil, nil})
	if _, _, err := r.Read(req); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("no progress: %v", err)
	}
	if r.InFlight() != 0 {
		t.Errorf("%d bytes in flight", r.InFlight())
	}
}

func TestBudgetFail(t *testing.T) {
	r := newReader(t, Config{MaxInFlight: 200_000, Policy: Fail})
	_, release, err := r.Read(request("", lines(150_000), false))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Read(request("", lines(100_000), false))
	if e := errs.From(err); e.Status() != 429 || e.Code != errs.RateLimited || e.RetryAfter == 0 {
		t.Fatalf("got %v", err)
	}
	_, _, err = r.Read(request("gzip", pack(t, "gzip", lines(100_000)), true))
	if errs.CodeOf(err) != errs.RateLimited {
		t.Fatalf("growing: got %v", err)
	}
	release()
	_, release, err = r.Read(request("", lines(200_000), true))
	if err != nil {
		t.Fatalf("the whole budget: %v", err)
	}
	release()
	for _, chunked := range []bool{false, true} {
		if _, _, err = r.Read(request("", lines(200_001), chunked)); errs.From(err).Status() != 413 {
			t.Fatalf("more than the whole budget: %v", err)
		}
	}
	if r.InFlight() != 0 {
		t.Errorf("%d bytes in flight", r.InFlight())
	}
}

func TestBudgetWait(t *testing.T) {
	r := newReader(t, Config{MaxInFlight: 200_000, MaxWait: time.Minute})
	_, release, err := r.Read(request("", lines(150_000), false))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, release, err := r.Read(request("", lines(150_000), false))
		if err == nil {
			release()
		}
		done <- err
	}()
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}

	short := newReader(t, Config{MaxInFlight: 200_000, MaxWait: time.Millisecond})
	_, release, err = short.Read(request("", lines(150_000), false))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := short.Read(request("", lines(150_000), false)); errs.CodeOf(err) != errs.RateLimited {
		t.Fatalf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	req := request("", lines(150_000), false).WithContext(ctx)
	<-ctx.Done()
	if _, _, err := short.Read(req); errs.CodeOf(err) != errs.DeadlineExceeded && errs.CodeOf(err) != errs.RateLimited {
		t.Fatalf("got %v", err)
	}
	release()
	if r.InFlight()+short.InFlight() != 0 {
		t.Errorf("%d, %d bytes in flight", r.InFlight(), short.InFlight())
	}
}

func TestConcurrentReads(t *testing.T) {
	r := newReader(t, Config{
		MaxBytes: 1 << 20, MaxInFlight: 4 << 20, MaxWait: time.Minute, Registerer: prometheus.NewRegistry(),
	})
	encodings := []string{"", "gzip", "deflate", "raw", "br", "zstd"}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			for range 20 {
				encoding := encodings[rng.IntN(len(encodings))]
				want := bytes.Repeat([]byte{byte('a' + g)}, rng.IntN(200_000)+1)
				got, release, err := r.Read(request(header(encoding), pack(t, encoding, want), rng.IntN(2) == 0))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s: %v", encoding, err)
					return
				}
				release()
			}
		})
	}
	wg.Wait()
	if r.InFlight() != 0 {
		t.Errorf("%d bytes in flight", r.InFlight())
	}
}

func TestRegistersOnce(t *testing.T) {
	reg := prometheus.NewRegistry()
	if _, err := New(Config{Registerer: reg}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Registerer: reg}); err == nil {
		t.Error("registered twice")
	}
}

func FuzzRead(f *testing.F) {
	for _, encoding := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		f.Add(header(encoding), pack(f, encoding, lines(300)))
	}
	f.Add("gzip, zstd", pack(f, "zstd", pack(f, "gzip", lines(300))))
	r := newReader(f, Config{MaxBytes: 1 << 20, MaxInFlight: 2 << 20, Policy: Fail})
	f.Fuzz(func(t *testing.T, encoding string, body []byte) {
		data, release, err := r.Read(request(encoding, body, true))
		if err != nil {
			if s := errs.From(err).Status(); s != 400 && s != 413 && s != 415 {
				t.Fatalf("status %d: %v", s, err)
			}
			return
		}
		if len(data) > 1<<20 {
			t.Fatalf("%d bytes", len(data))
		}
		release()
	})
}

func BenchmarkRead(b *testing.B) {
	data := lines(256 << 10)
	for _, encoding := range []string{"", "gzip", "deflate", "br", "zstd"} {
		b.Run("encoding="+encoding, func(b *testing.B) {
			r := newReader(b, Config{MaxBytes: 64 << 20, MaxInFlight: 256 << 20})
			packed := pack(b, encoding, data)
			req := request(encoding, nil, false)
			req.ContentLength = int64(len(packed))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				req.Body = io.NopCloser(bytes.NewReader(packed))
				_, release, err := r.Read(req)
				if err != nil {
					b.Fatal(err)
				}
				release()
			}
		})
	}
}
