package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// fakeCatalog has the databases public and shop, and the tables that a test adds.
type fakeCatalog struct {
	mu     sync.Mutex
	tables map[string]*schema.Table
}

func (c *fakeCatalog) Database(name string) (*schemapb.Database, bool) {
	return &schemapb.Database{Name: name}, name == "public" || name == "shop" || name == "a-b"
}

func (c *fakeCatalog) Table(db, name string) (*schema.Table, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tables[db+"."+name]
	return t, ok
}

// fakeWriter records the outputs that it receives and answers with the configured error.
type fakeWriter struct {
	mu     sync.Mutex
	tables []string
	key    write.Key
	calls  int
	answer func(ctx context.Context, call int, out *pipeline.Output) (write.Result, error)
}

func (f *fakeWriter) Full(string, string) error { return nil }

func (f *fakeWriter) Pressed(_, table string) (time.Duration, bool) {
	return 7 * time.Second, table == "pressed"
}

func (f *fakeWriter) WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.tables, f.key = nil, key
	res := write.Result{}
	for _, t := range out.Tables {
		f.tables = append(f.tables, t.Database+"."+t.Table)
		res.Groups = append(res.Groups, write.Group{AffectedRows: t.Rows.Rows()})
		res.Rows += t.Rows.Rows()
	}
	if f.answer != nil {
		return f.answer(ctx, f.calls, out)
	}
	return res, nil
}

// byUser authenticates by the header Authorization, which contains only the right: "rw", "ro" or "wo".
type byUser struct{}

func (byUser) Begin(s access.Sender, _ func(error)) access.Work { return &unchanging{s} }

// unchanging is work of a sender whose rights never change.
type unchanging struct{ access.Sender }

func (unchanging) End() {}

func (byUser) SameCertificate(*tls.ConnectionState, access.Sender, netip.Addr) error { return nil }

func (byUser) Authenticate(r *http.Request, _ netip.Addr) (access.Sender, error) {
	u := r.Header.Get("Authorization")
	for _, right := range []access.Right{access.ReadWrite, access.ReadOnly, access.WriteOnly} {
		if u == right.String() {
			return access.Sender{User: u, Right: right, Proof: "password"}, nil
		}
	}
	switch u {
	case "":
		return access.Sender{}, errs.New(errs.AuthHeaderNotFound, "Not found http or grpc authorization header")
	case "blank":
		return access.Sender{}, errs.New(errs.InvalidArguments, "blank user")
	}
	return access.Sender{}, errs.New(errs.UserPasswordMismatch, "Username and password does not match, username: u")
}

type fixture struct {
	*Server
	catalog *fakeCatalog
	writer  *fakeWriter
	log     *bytes.Buffer
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	f := &fixture{catalog: &fakeCatalog{tables: map[string]*schema.Table{}}, writer: &fakeWriter{}, log: &bytes.Buffer{}}
	cfg := Config{
		Catalog: f.catalog, Writer: f.writer,
		Logger: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
	return f
}

// call sends a request. headers are pairs of name and value.
func (f *fixture) call(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.RequestURI, r.URL = target, mustURL(target)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

func mustURL(target string) *url.URL {
	path, query, _ := strings.Cut(target, "?")
	return &url.URL{Path: path, RawQuery: query}
}

const ingestURL = "/v1/ingest?table=t&pipeline_name=svc_identity"

// ingest posts JSON. more is added to the query string.
func (f *fixture) ingest(more, body string, headers ...string) *httptest.ResponseRecorder {
	return f.call("POST", ingestURL+more, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// checkError checks the common form of errors and returns the text.
func checkError(t *testing.T, w *httptest.ResponseRecorder, status int, code errs.Code) string {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	var e struct {
		Code   *errs.Code `json:"code"`
		Error  *string    `json:"error"`
		Millis *int       `json:"execution_time_ms"`
		Faults any        `json:"faults"`
		Newest any        `json:"newest"`
	}
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil || e.Code == nil || e.Error == nil || e.Millis == nil {
		t.Fatalf("not the shape of errors: %s (%v)", w.Body, err)
	}
	if *e.Code != code {
		t.Fatalf("code %d, want %d: %s", *e.Code, code, w.Body)
	}
	h := w.Header()
	if h.Get("x-svc-err-code") != strconv.Itoa(int(code)) || h.Get("x-svc-err-msg") == "" ||
		h.Get("x-svc-execution-time") == "" || h.Get("Content-Type") != "application/json" {
		t.Fatalf("headers of an error: %v", h)
	}
	if status == 429 || status == 503 {
		if n, err := strconv.Atoi(h.Get("Retry-After")); err != nil || n < 1 || n > 38 {
			t.Fatalf("Retry-After %q", h.Get("Retry-After"))
		}
	}
	return *e.Error
}
