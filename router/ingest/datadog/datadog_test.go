package datadog

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/jsonwalk"
)

func receiver(t testing.TB) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return New(d), st
}

// send sends a request; headers are pairs of name and value.
func send(d *Receiver, target, body string, headers ...string) *httptest.ResponseRecorder {
	return receivertest.Serve(d.Logs, Refuse, receivertest.Post(target, body, headers...))
}

// agent is a body from the agent with two lines.
const agent = `[{"message":"GET / 200","status":"info","timestamp":1720081858123,"hostname":"box","service":"web",` +
	`"ddsource":"nginx","ddtags":"env:prod,team:a,team:b,canary,image:nginx:1.27"},` +
	`{"message":"a \"b\" é","status":"error","timestamp":1720081858124,"hostname":"box","service":"web",` +
	`"ddsource":"nginx","ddtags":""}]`

func agentRows() []ingesttest.Row {
	at := time.UnixMilli(1720081858123).UTC()
	return []ingesttest.Row{
		{
			"svc_timestamp": at, "message": "GET / 200", "status": "info", "timestamp": int64(1720081858123),
			"hostname": "box", "service": "web", "ddsource": "nginx",
			"ddtags": `{"canary":"","env":"prod","image":"nginx:1.27","team":["a","b"]}`,
		},
		{
			"svc_timestamp": at.Add(time.Millisecond), "message": "a \"b\" é", "status": "error",
			"timestamp": int64(1720081858124), "hostname": "box", "service": "web", "ddsource": "nginx", "ddtags": `{}`,
		},
	}
}

func packed(t testing.TB, encoding, text string) string {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	default:
		return text
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestAgent sends the agent's body in all encodings that the agent supports.
func TestAgent(t *testing.T) {
	for _, encoding := range []string{"", "identity", "gzip", "deflate", "zstd"} {
		d, st := receiver(t)
		headers := []string{
			"Content-Type", "application/json", "DD-API-KEY", "ann:secret", "User-Agent", "datadog-agent/7.60.0",
			"DD-EVP-ORIGIN", "agent", "DD-EVP-ORIGIN-VERSION", "7.60.0", "dd-message-timestamp", "1720081858123",
		}
		if encoding != "" {
			headers = append(headers, "Content-Encoding", encoding)
		}
		if w := send(d, "/api/v2/logs", packed(t, encoding, agent), headers...); w.Code != 202 || w.Body.String() != "{}\n" {
			t.Errorf("%s: %d %s", encoding, w.Code, w.Body)
		}
		if diff := cmp.Diff(agentRows(), st.Rows("public.datadog_logs")); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", encoding, diff)
		}
		for _, c := range st.Columns("public.datadog_logs") {
			isTag := c.Name == "hostname" || c.Name == "service" || c.Name == "ddsource"
			if isTag != (c.Semantic == schema.Tag) || (c.Name == "ddtags") != (c.Type == schema.JSON) {
				t.Errorf("the column %s is %s %s", c.Name, c.Type, c.Semantic)
			}
		}
	}
}

// TestProbe checks the answer to the empty object with which the agent checks that logs are accepted.
func TestProbe(t *testing.T) {
	for _, body := range []string{"{}", " { }\n", "[]"} {
		d, st := receiver(t)
		if w := send(d, "/api/v2/logs", body); w.Code != 202 || len(st.Tables()) != 0 {
			t.Errorf("%q: %d %s %v", body, w.Code, w.Body, st.Tables())
		}
	}
}

