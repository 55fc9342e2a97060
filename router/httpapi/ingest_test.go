package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/body"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

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
		{
			"blank pipeline header", "table=t", append(jsonType, "x-svc-pipeline-name", " "), "{}", 400, 1004,
			"pipeline_name is required",
		},
		{"bad boolean", "table=t&skip_error=1" + pl, jsonType, "{}", 400, 1004, "skip_error"},
		{"upper case boolean", "table=t&ignore_errors=TRUE" + pl, jsonType, "{}", 400, 1004, "ignore_errors"},
		{"empty boolean", "table=t&skip_error=" + pl, jsonType, "{}", 400, 1004, "skip_error"},
		{"duplicate parameter", "table=t&table=t" + pl, jsonType, "{}", 400, 1004, "table"},
		{
			"bad version", "table=t&version=yesterday" + pl, jsonType, "{}", 400, 1004,
			"Invalid pipeline version format: yesterday",
		},
		{
			"unknown pipeline", "table=t&pipeline_name=edge", jsonType, "{}", 400, 1004,
			"Pipeline not found, name: edge, version: latest",
		},
		{
			"reserved pipeline", "table=t&pipeline_name=svc_other", jsonType, "{}", 400, 1004,
			"Pipeline not found, name: svc_other, version: latest",
		},
		{
			"unknown version", "table=t&pipeline_name=edge&version=2024-07-04T08:31:00.987136Z", jsonType, "{}", 400,
			1004, "name: edge, version: 2024-07-04 08:31:00.987136",
		},
		{
			"old header before query", "table=t" + pl, append(jsonType, "x-svc-log-pipeline-name", "old"), "{}", 400,
			1004, "name: old",
		},
		{
			"new header before old", "table=t" + pl,
			append(jsonType, "x-svc-log-pipeline-name", "old", "x-svc-pipeline-name", " new "), "{}", 400, 1004,
			"name: new,",
		},
		{
			"time index of two parts", "table=t&custom_time_index=ts;epoch" + pl, jsonType, "{}", 400, 1004,
			"custom_time_index",
		},
		{"time index unit", "table=t&custom_time_index=ts;epoch;m" + pl, jsonType, "{}", 400, 1004, "s, ms, us, ns"},
		{"time index kind", "table=t&custom_time_index=ts;date;x" + pl, jsonType, "{}", 400, 1004, "datestr"},
		{"content type missing", "table=t" + pl, nil, "{}", 400, 1004, "Content-Type"},
		{
			"content type unknown", "table=t" + pl,
			[]string{"Content-Type", "text/html"},
			"{}", 400, 1004,
			"application/x-ndjson",
		},
		{"unknown encoding", "table=t" + pl, append(jsonType, "Content-Encoding", "rot13"), "{}", 415, 1001, ""},
		{"corrupt encoding", "table=t" + pl, append(jsonType, "Content-Encoding", "gzip"), "{}", 400, 1004, ""},
		{"malformed body", "table=t" + pl, jsonType, "not json", 400, 1004, "json"},
		{
			"malformed line", "table=t" + pl,
			[]string{"Content-Type", "application/x-ndjson"},
			"{}\n\n{]\n", 400, 1004,
			"invalid JSON at index: 2",
		},
		{"a record that is not an object", "table=t" + pl, jsonType, "[1,2]", 400, 1004, ""},
		{"a record without its time", "table=t&custom_time_index=ts;epoch;s" + pl, jsonType, `{"a":1}`, 400, 1004, "ts"},
		{"two types in the batch", "table=t" + pl, jsonType, `[{"n":1},{"n":"two"}]`, 400, 1004, "n"},
		{"conflict with the table", "table=typed" + pl, jsonType, `[{"n":"two"}]`, 400, 1004, "n"},
		{"unknown database", "table=t&db=nope" + pl, jsonType, "not json", 400, 4004, "nope"},
		{
			"unknown database by header", "table=t&db=public" + pl, append(jsonType, "x-svc-db-name", "nope"), "{}", 400,
			4004, "nope",
		},
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
		{
			name: "array", body: `[{"u":"ann","n":1},{"u":"bob","x":{"y":true}}]`, output: `[{"affectedrows":2}]`,
			table: "public.t",
		},
		{name: "empty body", body: ``},
		{name: "empty array", body: ` [ ] `},
		{name: "lines", headers: nd, body: "{\"a\":1}\r\n\r\n{\"a\":2}\n", output: `[{"affectedrows":2}]`, table: "public.t"},
		{
			name: "text", headers: []string{"Content-Type", "TEXT/plain"}, body: "one\ntwo\n",
			output: `[{"affectedrows":2}]`, table: "public.t",
		},
		{
			name: "gzip", headers: []string{"Content-Encoding", "gzip"}, body: gzipped.String(),
			output: `[{"affectedrows":1}]`, table: "public.t",
		},
		{
			name: "parameters without effect", query: "&source=s&msg_field=m", body: `{}`, output: `[{"affectedrows":1}]`,
			table: "public.t",
		},
		{
			name: "database by header", query: "&db=shop", headers: []string{"x-svc-db-name", " svc-public "},
			body: `{"a":1}`, output: `[{"affectedrows":1}]`, table: "public.t",
		},
		{
			name: "database with catalog", query: "&db=svc-shop", body: `{"a":1}`, output: `[{"affectedrows":1}]`,
			table: "shop.t",
		},
		{
			name: "database with a hyphen, escaped", query: "&db=a%2Db", body: `{"a":1}`, output: `[{"affectedrows":1}]`,
			table: "a-b.t",
		},
		{
			name: "version is ignored", query: "&version=2024-07-04+08:31:00.987", body: `{"a":1}`,
			output: `[{"affectedrows":1}]`, table: "public.t",
		},
		{
			name: "raw time pattern", query: "&custom_time_index=at;datestr;%Y-%m-%d %H:%M:%S%:z",
			body: `{"at":"2024-05-06 07:08:09+02:00"}`, output: `[{"affectedrows":1}]`, table: "public.t",
		},
		{
			name: "skipped by query", query: "&skip_error=true", body: `[{"n":1},{"n":"two"}]`,
			output: `[{"affectedrows":1}]`, table: "public.t", skipped: "1",
		},
		{
			name: "skipped by header", query: "&skip_error=false",
			headers: []string{"x-svc-pipeline-params", "skip_error=Yes"}, body: `[{"n":1},{"n":"two"}]`,
			output: `[{"affectedrows":1}]`, table: "public.t", skipped: "1",
		},
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
			if h.Get("x-svc-format") != "svcdb_v1" || h.Get("x-svc-execution-time") == "" ||
				!strings.HasPrefix(h.Get("x-svc-metrics"), `{"svc_exec_write_cost":`) {
				t.Errorf("headers %v", h)
			}
		})
	}
}

