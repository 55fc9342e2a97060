package httpapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/body"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// fakeCatalog has the databases public and shop, and what tables a test puts in.
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

// fakeWriter notes what it is given and answers as told.
type fakeWriter struct {
	mu     sync.Mutex
	tables []string
	calls  int
	answer func(ctx context.Context, call int, out *pipeline.Output) (write.Result, error)
}

func (f *fakeWriter) Write(ctx context.Context, out *pipeline.Output) (write.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.tables = nil
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

// byUser knows its users by the header Authorization: "rw", "ro" or "wo".
type byUser struct{}

func (byUser) Authenticate(r *http.Request) (*auth.Identity, error) {
	switch u := r.Header.Get("Authorization"); u {
	case "rw", "ro", "wo":
		return &auth.Identity{User: u, CanRead: u != "wo", CanWrite: u != "ro"}, nil
	case "":
		return nil, errs.New(errs.AuthHeaderNotFound, "Not found http or grpc authorization header")
	case "blank":
		return nil, errs.New(errs.InvalidArguments, "blank user")
	}
	return nil, errs.New(errs.UserPasswordMismatch, "Username and password does not match, username: u")
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

// call sends a request; headers are name, value pairs.
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

// ingest posts JSON; more is added to the query string.
func (f *fixture) ingest(more, body string, headers ...string) *httptest.ResponseRecorder {
	return f.call("POST", ingestURL+more, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// checkError checks the one shape of errors, and returns the text.
func checkError(t *testing.T, w *httptest.ResponseRecorder, status int, code errs.Code) string {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	var e struct {
		Code   *errs.Code `json:"code"`
		Error  *string    `json:"error"`
		Millis *int       `json:"execution_time_ms"`
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
	if h.Get("x-svc-err-code") != strconv.Itoa(int(code)) || h.Get("x-svc-err-msg") == "" || h.Get("x-svc-execution-time") == "" || h.Get("Content-Type") != "application/json" {
		t.Fatalf("headers of an error: %v", h)
	}
	if status == 429 || status == 503 {
		if n, err := strconv.Atoi(h.Get("Retry-After")); err != nil || n < 1 || n > 38 {
			t.Fatalf("Retry-After %q", h.Get("Retry-After"))
		}
	}
	return *e.Error
}

func TestIngestSituations(t *testing.T) {
	jsonType := []string{"Content-Type", "application/json"}
	conflicting := (&schema.Table{ID: 1, Database: "public", Name: "typed", Version: 1, Columns: []schema.Column{
		{ID: 1, Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
	}}).Index()
	const pl = "&pipeline_name=svc_identity"
	tests := []struct {
		name    string
		query   string
		headers []string
		body    string
		status  int
		code    errs.Code
		text    string
	}{
		{"table missing", "pipeline_name=svc_identity", jsonType, "{}", 400, 1004, "table is required"},
		{"table empty", "table=" + pl, jsonType, "{}", 400, 1004, "table is required"},
		{"pipeline missing", "table=t", jsonType, "{}", 400, 1004, "pipeline_name is required"},
		{"blank pipeline header", "table=t", append(jsonType, "x-svc-pipeline-name", " "), "{}", 400, 1004, "pipeline_name is required"},
		{"bad boolean", "table=t&skip_error=1" + pl, jsonType, "{}", 400, 1004, "skip_error"},
		{"upper case boolean", "table=t&ignore_errors=TRUE" + pl, jsonType, "{}", 400, 1004, "ignore_errors"},
		{"empty boolean", "table=t&skip_error=" + pl, jsonType, "{}", 400, 1004, "skip_error"},
		{"duplicate parameter", "table=t&table=t" + pl, jsonType, "{}", 400, 1004, "table"},
		{"bad version", "table=t&version=yesterday" + pl, jsonType, "{}", 400, 1004, "Invalid pipeline version format: yesterday"},
		{"unknown pipeline", "table=t&pipeline_name=edge", jsonType, "{}", 400, 1004, "Pipeline not found, name: edge, version: latest"},
		{"reserved pipeline", "table=t&pipeline_name=svc_other", jsonType, "{}", 400, 1004, "Pipeline not found, name: svc_other, version: latest"},
		{"unknown version", "table=t&pipeline_name=edge&version=2024-07-04T08:31:00.987136Z", jsonType, "{}", 400, 1004, "name: edge, version: 2024-07-04 08:31:00.987136"},
		{"old header before query", "table=t" + pl, append(jsonType, "x-svc-log-pipeline-name", "old"), "{}", 400, 1004, "name: old"},
		{"new header before old", "table=t" + pl, append(jsonType, "x-svc-log-pipeline-name", "old", "x-svc-pipeline-name", " new "), "{}", 400, 1004, "name: new,"},
		{"time index of two parts", "table=t&custom_time_index=ts;epoch" + pl, jsonType, "{}", 400, 1004, "custom_time_index"},
		{"time index unit", "table=t&custom_time_index=ts;epoch;m" + pl, jsonType, "{}", 400, 1004, "s, ms, us, ns"},
		{"time index kind", "table=t&custom_time_index=ts;date;x" + pl, jsonType, "{}", 400, 1004, "datestr"},
		{"content type missing", "table=t" + pl, nil, "{}", 400, 1004, "Content-Type"},
		{"content type unknown", "table=t" + pl, []string{"Content-Type", "text/html"}, "{}", 400, 1004, "application/x-ndjson"},
		{"unknown encoding", "table=t" + pl, append(jsonType, "Content-Encoding", "rot13"), "{}", 415, 1001, ""},
		{"corrupt encoding", "table=t" + pl, append(jsonType, "Content-Encoding", "gzip"), "{}", 400, 1004, ""},
		{"malformed body", "table=t" + pl, jsonType, "not json", 400, 1004, "json"},
		{"malformed line", "table=t" + pl, []string{"Content-Type", "application/x-ndjson"}, "{}\n\n{]\n", 400, 1004, "invalid JSON at index: 2"},
		{"a record that is no object", "table=t" + pl, jsonType, "[1,2]", 400, 1004, ""},
		{"a record without its time", "table=t&custom_time_index=ts;epoch;s" + pl, jsonType, `{"a":1}`, 400, 1004, "ts"},
		{"two types in the batch", "table=t" + pl, jsonType, `[{"n":1},{"n":"two"}]`, 400, 1004, "n"},
		{"conflict with the table", "table=typed" + pl, jsonType, `[{"n":"two"}]`, 400, 1004, "n"},
		{"unknown database", "table=t&db=nope" + pl, jsonType, "not json", 400, 4004, "nope"},
		{"unknown database by header", "table=t&db=public" + pl, append(jsonType, "x-svc-db-name", "nope"), "{}", 400, 4004, "nope"},
		{"internal database", "table=t&db=information_schema" + pl, jsonType, "{}", 400, 1004, "information_schema"},
		{"illegal table name", "table=1t" + pl, jsonType, "{}", 400, 1004, "table name"},
		{"table name as path", "table=..%2F..%2Fx" + pl, jsonType, "{}", 400, 1004, "table name"},
		{"body too large", "table=t" + pl, jsonType, `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, 413, 1004, ""},
		{"bad option", "table=t" + pl, append(jsonType, "x-svc-hints", "ttl=soon"), `{"a":1}`, 400, 1004, "soon"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bodies, err := body.New(body.Config{MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, func(c *Config) { c.Bodies = bodies })
			f.catalog.tables["public.typed"] = conflicting
			for _, path := range []string{"/v1/ingest", "/v1/events/logs"} {
				w := f.call("POST", path+"?"+tt.query, tt.body, tt.headers...)
				if text := checkError(t, w, tt.status, tt.code); !strings.Contains(text, tt.text) {
					t.Errorf("text %q lacks %q", text, tt.text)
				}
			}
			if f.writer.calls != 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestIngestSuccess(t *testing.T) {
	gzipped := &bytes.Buffer{}
	zw := gzip.NewWriter(gzipped)
	_, _ = zw.Write([]byte(`{"a":1}`))
	_ = zw.Close()
	nd := []string{"Content-Type", "application/x-ndjson; charset=utf-8"}
	tests := []struct {
		name    string
		query   string
		headers []string
		body    string
		output  string
		table   string
		skipped string
	}{
		{name: "array", body: `[{"u":"ann","n":1},{"u":"bob","x":{"y":true}}]`, output: `[{"affectedrows":2}]`, table: "public.t"},
		{name: "empty body", body: ``},
		{name: "empty array", body: ` [ ] `},
		{name: "lines", headers: nd, body: "{\"a\":1}\r\n\r\n{\"a\":2}\n", output: `[{"affectedrows":2}]`, table: "public.t"},
		{name: "text", headers: []string{"Content-Type", "TEXT/plain"}, body: "one\ntwo\n", output: `[{"affectedrows":2}]`, table: "public.t"},
		{name: "gzip", headers: []string{"Content-Encoding", "gzip"}, body: gzipped.String(), output: `[{"affectedrows":1}]`, table: "public.t"},
		{name: "unknown parameter twice", query: "&x=1&x=2&source=s&msg_field=m", body: `{}`, output: `[{"affectedrows":1}]`, table: "public.t"},
		{name: "database by header", query: "&db=shop", headers: []string{"x-svc-db-name", " svc-public "}, body: `{"a":1}`, output: `[{"affectedrows":1}]`, table: "public.t"},
		{name: "database with catalog", query: "&db=svc-shop", body: `{"a":1}`, output: `[{"affectedrows":1}]`, table: "shop.t"},
		{name: "database with a hyphen, escaped", query: "&db=a%2Db", body: `{"a":1}`, output: `[{"affectedrows":1}]`, table: "a-b.t"},
		{name: "version is ignored", query: "&version=2024-07-04+08:31:00.987", body: `{"a":1}`, output: `[{"affectedrows":1}]`, table: "public.t"},
		{name: "raw time pattern", query: "&custom_time_index=at;datestr;%Y-%m-%d %H:%M:%S%:z", body: `{"at":"2024-05-06 07:08:09+02:00"}`, output: `[{"affectedrows":1}]`, table: "public.t"},
		{name: "skipped by query", query: "&skip_error=true", body: `[{"n":1},{"n":"two"}]`, output: `[{"affectedrows":1}]`, table: "public.t", skipped: "1"},
		{name: "skipped by header", query: "&skip_error=false", headers: []string{"x-svc-pipeline-params", "skip_error=Yes"}, body: `[{"n":1},{"n":"two"}]`, output: `[{"affectedrows":1}]`, table: "public.t", skipped: "1"},
		{name: "all skipped", query: "&skip_error=true", body: `[1,2]`, skipped: "2"},
		{name: "ignored errors", query: "&ignore_errors=true", body: `not json`, skipped: "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			headers := tt.headers
			if len(headers) == 0 || !strings.EqualFold(headers[0], "Content-Type") {
				headers = append([]string{"Content-Type", "application/json"}, headers...)
			}
			w := f.call("POST", ingestURL+tt.query, tt.body, headers...)
			if w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			var got struct {
				Output json.RawMessage `json:"output"`
				Millis *int            `json:"execution_time_ms"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Millis == nil || string(got.Output) != tt.output {
				t.Fatalf("%s (%v), want output %q", w.Body, err, tt.output)
			}
			if want := strings.Join(f.writer.tables, ","); want != tt.table {
				t.Errorf("written to %q, want %q", want, tt.table)
			}
			h := w.Header()
			if tt.skipped == "" {
				tt.skipped = "0"
			}
			if h.Get("x-svc-skipped") != tt.skipped || (h.Get("x-svc-skip-reasons") != "") != (tt.skipped != "0") {
				t.Errorf("skipped %q because of %q, want %s", h.Get("x-svc-skipped"), h.Get("x-svc-skip-reasons"), tt.skipped)
			}
			if h.Get("x-svc-format") != "svcdb_v1" || h.Get("x-svc-execution-time") == "" || !strings.HasPrefix(h.Get("x-svc-metrics"), `{"svc_exec_write_cost":`) {
				t.Errorf("headers %v", h)
			}
		})
	}
}

func TestIngestAnswersOfTheWriter(t *testing.T) {
	f := newFixture(t)
	f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
		return write.Result{Groups: []write.Group{{AffectedRows: 3}, {}}, Rows: 3, Warnings: []string{"ttl\r\nwas not applied"}}, nil
	}
	w := f.ingest("", `{"a":1}`)
	if !strings.HasPrefix(w.Body.String(), `{"output":[{"affectedrows":3},{"affectedrows":0}],"execution_time_ms":`) {
		t.Fatal(w.Body)
	}
	if got := w.Header().Get("x-svc-warnings"); got != "ttl  was not applied" {
		t.Fatalf("%q", got)
	}

	tests := []struct {
		name   string
		err    error
		status int
		code   errs.Code
		text   string
	}{
		{"internal", errors.New("secret path /x"), 500, 1000, "Internal error: 1000"},
		{"unreachable", errs.New(errs.ShardUnreachable, "shard 3: away"), 503, 5003, "shard 3: away"},
		{"busy", errs.New(errs.ShardBusy, "full").WithRetryAfter(time.Minute), 503, 4009, "full"},
		{"limited", errs.New(errs.RateLimited, "too many"), 429, 6001, "too many"},
		{"refused", errs.New(errs.InvalidArguments, "column \"a\nb\" <x>"), 400, 1004, "column \"a\nb\" <x>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) { return write.Result{}, tt.err }
			if text := checkError(t, f.ingest("", `{"a":1}`), tt.status, tt.code); text != tt.text {
				t.Fatalf("%q, want %q", text, tt.text)
			}
		})
	}
	if !strings.Contains(f.log.String(), "secret path") {
		t.Error("the log lacks the detail of a masked error")
	}

	f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
		return write.Result{}, &write.PartialError{Acked: 2, Total: 5, Err: errs.New(errs.ShardUnreachable, "half").WithStatus(503)}
	}
	w = f.ingest("", `{"a":1}`)
	checkError(t, w, 503, errs.ShardUnreachable)
	if got := w.Header().Get("X-Ingest-Partial"); got != "2/5" {
		t.Fatalf("%q", got)
	}
}

// changed is the error by which a writer asks for another run.
type changed struct{ final error }

func (e changed) Error() string   { return e.final.Error() }
func (e changed) Unwrap() []error { return []error{write.ErrSchemaChanged, e.final} }

func TestPipelineRunsAgain(t *testing.T) {
	f := newFixture(t)
	text := errs.New(errs.InvalidArguments, `table public.t: column "n": expected Int64, given String`)
	f.writer.answer = func(_ context.Context, call int, out *pipeline.Output) (write.Result, error) {
		if call == 1 {
			// Somebody else made the table meanwhile, with n as a number.
			f.catalog.mu.Lock()
			f.catalog.tables["public.t"] = (&schema.Table{ID: 1, Database: "public", Name: "t", Version: 1, Columns: []schema.Column{
				{ID: 1, Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
				{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
			}}).Index()
			f.catalog.mu.Unlock()
			return write.Result{}, changed{text}
		}
		return write.Result{Groups: []write.Group{{AffectedRows: out.Tables[0].Rows.Rows()}}}, nil
	}
	w := f.ingest("&skip_error=true", `[{"n":"x"},{"n":"y"},{"m":1}]`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"affectedrows":1`) || w.Header().Get("x-svc-skipped") != "2" || f.writer.calls != 2 {
		t.Fatal(w.Code, w.Body, w.Header(), f.writer.calls)
	}

	f = newFixture(t)
	f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
		return write.Result{}, changed{text}
	}
	if got := checkError(t, f.ingest("", `{"n":"x"}`), 400, 1004); got != text.Msg || f.writer.calls != 3 {
		t.Fatal(got, f.writer.calls)
	}
}

func TestPermissions(t *testing.T) {
	sql := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, IdentityOf(r).User) })
	f := newFixture(t, func(c *Config) { c.Auth = byUser{}; c.SQL = sql; c.ProtectConfig = true })
	paths := []struct {
		method, path string
		needs        permission
	}{{"GET", "/nothing", open}, {"GET", "/v1/nothing", signedIn}, {"GET", "/v1/ingest", signedIn}, {"GET", "/v1/healthy", signedIn}}
	for _, rt := range f.routes() {
		for _, m := range rt.methods {
			paths = append(paths, struct {
				method, path string
				needs        permission
			}{m, rt.path, rt.needs})
		}
	}
	for _, p := range paths {
		for user, want := range map[string]errs.Code{"": 7003, "bad": 7002, "blank": 1004, "ro": 7006, "wo": 0, "rw": 0} {
			if p.needs == open || p.needs == signedIn && user == "ro" {
				want = 0
			}
			// Wrong parameters: whoever may not write must not learn of them.
			w := f.call(p.method, p.path+"?skip_error=what", "", "Authorization", user)
			code := w.Header().Get("x-svc-err-code")
			switch {
			case want == 7006:
				if w.Code != 403 || code != "7006" {
					t.Errorf("%s %s as %q: %d %s", p.method, p.path, user, w.Code, code)
				}
			case want != 0:
				if w.Code != 401 || code != strconv.Itoa(int(want)) || w.Header().Get("WWW-Authenticate") != "" {
					t.Errorf("%s %s as %q: %d %s, want 401 %d", p.method, p.path, user, w.Code, code, want)
				}
			case w.Code == 401 || w.Code == 403:
				t.Errorf("%s %s as %q: %d %s", p.method, p.path, user, w.Code, code)
			}
		}
	}
	if canRead, canWrite := Permission(httptest.NewRequest("GET", "/", nil)); !canRead || !canWrite {
		t.Error("a request from elsewhere has no user to ask about")
	}
	if w := f.call("POST", "/v1/sql", "", "Authorization", "wo"); w.Body.String() != "wo" {
		t.Errorf("the SQL handler sees %q", w.Body)
	}
	if w := newFixture(t, func(c *Config) { c.SQL = sql }).call("GET", "/v1/sql", ""); w.Body.String() != "svc" {
		t.Errorf("without authentication it sees %q", w.Body)
	}
}

func TestRefusedPathsAndMethods(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v1/ingest", 405, "POST"},
		{"PUT", "/v1/events/logs", 405, "POST"},
		{"DELETE", "/health", 405, "GET, HEAD, POST"},
		{"POST", "/metrics", 405, "GET, HEAD"},
		{"OPTIONS", "/v1/ingest", 405, "POST"},
		{"GET", "/v1/sql", 404, ""}, // no SQL was configured
		{"GET", "/nothing", 404, ""},
		{"POST", "//v1/ingest", 404, ""},
		{"POST", "/v1/ingest/", 404, ""},
		{"POST", "/v1/../v1/ingest", 404, ""},
	} {
		w := f.call(tt.method, tt.path, "")
		checkError(t, w, tt.status, errs.InvalidArguments)
		if got := w.Header().Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: Allow %q, want %q", tt.method, tt.path, got, tt.allow)
		}
	}
}

func TestPublicHandler(t *testing.T) {
	f := newFixture(t)
	for path, want := range map[string]int{"/v1/health": 200, "/health": 404, "/metrics": 404, "/config": 404, "/": 404, "/status": 404} {
		w := httptest.NewRecorder()
		f.PublicHandler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestInformation(t *testing.T) {
	var reasons []string
	f := newFixture(t, func(c *Config) {
		c.Ready = func() []string { return reasons }
		c.Status = Status{Version: "1.2.3", Commit: "abc", Branch: "main"}
		c.ConfigText = func() string { return "[http]\naddr = \"x\"\n" }
	})
	for _, m := range []string{"GET", "POST"} {
		for _, p := range []string{"/health", "/ready", "/v1/health"} {
			if w := f.call(m, p, ""); w.Code != 200 || w.Body.String() != "{}" {
				t.Errorf("%s %s: %d %s", m, p, w.Code, w.Body)
			}
		}
	}
	reasons = []string{"shard 2 has no leader", "metadata is not there"}
	if text := checkError(t, f.call("GET", "/ready", ""), 503, errs.ShardNotReady); text != "not ready: shard 2 has no leader; metadata is not there" {
		t.Error(text)
	}
	if w := f.call("GET", "/health", ""); w.Code != 200 {
		t.Error("a live node that is not ready:", w.Code)
	}
	var status map[string]string
	if w := f.call("GET", "/status", ""); json.Unmarshal(w.Body.Bytes(), &status) != nil || status["version"] != "1.2.3" ||
		status["commit"] != "abc" || status["branch"] != "main" || status["hostname"] == "" || !strings.HasPrefix(status["go_version"], "go") {
		t.Error(status)
	}
	if w := f.call("GET", "/config", ""); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || !strings.Contains(w.Body.String(), "[http]") {
		t.Error(w.Header(), w.Body)
	}
	if w := f.call("GET", "/", ""); !strings.Contains(w.Body.String(), "<h1>cordwood</h1>") {
		t.Error(w.Body)
	}
	f.ingest("", `[{"a":1},{"a":2}]`)
	w := f.call("GET", "/metrics", "")
	for _, line := range []string{
		`cordwood_ingest_rows_total{db="public"} 2`,
		`cordwood_ingest_bytes_total{db="public"} 17`,
		`cordwood_http_requests_total{code="200",route="/v1/ingest"} 1`,
		`cordwood_http_requests_total{code="503",route="/ready"} 1`,
	} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	if !strings.Contains(w.Header().Get("Content-Type"), "version=0.0.4") {
		t.Error(w.Header())
	}
	if !strings.Contains(f.log.String(), "answer.status=200") {
		t.Error("the request log:", f.log)
	}
}

func TestCORS(t *testing.T) {
	preflight := []string{"Origin", "https://x.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-svc-hints"}
	anyOrigin := newFixture(t, func(c *Config) { c.CORS = true; c.Auth = byUser{} })
	w := anyOrigin.call("OPTIONS", "/v1/ingest", "", preflight...)
	if h := w.Header(); w.Code != 200 || h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "x-svc-hints") {
		t.Fatal(w.Code, h)
	}
	// Errors have the headers too, or a browser would not show them.
	if w = anyOrigin.call("POST", "/v1/ingest", "", "Origin", "https://x.example"); w.Code != 401 || w.Header().Get("Access-Control-Allow-Origin") != "*" {
		t.Fatal(w.Code, w.Header())
	}
	some := newFixture(t, func(c *Config) { c.CORS = true; c.CORSOrigins = []string{"https://y.example"} })
	for origin, want := range map[string]string{"https://x.example": "", "https://y.example": "https://y.example"} {
		if w = some.call("GET", "/health", "", "Origin", origin); w.Header().Get("Access-Control-Allow-Origin") != want {
			t.Errorf("%s: %v", origin, w.Header())
		}
	}
	if w = newFixture(t).call("OPTIONS", "/v1/ingest", "", preflight...); w.Code != 405 || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("CORS is off, but", w.Code, w.Header())
	}
}

func TestCompressedAnswers(t *testing.T) {
	big := `{"rows":"` + strings.Repeat("abc", 1000) + `"}`
	f := newFixture(t, func(c *Config) {
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", r.FormValue("type"))
			_, _ = io.WriteString(w, big)
		})
	})
	for _, tt := range []struct{ path, accept, want string }{
		{"/v1/sql?type=application/json", "gzip", "gzip"},
		{"/v1/sql?type=application/json", "zstd, gzip", "zstd"},
		{"/v1/sql?type=application/json", "", ""},
		{"/v1/sql?type=application/vnd.apache.parquet", "gzip", ""},
		{"/health", "gzip", ""},
	} {
		w := f.call("GET", tt.path, "", "Accept-Encoding", tt.accept)
		if got := w.Header().Get("Content-Encoding"); got != tt.want {
			t.Errorf("%s with %q: %q, want %q", tt.path, tt.accept, got, tt.want)
		}
		if tt.want == "gzip" {
			zr, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(zr); err != nil || string(got) != big {
				t.Error(len(got), err)
			}
		}
	}
}

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

func TestPanics(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.RawQuery {
			case "late":
				_, _ = io.WriteString(w, "half")
			case "abort":
				_, _ = io.WriteString(w, strings.Repeat("half", 1000))
				panic(http.ErrAbortHandler)
			}
			panic("a bug")
		})
	})
	if text := checkError(t, f.call("GET", "/v1/sql", ""), 500, 1003); text != "Internal error: 1003" {
		t.Fatal(text)
	}
	if log := f.log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "server_test.go") {
		t.Fatal("the log lacks the panic or its stack:", log)
	}
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	for _, how := range []string{"late", "abort"} {
		resp, err := http.Get(srv.URL + "/v1/sql?" + how)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil {
			t.Fatal(how, ": half an answer looks like a whole one")
		}
	}
}

func TestInFlightLimit(t *testing.T) {
	bodies, err := body.New(body.Config{MaxInFlight: 8, Policy: body.Fail})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(c *Config) { c.Bodies = bodies })
	checkError(t, f.ingest("", `{"a":"longer than the limit"}`), 429, errs.RateLimited)
}

func TestHeaderText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\r\nSet-Cookie: x": "a  Set-Cookie: x", "tab\tünï": "tab  n ", strings.Repeat("x", 5000): strings.Repeat("x", maxHeaderText),
	} {
		if got := headerText(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestAppendJSONString(t *testing.T) {
	for _, s := range []string{"", `a"b\c`, "line\nbreak\x00\x1f\x7f", "<script>&", "ünï\U0001F600", "bad\xffutf"} {
		var got string
		out := appendJSONString(nil, s)
		if err := json.Unmarshal(out, &got); err != nil || got != strings.ToValidUTF8(s, "\uFFFD") {
			t.Errorf("%q: %s (%v)", s, out, err)
		}
		if bytes.ContainsAny(out, "<>&") {
			t.Errorf("%s is not safe in HTML", out)
		}
	}
}

func TestNew(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an empty Config was taken")
	}
	reg := prometheus.NewRegistry()
	cfg := Config{Catalog: &fakeCatalog{}, Writer: &fakeWriter{}, Registerer: reg, Gatherer: reg}
	if _, err := New(cfg); err != nil {
		t.Error(err)
	}
	if _, err := New(cfg); err == nil {
		t.Error("two servers share their metrics")
	}
}

func BenchmarkIngest(b *testing.B) {
	f := newFixture(b, func(c *Config) { c.Logger = nil })
	var body strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&body, `{"host":"web-%d","status":200,"bytes":%d,"path":"/a/b/%d","ok":true}`+"\n", i%8, i*7, i)
	}
	text := body.String()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if w := f.ingest("", text); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}