func TestForms(t *testing.T) {
	at := time.UnixMilli(1720081858123).UTC()
	const arrival = "now"
	for _, c := range []struct {
		name, query, body, contentType string
		rows                           []ingesttest.Row
	}{
		{ // winston's transport for HTTP, as Datadog documents it
			"an object, and the query", "?dd-api-key=ann:secret&ddsource=nodejs&service=shop&ddtags=env:test,a",
			`{"level":"info","message":"hello","ddtags":"a:2","timestamp":"2024-07-04T08:30:58.123Z"}`, "application/json",
			[]ingesttest.Row{{
				"svc_timestamp": at, "level": "info", "message": "hello", "timestamp": "2024-07-04T08:30:58.123Z",
				"ddsource": "nodejs", "service": "shop", "ddtags": `{"a":["2",""],"env":"test"}`,
			}},
		},
		{
			"what the log says wins", "?service=shop&hostname=h", `[{"service":"web"},{},{"hostname":null , "a":1 }]`, "",
			[]ingesttest.Row{
				{"service": "web", "hostname": "h"}, {"service": "shop", "hostname": "h"}, {"service": "shop", "a": int64(1)},
			},
		},
		{
			"objects one after another", "?ddtags=q", "{\"a\":1}\n{\"a\":\n2}{\"a\":3,\"ddtags\":null}\r\n",
			"application/x-ndjson",
			[]ingesttest.Row{
				{"a": int64(1), "ddtags": `{"q":""}`},
				{"a": int64(2), "ddtags": `{"q":""}`},
				{"a": int64(3), "ddtags": `{"q":""}`},
			},
		},
		{
			"text", "?ddsource=app&ddtags=env:test", "one \"1\"\r\n\ntwo", "text/plain; charset=utf-8",
			[]ingesttest.Row{
				{"message": `one "1"`, "ddsource": "app", "ddtags": `{"env":"test"}`},
				{"message": "two", "ddsource": "app", "ddtags": `{"env":"test"}`},
			},
		},
		{
			"the time of arrival", "?event_time=off", `{"timestamp":1720081858123}`, "",
			[]ingesttest.Row{{"svc_timestamp": arrival, "timestamp": int64(1720081858123)}},
		},
		{
			"years that cannot be stored", "", `[{"timestamp":"0001-01-01T00:00:00Z"},{"timestamp":"9999-12-31T23:59:59Z"}]`, "",
			[]ingesttest.Row{
				{"timestamp": "0001-01-01T00:00:00Z"}, {"timestamp": "9999-12-31T23:59:59Z"},
			},
		},
		{
			"tags as an object, and escapes", "", `[{"ddtags":{"b":1,"a":[2]}},{"ddtags":"k\u00e9y:\"v\""}]`, "",
			[]ingesttest.Row{{"ddtags": `{"a":[2],"b":1}`}, {"ddtags": `{"kéy":"\"v\""}`}},
		},
	} {
		d, st := receiver(t)
		w := send(d, "/api/v2/logs"+c.query, c.body, "Content-Type", c.contentType)
		if w.Code != 202 {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		got := st.Rows("public.datadog_logs")
		for i := range min(len(got), len(c.rows)) {
			switch c.rows[i]["svc_timestamp"] {
			case nil:
				delete(got[i], "svc_timestamp")
			case arrival:
				if at := got[i]["svc_timestamp"].(time.Time); time.Since(at).Abs() > time.Hour {
					t.Errorf("%s: the time of the row is %s", c.name, at)
				}
				got[i]["svc_timestamp"] = arrival
			}
		}
		if diff := cmp.Diff(c.rows, got); diff != "" {
			t.Errorf("%s: rows (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestBadLogs checks that logs that can never be stored are kept among the rejects, and that the other logs are stored.
func TestBadLogs(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for _, c := range []struct {
		name, body           string
		status, rows, reject int
	}{
		{"nothing", "", 400, 0, 0},
		{"blanks", " \n", 400, 0, 0},
		{"no JSON", "hello\nworld", 400, 0, 0},
		{"half an object", `{"a":`, 400, 0, 0},
		{"half an array", `[{"a":1},{"b":2}`, 400, 0, 0},
		{"garbage in an array", `[{"a":1},hello]`, 400, 0, 0},
		{"no objects", `["a",1,null,[2],{"a":1}]`, 202, 1, 4},
		{"only no objects", `["a"]`, 202, 0, 1},
		{"a text", `"a"`, 202, 0, 1},
		{"a bad line", "{\"a\":1}\n{\"a\":\n{\"a\":2}\n", 202, 2, 1},
		{"nested", `[{"a":1},` + deep + `]`, 400, 0, 0},
		{"a nested line", "{\"a\":1}\n" + deep + "\n{\"a\":2}", 202, 2, 1},
		{"another type", `[{"a":1},{"a":"x"}]`, 202, 1, 1},
		{"not UTF-8", "[{\"a\":\"\xff\",\"\xfe\":1}]", 202, 1, 0},
		{"too large", `[{"a":"` + strings.Repeat("x", receivertest.MaxBytes) + `"}]`, 413, 0, 0},
		{"many tags", `[{"ddtags":"` + strings.Repeat("a:1,b:2,", 50_000) + `"}]`, 202, 1, 0},
	} {
		d, st := receiver(t)
		w := send(d, "/api/v2/logs", c.body)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		if w.Code != 202 {
			checkErrors(t, w)
		}
		rows, rejects := len(st.Rows("public.datadog_logs")), len(st.Rows("svc_private.rejects"))
		if rows != c.rows || rejects != c.reject {
			t.Errorf("%s: %d rows and %d rejects, want %d and %d", c.name, rows, rejects, c.rows, c.reject)
		}
	}
}

// checkErrors checks the form of a refusal.
func checkErrors(t *testing.T, w *httptest.ResponseRecorder) (detail string) {
	t.Helper()
	var got struct {
		Errors []struct{ Status, Title, Detail string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Errors) != 1 ||
		got.Errors[0].Status != fmt.Sprint(w.Code) || got.Errors[0].Title != http.StatusText(w.Code) ||
		got.Errors[0].Detail == "" {
		t.Errorf("%d %s (%v)", w.Code, w.Body, err)
		return ""
	}
	return got.Errors[0].Detail
}

// TestRefusals checks that temporary refusals have the status 429 or 503, and that all other refusals have a status
// after which the agent does not retry.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{errs.New(errs.RateLimited, "too much"), 429},
		{errs.New(errs.StorageUnavailable, "busy"), 503},
		{errs.New(errs.Internal, "broken"), 503},
		{errs.New(errs.PermissionDenied, "not yours"), 403},
		{errs.New(errs.InvalidArguments, "wrong"), 400},
		{errs.New(errs.InvalidArguments, "another body").WithStatus(422), 400},
	} {
		d, st := receiver(t)
		st.Refuse("public.datadog_logs", c.err)
		w := send(d, "/api/v2/logs", agent)
		if w.Code != c.status || (w.Header().Get("X-Ratelimit-Reset") != "") != (c.status == 429 || c.status == 503) {
			t.Errorf("%v: %d %v %s", c.err, w.Code, w.Header(), w.Body)
		}
		checkErrors(t, w)
	}
	d, _ := receiver(t)
	if w := send(d, "/", agent, "Content-Encoding", "lzma"); w.Code != 400 ||
		!strings.Contains(checkErrors(t, w), "lzma") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d, "/", "[", "Content-Encoding", "gzip"); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := send(d, "/", "83 <40>1 …", "Content-Type", "application/logplex-1"); w.Code != 400 ||
		!strings.Contains(checkErrors(t, w), "/v1/heroku") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	rec := httptest.NewRecorder()
	Refuse(rec, r, &exchange.Refusal{Status: http.StatusUnauthorized, Text: "who?"})
	if rec.Code != 403 || checkErrors(t, rec) != "who?" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestPipeline(t *testing.T) {
	d, st := receiver(t)
	const program = `. = {"env": .ddtags.env, "m": .message}`
	st.Put("p", "version: 2\nprocessors: [{vrl: {source: '"+program+"'}}]\n")
	if w := send(d, "/api/v2/logs?pipeline_name=p&table=t", agent); w.Code != 202 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := ingesttest.Row{"svc_timestamp": time.UnixMilli(1720081858123).UTC(), "env": "prod", "m": "GET / 200"}
	if got := st.Rows("public.t"); len(got) != 2 || !cmp.Equal(got[0], want) {
		t.Errorf("rows %v", got)
	}
}

func TestValidateAndCredentials(t *testing.T) {
	d, _ := receiver(t)
	w := receivertest.Serve(d.Validate, Refuse, httptest.NewRequest(http.MethodGet, "/api/v1/validate", nil))
	if w.Code != 200 || w.Body.String() != "{\"valid\":true}\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, c := range []struct{ header, target, want string }{
		{"ann:secret", "/x", "ann:secret"},
		{"YW5uOnNlY3JldA==", "/x", "ann:secret"},
		{"YW5uOnNlY3JldA", "/x", "ann:secret"},
		{"0123456789abcdef", "/x", "0123456789abcdef"},
		{"", "/x?dd-api-key=ann:secret", "ann:secret in URL"},
		{"", "/x?api_key=ann%3Asecret", "ann:secret in URL"},
		{"cw_a", "/x?dd-api-key=cw_b", "cw_a cw_b in URL"},
		{"", "/x", ""},
	} {
		r := httptest.NewRequest(http.MethodPost, c.target, nil)
		r.Header.Set("DD-API-KEY", c.header)
		if got := receivertest.Credentials(Credentials(r)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// A body that is sent twice is stored once if its requests have x-svc-dedupe: body.
func TestDedupe(t *testing.T) {
	d, st := receiver(t)
	for range 2 {
		if w := send(d, "/api/v2/logs", agent, "x-svc-dedupe", "body"); w.Code != 202 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if n := len(st.Rows("public.datadog_logs")); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// readOne reads the log in a text.
func readOne(text []byte) (log, error) { return readLog(jsonwalk.New(text)) }

// FuzzLogs checks that every body gets an answer, and that records are JSON with all fields of the log except
// ddtags.
func FuzzLogs(f *testing.F) {
	f.Add(agent, "env:test,a,a:b", "")
	f.Add("{\"a\":1}\n{\"a\"\n2\n[3]", "", "h")
	f.Add(`[{"ddtags":"a:1,a:2,:,b:","timestamp":1e300},{ }]`, ",,", "")
	f.Add(`{"ddtags":"a","ddtags":"b"}`, "", "")
	f.Fuzz(func(t *testing.T, body, tags, host string) {
		d, _ := receiver(t)
		r := httptest.NewRequest(http.MethodPost, "/api/v2/logs", strings.NewReader(body))
		q := r.URL.Query()
		q.Set("ddtags", tags)
		q.Set("hostname", host)
		r.URL.RawQuery = q.Encode()
		if w := receivertest.Serve(d.Logs, Refuse, r); w.Code != 202 && w.Code != 400 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
		in := &input{tags: []byte(strings.ToValidUTF8(tags, "?"))}
		var want map[string]any
		text := []byte(strings.ToValidUTF8(body, "?"))
		if err := json.Unmarshal(text, &want); err != nil || want == nil {
			return
		}
		l, err := readOne(text)
		if err != nil {
			return // encoding/json allows deeper nesting
		}
		var got map[string]any
		if err := json.Unmarshal(in.appendRecord(nil, &l), &got); err != nil {
			t.Fatalf("%s: %v", in.appendRecord(nil, &l), err)
		}
		delete(want, "ddtags")
		delete(got, "ddtags")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	})
}

// TestRepeatedTags checks that a short body cannot become any number of bytes because its logs repeat the query string.
func TestRepeatedTags(t *testing.T) {
	d, st := receiver(t)
	target := "/api/v2/logs?on_reject=drop&ddtags=a:" + strings.Repeat("x", 8<<20)
	// The records fail, so the rows of the test need no memory.
	w := send(d, target, "["+strings.Repeat(`{"":1},`, 150)+`{"":1}]`)
	if w.Code != 413 || len(st.Tables()) > 0 {
		t.Errorf("%d %s, tables %v", w.Code, w.Body, st.Tables())
	}
}