func TestIngestAnswersOfTheWriter(t *testing.T) {
	f := newFixture(t)
	f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
		return write.Result{
			Groups:   []write.Group{{AffectedRows: 3}, {}},
			Rows:     3,
			Warnings: []string{"ttl\r\nwas not applied"},
		}, nil
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
			f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
				return write.Result{}, tt.err
			}
			if text := checkError(t, f.ingest("", `{"a":1}`), tt.status, tt.code); text != tt.text {
				t.Fatalf("%q, want %q", text, tt.text)
			}
		})
	}
	if !strings.Contains(f.log.String(), "secret path") {
		t.Error("the log lacks the detail of a masked error")
	}

	f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
		return write.Result{}, &write.PartialError{
			Acked: 2,
			Total: 5,
			Err:   errs.New(errs.ShardUnreachable, "half").WithStatus(503),
		}
	}
	w = f.ingest("", `{"a":1}`)
	checkError(t, w, 503, errs.ShardUnreachable)
	if got := w.Header().Get("X-Ingest-Partial"); got != "2/5" {
		t.Fatalf("%q", got)
	}
	if got := w.Header().Get("X-Svc-Outcome"); got != "" {
		t.Errorf("X-Svc-Outcome %q of an outcome that is known", got)
	}

	f.writer.answer = func(context.Context, int, *pipeline.Output) (write.Result, error) {
		return write.Result{}, errs.New(errs.ShardUnreachable, "the outcome is unknown").WithReason(errs.OutcomeUnknown)
	}
	w = f.ingest("", `{"a":1}`)
	checkError(t, w, 503, errs.ShardUnreachable)
	if got := w.Header().Get("X-Svc-Outcome"); got != "unknown" {
		t.Errorf("X-Svc-Outcome %q", got)
	}
}

