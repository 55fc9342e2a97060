package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
)

// TestLogQueries checks that the body of a request to /v1/logs decides whether it is a query or logs by OTLP, and
// thereby which privilege it needs.
func TestLogQueries(t *testing.T) {
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(append([]byte("query by "+exchange.Of(r).Caller.Sender.User+": "), body...))
	})
	f := newFixture(t, func(c *Config) { c.Auth, c.LogQuery = byUser{}, answer })
	query := `{"table":{"table_name":"t"},"columns":["` + strings.Repeat("x", 2*peekBytes) + `"]}`
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(query)) // it writes to memory
	_ = w.Close()
	const logs = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"b"}}]}]}]}`
	for _, c := range []struct {
		method, user, query, body, contentType, encoding string
		status                                           int
		want                                             string
	}{
		{"POST", "ro", "", query, "application/json; charset=utf-8", "", 200, "query by ro: " + query},
		{"POST", "rw", "", query, "application/json", "identity", 200, "query by rw: " + query},
		{"POST", "rw", "", packed.String(), "application/json", "gzip", 200, "query by rw: " + packed.String()},
		{"POST", "wo", "", query, "application/json", "", 403, `{"code":7006,`},
		{"POST", "", "", query, "application/json", "", 401, `{"code":16,`},
		{"POST", "ro", "tabel=x", query, "application/json", "", 400, `{"code":1004,`},
		{"POST", "wo", "", logs, "application/json", "", 200, "{}"},
		{"POST", "wo", "", "{}", "application/json", "", 200, "{}"},
		{"POST", "wo", "", "", "application/x-protobuf", "", 200, ""},
		{"POST", "ro", "", logs, "application/json", "", 403, `{"code":7,`},
		{"POST", "wo", "", "{", "application/json", "gzip", 400, `{"code":3,`},
		{"GET", "ro", "query=%7B%7D", "", "", "", 200, "query by ro: "},
		{"GET", "wo", "query=%7B%7D", "", "", "", 403, `{"code":7006,`},
	} {
		target := "/v1/logs"
		if c.query != "" {
			target += "?" + c.query
		}
		got := f.call(c.method, target, c.body, "Authorization", c.user, "Content-Type", c.contentType, "Content-Encoding",
			c.encoding)
		body := strings.ReplaceAll(got.Body.String(), `{"code": `, `{"code":`)
		if got.Code != c.status || !strings.HasPrefix(body, c.want) {
			t.Errorf("%s %s as %q: %d %.200q, want %d %q", c.method, c.contentType, c.user, got.Code, got.Body, c.status, c.want)
		}
	}
	// Paths with the prefix of OTLP accept no queries.
	got := f.call("POST", "/v1/otlp/v1/logs", query, "Authorization", "ro", "Content-Type", "application/json")
	if got.Code != 403 || got.Header().Get("X-Svc-Err-Code") != "7006" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestNoLogQueries checks that without structured queries, the path belongs to OTLP.
func TestNoLogQueries(t *testing.T) {
	f := newFixture(t)
	checkError(t, f.call("GET", "/v1/logs", ""), 405, errs.InvalidArguments)
}
