package api

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostileNames are names with which other programs could be made to access other files.
var hostileNames = []string{
	"..", "../../../etc/passwd", "..%2f..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fpwned", "%252e%252e%252fpwned",
	"..%5c..%5cpwned",
	"/etc/passwd", "%2fetc%2fpasswd", "pwned%00.yaml", "%E2%80%A4%E2%80%A4%2Fpwned", "%EF%BC%8E%EF%BC%8E%EF%BC%8Fpwned",
	"CON", "pwned~1",
	"%c0%ae%c0%ae%c0%afpwned", strings.Repeat("pwned", 60), "pwned%0d%0aX-Injected:%201", "%ff%fe", "%3Cscript%3Epwned",
	"$%7Bpwned%7D", "%60pwned%60",
}

// TestHostileNames uses these names wherever the API accepts a name. No answer may be a server error, each must have
// the form of the API's answers, and no file with that name may be created.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	s := start(t)
	folder := filepath.Dir(s.Dir)
	rows := request{method: "POST", body: `[{"a":1}]`, header: []string{"Content-Type", asJSON}}
	yaml := request{method: "POST", body: pipelineText, header: []string{"Content-Type", "application/x-yaml"}}
	ask := request{method: "GET", header: []string{"x-svc-timeout", "300ms"}} // the timeout ends tails
	for _, name := range hostileNames {
		for _, c := range []struct {
			request
			path string
		}{
			{rows, "/v1/ingest?pipeline_name=svc_identity&table=" + name},
			{rows, "/v1/ingest?pipeline_name=svc_identity&table=t&db=" + name},
			{rows, "/v1/ingest?table=t&pipeline_name=" + name},
			{yaml, "/v1/pipelines/" + name},
			{ask, "/v1/pipelines/" + name},
			{ask, "/v1/pipelines/" + name + "/ddl?table=" + name},
			{request{method: "DELETE"}, "/v1/pipelines/" + name + "?version=" + name},
			{ask, "/v1/tail?table=" + name},
			{ask, "/v1/tail?table=t&db=" + name},
			{ask, "/v1/sql?sql=SELECT+*+FROM+%22" + name + "%22"},
			{ask, "/v1/sql?sql=SELECT+*+FROM+read_parquet(%27" + name + "%27)"},
			{ask, "/v1/sql?sql=CREATE+DATABASE+%22" + name + "%22"},
			{ask, "/v1/cluster/operations/" + name},
			{ask, "/" + name},
		} {
			r := c.request
			r.path = c.path
			status, header, body := s.raw(t, r)
			// A busy machine may exceed the timeout.
			if status >= 500 && status != http.StatusGatewayTimeout || status == 0 || strings.Contains(body, "root:") {
				t.Errorf("%s %s: %d %.300s", r.method, r.path, status, body)
			}
			if header.Get("X-Injected") != "" {
				t.Errorf("%s %s: the answer has a header of the client", r.method, r.path)
			}
			// The HTTP library itself answers malformed requests.
			if status >= 400 && header.Get("X-Svc-Err-Code") != "" {
				checkShape(t, r.method+" "+r.path, body)
			}
		}
	}
	// Stopping the server writes its data to files.
	s.Stop()
	err := filepath.WalkDir(folder, func(at string, d fs.DirEntry, err error) error {
		if name := d.Name(); err == nil && (strings.Contains(strings.ToLower(name), "pwned") || name == "CON" ||
			name == "passwd") {
			t.Errorf("the file %s was created for a name", at)
		}
		if err == nil && filepath.Dir(at) == folder && at != s.Dir {
			t.Errorf("%s was created outside of the data folder", at)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkShape checks that a body is an error.
func checkShape(t *testing.T, what, body string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	var e struct {
		Code   int    `json:"code"`
		Error  string `json:"error"`
		Millis *int   `json:"execution_time_ms"`
	}
	if err := d.Decode(&e); err != nil || e.Code == 0 || e.Error == "" || e.Millis == nil || len(body) > 2000 {
		t.Errorf("%s: not the form of errors (%v): %.300s", what, err, body)
	}
}

// raw sends a request without normalizing its path.
func (s *server) raw(t *testing.T, r request) (int, http.Header, string) {
	t.Helper()
	head := r.method + " " + r.path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: " +
		credentials("admin") + "\r\n"
	if len(r.header) > 0 {
		head += r.header[0] + ": " + r.header[1] + "\r\n"
	}
	answers := s.talk(t, head+"Content-Length: "+strconv.Itoa(len(r.body))+"\r\n\r\n"+r.body, r.method)
	if len(answers) != 1 {
		t.Fatalf("%s %s: %d answers", r.method, r.path, len(answers))
	}
	return answers[0].status, answers[0].header, string(answers[0].body)
}

// talk sends bytes over a separate connection and returns the answers until it ends.
func (s *server) talk(t *testing.T, text, method string) []answer {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.HTTP, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	var out []answer
	in := bufio.NewReader(conn)
	for {
		if _, err := in.Peek(1); err != nil {
			if !errors.Is(err, io.EOF) && len(out) == 0 {
				t.Fatalf("%.200q: %v", text, err)
			}
			return out
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%.200q: no answer: %v", text, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%.200q: %v", text, err)
		}
		resp.Body.Close()
		out = append(out, answer{resp.StatusCode, resp.Header, body})
	}
}

// TestSmuggling sends requests with an ambiguous end, or with line ends in wrong places. Each request must get
// exactly one answer.
func TestSmuggling(t *testing.T) {
	t.Parallel()
	s := start(t)
	const inner = "DELETE /v1/pipelines/x?version=1 HTTP/1.1\r\nHost: x\r\n\r\n"
	auth := "Authorization: " + credentials("admin") + "\r\n"
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"two lengths", "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabc" + inner, 400},
		{"a length with a sign", "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc" + inner, 400},
		{"an invalid length", "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 3x\r\n\r\nabc" + inner, 400},
		{"a space before the colon", "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc" + inner, 400},
		{
			"an unknown encoding",
			"POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc" + inner, 501,
		},
		{"two encodings", "POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" +
			"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n" + inner, 501},
		{"an invalid chunk", "POST /v1/ingest?table=t&pipeline_name=svc_identity HTTP/1.1\r\nHost: x\r\n" +
			"Content-Type: application/json\r\n" + auth +
			"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + inner, 400},
		{"two hosts", "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"no host", "GET /health HTTP/1.1\r\n\r\n", 400},
		{"a line end in a header", "GET /health HTTP/1.1\r\nHost: x\r\nX-A: b\rc: d\r\n\r\n", 400},
		{"a zero byte in a header", "GET /health HTTP/1.1\r\nHost: x\r\nX-A: b\x00c\r\n\r\n", 400},
		{"too long a header", "GET /health HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("b", 80_000) + "\r\n\r\n", 431},
		{"no HTTP", "GET /\r\n\r\n", 400},
		// The chunks take precedence over the length, as the standard requires.
		{"a length next to chunks", "POST /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n" +
			"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + inner, 200},
		{
			"a line end in a path",
			"GET /v1/pipelines/a%0d%0aX-Injected:%20b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + auth + "\r\n", 400,
		},
		{
			"a line end in a parameter",
			"GET /v1/tail?table=a%0d%0aX-Injected:%20b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + auth + "\r\n", 400,
		},
		{"a line end in a user's name", "GET /v1/sql HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" +
			"Authorization: Basic YQ0KWC1JbmplY3RlZDogMTpi\r\n\r\n", 401},
	} {
		answers := s.talk(t, c.text, "GET")
		if len(answers) != 1 || answers[0].status != c.status {
			t.Errorf("%s: %d answers, the first %v, want one of %d", c.name, len(answers), answers[0].status, c.status)
		}
		if answers[0].header.Get("X-Injected") != "" {
			t.Errorf("%s: the answer has a header of the client", c.name)
		}
	}
	if strings.Contains(s.Log(), "\nX-Injected") {
		t.Error("the log contains a line of the client")
	}
}

// TestMethods sends every method to every described path. A method that a path does not have must get 405 with the
// list of methods, in the form of an error.
func TestMethods(t *testing.T) {
	t.Parallel()
	s := start(t, "--http-cors-allowed-origins", "https://x.example")
	for path, item := range s.doc.Paths.Map() {
		have := item.Operations()
		at := strings.NewReplacer("{name}", "none", "{id}", "1000").Replace(path)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			if have[method] != nil {
				continue
			}
			a := s.send(t, request{method: method, path: at})
			if a.status != 405 {
				t.Errorf("%s %s: %d", method, at, a.status)
				continue
			}
			allowed := strings.Split(a.header.Get("Allow"), ", ")
			for _, m := range allowed {
				if have[m] == nil {
					t.Errorf("%s %s: it allows %s, which is not described", method, at, m)
				}
			}
			if len(allowed) != len(have) {
				t.Errorf("%s %s: it allows %v of %d methods", method, at, allowed, len(have))
			}
			if method != "HEAD" {
				checkShape(t, method+" "+at, string(a.body))
			}
		}
	}
	for _, path := range []string{
		"/nope", "/v1", "/v1/", "/v1/nope", "//config", "/v1/../config", "/health/",
		"/v1/pipelines/", "/v1/pipelines/a/b/c",
	} {
		if status, _, body := s.raw(t, request{method: "GET", path: path}); status != 404 {
			t.Errorf("%s: %d", path, status)
		} else {
			checkShape(t, path, body)
		}
	}
	// A browser sends a preflight request without a user.
	a := s.send(t, request{method: "OPTIONS", path: "/v1/ingest", user: "-", header: []string{
		"Origin", "https://x.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers",
		"authorization,content-type",
	}})
	if a.status != 200 || a.header.Get("Access-Control-Allow-Methods") != "POST" ||
		a.header.Get("Access-Control-Allow-Origin") != "https://x.example" {
		t.Errorf("preflight: %d %v", a.status, a.header)
	}
	a = s.send(t, request{method: "GET", path: "/v1/sql?sql=SELECT+1", header: []string{"Origin", "https://x.example"}})
	if exposed := strings.ToLower(a.header.Get("Access-Control-Expose-Headers")); !strings.Contains(exposed,
		"x-svc-partial") || !strings.Contains(exposed, "retry-after") {
		t.Errorf("browsers may read %q", exposed)
	}
}
