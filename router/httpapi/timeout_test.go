package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/body"
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

// A client that sends a part of a body and then stalls gets its answer, although the server would otherwise read the
// rest first. It does so with and without a time limit, and whether or not the handler needs the body.
func TestTimeoutWhileTheClientStalls(t *testing.T) {
	for _, tt := range []struct {
		name, head, body string
		patience         time.Duration
		status           int
	}{
		{
			"a limit of its own",
			"POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nContent-Length: 100\r\nx-svc-timeout: 20ms",
			`{"a"`, time.Minute, 408,
		},
		{
			"no limit", "POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nContent-Length: 100", `{"a"`,
			20 * time.Millisecond, 408,
		},
		{
			"a dry run", "POST /v1/pipelines/_dryrun?pipeline_name=svc_identity HTTP/1.1\r\nContent-Length: 100", `{"a"`,
			20 * time.Millisecond, 408,
		},
		{
			"wrong from the start", "POST /v1/ingest?skip_error=maybe HTTP/1.1\r\nContent-Length: 100", `{"a"`,
			20 * time.Millisecond, 400,
		},
		{"no such path", "POST /v1/nope HTTP/1.1\r\nContent-Length: 100", `{"a"`, 20 * time.Millisecond, 404},
		{
			"no such encoding",
			"POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nContent-Encoding: " +
				"rot13\r\nTransfer-Encoding: chunked",
			"4\r\n{\"a\"\r\n", 20 * time.Millisecond, 415,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bodies, err := body.New(body.Config{Patience: tt.patience})
			if err != nil {
				t.Fatal(err)
			}
			f := newPipelineFixture(t, func(c *Config) { c.Bodies = bodies })
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
			if _, err := io.WriteString(conn, tt.head+"\r\nHost: localhost\r\nContent-Type: application/json\r\n\r\n"+
				tt.body); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != tt.status {
				t.Errorf("status %d, want %d", answer.StatusCode, tt.status)
			}
		})
	}
}

// Clients that fill the memory for bodies and then stall get status 429 with the time to wait; other clients succeed.
func TestStalledBodiesMakeRoom(t *testing.T) {
	bodies, err := body.New(body.Config{MaxInFlight: 1 << 20, MaxWait: time.Hour, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	f := newPipelineFixture(t, func(c *Config) { c.Bodies = bodies })
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	head := "POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
		"application/json\r\nContent-Length: 1048576\r\n\r\n"
	if _, err := io.WriteString(conn, head+strings.Repeat(" ", 1<<20-100)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); bodies.InFlight() == 0 && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+ingestURL, strings.NewReader(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("the other: %s", resp.Status)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 429 || answer.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(text), "too slowly") {
		t.Errorf("the one that stalled: %s, %v, %q, %v", answer.Status, answer.Header, text, err)
	}
}