// changed is the error with which a writer requests another run of the pipeline.
type changed struct{ final error }

func (e changed) Error() string   { return e.final.Error() }
func (e changed) Unwrap() []error { return []error{write.ErrSchemaChanged, e.final} }

func TestPipelineRunsAgain(t *testing.T) {
	f := newFixture(t)
	text := errs.New(errs.InvalidArguments, `table public.t: column "n": expected Int64, given String`)
	f.writer.answer = func(_ context.Context, call int, out *pipeline.Output) (write.Result, error) {
		if call == 1 {
			// Another client created the table meanwhile, with n as a number.
			f.catalog.mu.Lock()
			f.catalog.tables["public.t"] = (&schema.Table{
				ID: 1, Database: "public", Name: "t", Version: 1,
				Columns: []schema.Column{
					{ID: 1, Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
					{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
				},
			}).Index()
			f.catalog.mu.Unlock()
			return write.Result{}, changed{text}
		}
		return write.Result{Groups: []write.Group{{AffectedRows: out.Tables[0].Rows.Rows()}}}, nil
	}
	w := f.ingest("&skip_error=true", `[{"n":"x"},{"n":"y"},{"m":1}]`)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"affectedrows":1`) || w.Header().Get("x-svc-skipped") != "2" ||
		f.writer.calls != 2 {
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

func BenchmarkIngest(b *testing.B) {
	f := newFixture(b, func(c *Config) { c.Logger, c.MaxNewTablesPerMinute = nil, 1<<40 })
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

// TestIngestExpired checks that the answer warns of rows that no query will show.
func TestIngestExpired(t *testing.T) {
	f := newFixture(t)
	w := f.ingest("&custom_time_index=at;epoch;s", `[{"at":1},{"at":4000000000},{"at":2}]`, "x-svc-hints", "ttl=1d")
	if w.Code != 200 || w.Header().Get("x-svc-expired") != "2" ||
		!strings.HasPrefix(w.Header().Get("x-svc-warnings"), "2 rows are older than the ttl of table public.t") {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w = f.ingest("", `{"a":1}`, "x-svc-hints", "ttl=1d"); w.Code != 200 || len(w.Header()["X-Svc-Expired"]) > 0 ||
		w.Header().Get("x-svc-warnings") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// TestIngestDropped checks that the answer counts the records that the pipeline drops.
func TestIngestDropped(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "nothing", `processors: [{vrl: {source: ".nope"}}]`)
	w := f.call("POST", "/v1/ingest?db=public&table=t&pipeline_name=nothing", `[{"a":1},{"a":2}]`,
		"Content-Type", "application/json")
	if w.Code != 200 || w.Header().Get("x-svc-dropped") != "2" || w.Header().Get("x-svc-skipped") != "0" ||
		!strings.HasPrefix(w.Header().Get("x-svc-warnings"), "2 records were dropped by the pipeline nothing: ") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	w = f.call("POST", "/v1/ingest?db=public&table=t&pipeline_name=svc_identity", `[{"a":1}]`,
		"Content-Type", "application/json")
	if w.Code != 200 || len(w.Header()["X-Svc-Dropped"]) > 0 || w.Header().Get("x-svc-warnings") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}
