package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

func TestTimeouts(t *testing.T) {
	wait := func(ctx context.Context, _ int, _ *pipeline.Output) (write.Result, error) {
		<-ctx.Done()
		return write.Result{}, errs.Wrap(errs.DeadlineExceeded, ctx.Err(), "shard 1: write")
	}
	f := newFixture(t, func(c *Config) { c.Timeout = 5 * time.Millisecond })
	f.writer.answer = wait
	w := f.ingest("", `{"a":1}`)
	if w.Code != 408 || w.Body.Len() != 0 || w.Header().Get("x-svc-err-code") != "1008" {
		t.Fatal(w.Code, w.Body, w.Header())
	}
	f = newFixture(t)
	f.writer.answer = wait
	if w = f.ingest("", `{"a":1}`, "x-svc-timeout", "5ms"); w.Code != 408 {
		t.Fatal(w.Code, w.Body)
	}
	f.writer.answer = nil
	for _, text := range []string{"30s", "0s", "1m30s", "2 minutes"} {
		if w = f.ingest("", `{"a":1}`, "x-svc-timeout", text); w.Code != 200 {
			t.Fatal(text, w.Code, w.Body)
		}
	}
	for _, text := range []string{"soon", "-1s", "30"} {
		checkError(t, f.ingest("", `{"a":1}`, "x-svc-timeout", text), 400, 1004)
	}
}

func TestTimeoutWhileTheClientSends(t *testing.T) {
	f := newFixture(t)
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	pr, pw := io.Pipe()
	defer func() { _ = pw.Close() }()
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+ingestURL, pr)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("x-svc-timeout", "20ms")
	go func() { _, _ = pw.Write([]byte(`{"a":`)) }()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != 408 {
		t.Fatal(resp.Status)
	}
}

// A client that sent part of a body and then nothing gets its answer too, though the
// server would like to read the rest first.
func TestTimeoutWhileTheClientStalls(t *testing.T) {
	f := newFixture(t)
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: application/json\r\nContent-Length: 100\r\nx-svc-timeout: 20ms\r\n\r\n{\"a\""); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d, want 408", answer.StatusCode)
	}
}
