package httpapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cordwood/router/body"
)

// A truncated body is the client's fault: the status is 400, not one that proxies interpret as a fault of the server.
func TestBodyThatBreaksOff(t *testing.T) {
	bodies, err := body.New(body.Config{MaxInFlight: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := newPipelineFixture(t, func(c *Config) { c.Bodies = bodies })
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	const head = "POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: " +
		"application/json\r\n"
	for name, request := range map[string]string{
		"shorter than announced": head + "Content-Length: 100\r\n\r\n{\"a\":1}",
		"a chunk that is cut":    head + "Transfer-Encoding: chunked\r\n\r\n40\r\n{\"a\":1}",
		"compressed": head +
			"Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00",
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: no answer: %v", name, err)
		}
		text, _ := io.ReadAll(answer.Body)
		if answer.StatusCode != 400 || !strings.Contains(string(text), `"code":1004`) ||
			!strings.Contains(string(text), "the connection failed") {
			t.Errorf("%s: %s: %s", name, answer.Status, text)
		}
		_ = answer.Body.Close()
		_ = conn.Close()
	}
	if f.writer.calls != 0 {
		t.Error("something was written")
	}
}

// The answer has a warning if values are stored in a different form than they were sent.
func TestConversionsAreReported(t *testing.T) {
	f := newPipelineFixture(t)
	for _, headers := range []struct{ name, value, want string }{
		{"x-svc-hints", "tll=1d", `header x-svc-hints: "tll" is not known; did you mean "ttl"?`},
		{"x-svc-pipeline-params", "max_nested_level=3", "did you mean \"max_nested_levels\"?"},
	} {
		for _, url := range []string{ingestURL, "/v1/pipelines/_dryrun?table=t&pipeline_name=svc_identity"} {
			r := httptest.NewRequest("POST", url, strings.NewReader(`{"a":1}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(headers.name, headers.value)
			w := httptest.NewRecorder()
			f.Handler().ServeHTTP(w, r)
			if got := w.Header().Get("X-Svc-Warnings"); w.Code != 200 || !strings.Contains(got, headers.want) {
				t.Errorf("%s, %s: %d, warnings %q, %s", url, headers.value, w.Code, got, w.Body)
			}
		}
	}
	for _, tt := range []struct{ ctype, body, want string }{
		{
			"application/json", `[{"svc_timestamp":1,"a":1},{"a":2},{"svc_timestamp":3}]`,
			`2 values of the field "svc_timestamp" were not stored`,
		},
		{"application/json", `{"a":1,"a":2}`, "1 key occurred more than once"},
		{"text/plain", "fine\n\xff\xfe\n\xff", "2 lines are not valid UTF-8"},
		{"application/json", `{"a":1}`, ""},
	} {
		r := httptest.NewRequest("POST", ingestURL, strings.NewReader(tt.body))
		r.Header.Set("Content-Type", tt.ctype)
		w := httptest.NewRecorder()
		f.Handler().ServeHTTP(w, r)
		if got := w.Header().Get("X-Svc-Warnings"); w.Code != 200 || tt.want == "" && got != "" ||
			!strings.Contains(got, tt.want) {
			t.Errorf("%q: %d, warnings %q", tt.body, w.Code, got)
		}
	}
}
