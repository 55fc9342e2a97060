package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// dryAnswer returns the answer of a dry run as text, with one line per table: its name, its columns with types,
// and its rows.
func dryAnswer(t testing.TB, w *httptest.ResponseRecorder) string {
	t.Helper()
	var tables []struct {
		Name   string `json:"table_name"`
		Schema []struct {
			Name, DataType, ColumnType string
			Type                       string `json:"data_type"`
			Column                     string `json:"column_type"`
			Fulltext                   *bool  `json:"fulltext"`
		}
		Rows [][]struct {
			Key, Value any
			Type       string `json:"data_type"`
			Semantic   string `json:"semantic_type"`
		}
	}
	d := json.NewDecoder(strings.NewReader(w.Body.String()))
	d.UseNumber()
	if err := d.Decode(&tables); err != nil || tables == nil {
		t.Fatalf("answer %s: %v", w.Body, err)
	}
	var out []string
	for _, table := range tables {
		s := table.Name
		for _, c := range table.Schema {
			if c.Fulltext == nil {
				t.Errorf("column %s does not say whether it is fulltext", c.Name)
			}
			s += fmt.Sprintf(" %s:%s:%s", c.Name, c.Type, c.Column)
			if c.Fulltext != nil && *c.Fulltext {
				s += ":fulltext"
			}
		}
		for _, row := range table.Rows {
			s += " |"
			if len(row) != len(table.Schema) {
				t.Errorf("a row of %d cells for %d columns", len(row), len(table.Schema))
			}
			for i, cell := range row {
				if cell.Key != table.Schema[i].Name || cell.Type != table.Schema[i].Type ||
					cell.Semantic != table.Schema[i].Column {
					t.Errorf("cell %v in column %v", cell, table.Schema[i])
				}
				s += fmt.Sprintf(" %v", cell.Value)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func TestDryRun(t *testing.T) {
	const (
		json1 = "application/json"
		typed = `transform: [{field: t, type: \"epoch, s\", index: timestamp}, {field: m, type: string, index: ` +
			`fulltext}, {field: n, type: uint64}, {field: f, type: float64}, {field: h, type: string, tag: true}, {field: ` +
			`j, type: json}, {field: b, type: boolean}]`
	)
	for _, tt := range []struct {
		name        string
		query       string
		contentType string // application/json if empty
		header      []string
		body        string
		want        string // the result of dryAnswer, or ! and an error
		skipped     string
	}{
		{
			name: "form A with a pipeline",
			body: `{"pipeline":"processors: [{date: {field: t}}]","data":"{\"t\":\"2024-01-01T00:00:00\",\"k\":1}"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP k:INT64:FIELD | 1704067200000000000 1",
		},
		{
			name: "form A with a stored pipeline", body: `{"pipeline_name":"edge","data":"{\"t\":\"2024-01-01T00:00:00\"}"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000",
		},
		{
			name: "form A with a version", body: `{"pipeline_name":"edge","pipeline_version":"2024-07-04 ` +
				`08:31:00.987136","data":"{\"t\":\"2024-01-01T00:00:00\"}"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000",
		},
		{
			name: "form A with an unknown version",
			body: `{"pipeline_name":"edge","pipeline_version":"2020-01-01 00:00:00","data":"{}"}`,
			want: "!Pipeline not found, name: edge, version: 2020-01-01 00:00:00",
		},
		{
			name: "form A with a bad version",
			body: `{"pipeline_name":"edge","pipeline_version":"x","data":"{}"}`,
			want: "!Invalid pipeline version format: x",
		},
		{
			name: "the pipeline in the request wins", body: `{"pipeline":"processors: [{date: {field: ` +
				`at}}]","pipeline_name":"nope","data":"{\"at\":\"2024-01-01T00:00:00\"}"}`,
			want: "dry_run at:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000",
		},
		{
			name: "lines", body: `{"pipeline_name":"edge","data_type":"application/x-ndjson",` +
				`"data":"{\"t\":\"2024-01-01T00:00:00\"}\n{\"t\":\"2024-01-01T00:00:01\"}\n"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000 | 1704067201000000000",
		},
		{
			name: "text", body: `{"pipeline":"processors: [{dissect: {field: message, pattern: '%{t} %{m}'}}, {date: {field: ` +
				`t}}, {select: {fields: [t, m]}}]","data_type":"text/plain","data":"2024-01-01T00:00:00 hello there"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP m:STRING:FIELD | 1704067200000000000 hello there",
		},
		{
			name: "an unknown data type",
			body: `{"pipeline_name":"edge","data_type":"text/html","data":"{}"}`,
			want: "!invalid content type: text/html",
		},
		{
			name: "data as it is",
			body: `{"pipeline_name":"edge","data":[{"t":"2024-01-01T00:00:00"},{"t":"2024-01-01T00:00:01"}]}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000 | 1704067201000000000",
		},
		{
			name: "all types and a null", body: `{"pipeline":"` + typed +
				`","data":"{\"t\":1,\"m\":\"x\",\"n\":7,\"f\":1.5,\"h\":\"w1\",\"j\":{\"a\":[1]},\"b\":true} {\"t\":2}"}`,
			want: "dry_run t:TIMESTAMP_SECOND:TIMESTAMP m:STRING:FIELD:fulltext n:UINT64:FIELD f:FLOAT64:FIELD h:STRING:TAG " +
				"j:JSON:FIELD b:BOOLEAN:FIELD" +
				" | 1 x 7 1.5 w1 map[a:[1]] true | 2 <nil> <nil> <nil> <nil> <nil> <nil>",
		},
		{
			name: "form B", query: "?pipeline_name=edge", body: `[{"t":"2024-01-01T00:00:00"}]`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000",
		},
		{
			name: "form B with a version", query: "?pipeline_name=edge&version=2024-07-04+08:31:00.987136",
			body: `{"t":"2024-01-01T00:00:00"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000",
		},
		{
			name: "form B with text", query: "?pipeline_name=svc_identity&custom_time_index=x;epoch;s",
			contentType: "text/plain", body: "hello\n",
			want: `!Failed to exec pipeline: record 0: time index "x": the field is missing or null`,
		},
		{
			name: "form B whose record looks like form A", query: "?pipeline_name=edge",
			body: `{"data":"x","t":"2024-01-01T00:00:00"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP data:STRING:FIELD | 1704067200000000000 x",
		},
		{name: "neither", body: `{"data":"{}"}`, want: "!pipeline or pipeline_name is required"},
		{name: "neither, form B", body: `{"a":1}`, want: "!pipeline or pipeline_name is required"},
		{name: "no data", body: `{"pipeline_name":"edge"}`, want: "!data is required"},
		{name: "data that is null", body: `{"pipeline_name":"edge","data":null}`, want: "!data is required"},
		{name: "empty data", body: `{"pipeline_name":"edge","data":""}`, want: ""},
		{
			name: "a broken pipeline",
			body: `{"pipeline":"processors: [{nope: {}}]","data":"{}"}`,
			want: "!Failed to build pipeline: line 1: processors[0].nope: Unsupported nope processor",
		},
		{name: "no YAML", body: `{"pipeline":"a: [","data":"{}"}`, want: "!Failed to build pipeline: "},
		{
			name: "an unknown pipeline",
			body: `{"pipeline_name":"nope","data":"{}"}`,
			want: "!Pipeline not found, name: nope, version: latest",
		},
		{
			name: "a record that fails",
			body: `{"pipeline_name":"edge","data":"{\"t\":\"soon\"}"}`,
			want: "!Failed to exec pipeline: record 0: Processor date: ",
		},
		{
			name: "malformed data",
			body: `{"pipeline_name":"edge","data":"{"}`,
			want: "!Failed to exec pipeline: Failed to parse payload as json",
		},
		{
			name: "skip_error", query: "?skip_error=true",
			body: `{"pipeline_name":"edge","data":"{\"t\":\"soon\"}{\"t\":\"2024-01-01T00:00:00\"}"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP | 1704067200000000000", skipped: "1",
		},
		{
			name: "skip_error by header", header: []string{"x-svc-pipeline-params", "skip_error=yes"},
			body: `{"pipeline_name":"edge","data":"{\"t\":\"soon\"}"}`,
			want: "", skipped: "1",
		},
		{
			name: "svc_identity, with a depth", header: []string{"x-svc-pipeline-params", "max_nested_levels=1"},
			body: `{"pipeline_name":"svc_identity","data":"{\"a\":{\"b\":1}}"}`,
			want: "dry_run svc_timestamp:TIMESTAMP_NANOSECOND:TIMESTAMP a:STRING:FIELD | 1720081860989136000 {\"b\":1}",
		},
		{
			name: "svc_identity with a time index", query: "?custom_time_index=at;epoch;ms",
			body: `{"pipeline_name":"svc_identity","data":"{\"at\":1700000000123,\"m\":true}"}`,
			want: "dry_run at:TIMESTAMP_MILLISECOND:TIMESTAMP m:BOOLEAN:FIELD | 1700000000123 true",
		},
		{
			name: "suffixes", body: `{"pipeline":"table_suffix: _${k}","data":"[{\"k\":\"a\"},{\"k\":\"b\"},{\"k\":\"a\"}]"}`,
			want: "dry_run_a svc_timestamp:TIMESTAMP_NANOSECOND:TIMESTAMP k:STRING:FIELD | 1720081860989136000 a | " +
				"1720081860989136002 a\n" +
				"dry_run_b svc_timestamp:TIMESTAMP_NANOSECOND:TIMESTAMP k:STRING:FIELD | 1720081860989136001 b",
		},
		{
			name: "options differ, one table", body: `{"pipeline":"processors: [{date: {field: ` +
				`t}}]","data":"[{\"t\":\"2024-01-01T00:00:00\",\"svc_ttl\":\"1d\",\"a\":1},{\"t\":\"2024-01-01T00:00:01\",` +
				`\"b\":2}]"}`,
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP a:INT64:FIELD b:INT64:FIELD | 1704067200000000000 1 <nil> | " +
				"1704067201000000000 <nil> 2",
		},
		{
			name: "dispatched", body: `{"pipeline":"dispatcher: {field: k, rules: [{value: web, table_suffix: _web, pipeline: ` +
				`edge}]}","data":"[{\"k\":\"web\",\"t\":\"2024-01-01T00:00:00\"}]"}`,
			want: "dry_run_web t:TIMESTAMP_NANOSECOND:TIMESTAMP k:STRING:FIELD | 1704067200000000000 web",
		},
		{
			name: "ten records", query: "?pipeline_name=edge", body: strings.Repeat(`{"t":"2024-01-01T00:00:00"}`, 10),
			want: "dry_run t:TIMESTAMP_NANOSECOND:TIMESTAMP" + strings.Repeat(" | 1704067200000000000", 10),
		},
		{
			name: "101 records", query: "?pipeline_name=edge", body: strings.Repeat(`{"t":"2024-01-01T00:00:00"}`, 101),
			want: "!at most 100 records",
		},
		{
			name: "101 lines", query: "?pipeline_name=svc_identity", contentType: "text/plain",
			body: strings.Repeat("x\n", 101), want: "!at most 100 records",
		},
		{
			name: "a dropped record",
			body: `{"pipeline":"processors: [{filter: {field: k, targets: [x]}}]","data":"[{\"k\":\"x\"}]"}`,
			want: "",
		},
		{name: "a bad boolean", query: "?trace=1&pipeline_name=edge", body: `{}`, want: "!trace"},
		{name: "no content type", query: "?pipeline_name=edge", contentType: "-", body: `{}`, want: "!Content-Type"},
		{
			name: "a real table", query: "?pipeline_name=svc_identity&table=logs", body: `{"n":"x"}`,
			want: `!Failed to exec pipeline: record 0: column "n" of table "logs": expected Int64, actual String`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/v1/pipelines/_dryrun", "/v1/events/pipelines/dryrun"} {
				f := newPipelineFixture(t)
				f.catalog.tables["public.logs"] = logsTable()
				f.put(t, "edge", minimal)
				f.put(t, "dryrun", "table_suffix: _never\n") // the path takes precedence over the name
				header := tt.header
				if ct := tt.contentType; ct == "" {
					header = append(header, "Content-Type", json1)
				} else if ct != "-" {
					header = append(header, "Content-Type", ct)
				}
				w := f.call("POST", path+tt.query, tt.body, header...)
				if want, fails := strings.CutPrefix(tt.want, "!"); fails {
					if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, want) {
						t.Errorf("%s: error %q, want one with %q", path, text, want)
					}
					continue
				}
				if w.Code != 200 {
					t.Fatal(w.Code, w.Body)
				}
				if diff := gocmp.Diff(tt.want, dryAnswer(t, w)); diff != "" {
					t.Errorf("%s (-want +got):\n%s\n%s", path, diff, w.Body)
				}
				if got := w.Header().Get("x-svc-skipped"); got != "0" && got != tt.skipped || got == "0" && tt.skipped != "" {
					t.Errorf("%s: skipped %s, want %s", path, got, tt.skipped)
				}
				if f.writer.calls != 0 {
					t.Error("something was written")
				}
			}
		})
	}
}

// logsTable returns a table with a column n of integers.
func logsTable() *schema.Table {
	return (&schema.Table{
		ID: 1, Database: "public", Name: "logs", Version: 1, NextColumnID: 3,
		Options: map[string]string{"append_mode": "true"},
		Columns: []schema.Column{
			{ID: 1, Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
			{ID: 2, Name: "n", Type: schema.Int64, Semantic: schema.Field},
		},
	}).Index()
}

// tracedRun is the answer of a dry run with trace=true.
type tracedRun struct {
	Tables []struct {
		Name     string `json:"table_name"`
		Database string
		Options  map[string]string
		Exists   bool
		Refused  string
		New      []string                                 `json:"new_columns"`
		Differ   []struct{ Option, Wanted, Table string } `json:"different_options"`
		Rows     []json.RawMessage
	}
	Records []struct {
		Index   int
		Input   json.RawMessage
		Outcome string
		Steps   []struct {
			Pipeline, Step          string
			Record                  json.RawMessage
			Added, Changed, Removed []string
		}
		Rows []struct {
			Table string
			Row   int
		}
		Error *struct {
			Pipeline, Step, Field, Value, Reason string
			Position                             int
		}
	}
	Skipped int
	Time    *int `json:"execution_time_ms"`
}

func trace(t *testing.T, f *pipelineFixture, query, body, contentType string) tracedRun {
	t.Helper()
	w := f.call("POST", "/v1/pipelines/_dryrun?trace=true"+query, body, "Content-Type", contentType)
	var a tracedRun
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 || a.Time == nil {
		t.Fatalf("%d %s %v", w.Code, w.Body, err)
	}
	return a
}

func TestDryRunTrace(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "edge", `
processors:
  - dissect: {field: message, pattern: "%{t} %{k} %{m}"}
  - date: {field: t}
  - select: {type: exclude, field: message}
  - filter: {field: k, targets: [drop]}
table_suffix: _${k}
`)
	a := trace(t, f, "&pipeline_name=edge", "2024-01-01T00:00:00 web hi\nsoon web hi\nshort\n2024-01-01T00:00:00 drop x\n",
		"text/plain")
	var got []string
	for _, r := range a.Records {
		s := fmt.Sprintf("%d %s %s", r.Index, r.Outcome, r.Input)
		for _, step := range r.Steps {
			s += fmt.Sprintf("; %s/%s +%v ~%v -%v", step.Pipeline, step.Step, step.Added, step.Changed, step.Removed)
		}
		for _, row := range r.Rows {
			s += fmt.Sprintf("; row %d of %s", row.Row, row.Table)
		}
		if e := r.Error; e != nil {
			s += fmt.Sprintf("; ! %s/%s %d %s %s", e.Pipeline, e.Step, e.Position, e.Field, e.Value)
		}
		got = append(got, s)
	}
	want := []string{
		`0 stored {"message":"2024-01-01T00:00:00 web hi"}; edge/processors[0] dissect +[k m t] ~[] -[]; ` +
			`edge/processors[1] date +[] ~[t] -[]; edge/processors[2] select +[] ~[] -[message]; ` +
			`edge/processors[3] filter +[] ~[] -[]; row 0 of dry_run_web`,
		`1 failed {"message":"soon web hi"}; edge/processors[0] dissect +[k m t] ~[] -[]; ` +
			`! edge/processors[1] date 1 t "soon"`,
		`2 failed {"message":"short"}; ! edge/processors[0] dissect 0 message "short"`,
		`3 dropped {"message":"2024-01-01T00:00:00 drop x"}; edge/processors[0] dissect +[k m t] ~[] -[]; ` +
			`edge/processors[1] date +[] ~[t] -[]; edge/processors[2] select +[] ~[] -[message]; ` +
			`edge/processors[3] filter +[] ~[] -[]`,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if len(a.Tables) != 1 || a.Tables[0].Name != "dry_run_web" || a.Tables[0].Exists || len(a.Tables[0].Rows) != 1 ||
		a.Tables[0].Options["append_mode"] != "true" || a.Skipped != 2 {
		t.Errorf("tables %+v, skipped %d", a.Tables, a.Skipped)
	}
}

// A table may get rows with several sets of options. The answer shows them one after another, and each record
// refers to its own row.
func TestDryRunTraceRows(t *testing.T) {
	f := newPipelineFixture(t)
	a := trace(t, f, "&pipeline_name=svc_identity", `[{"a":0},{"a":1,"svc_ttl":"1d"},{"a":2},{"a":3,"svc_ttl":"1d"}]`,
		"application/json")
	if len(a.Tables) != 1 || len(a.Tables[0].Rows) != 4 {
		t.Fatalf("%+v", a)
	}
	for i, r := range a.Records {
		row := string(a.Tables[0].Rows[r.Rows[0].Row])
		if want := fmt.Sprintf(`"key":"a","value":%d`, i); !strings.Contains(row, want) {
			t.Errorf("record %d says row %d, which is %s", i, r.Rows[0].Row, row)
		}
	}
}

func TestClientVariables(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.NoClientVariables = true })
	for _, w := range []*httptest.ResponseRecorder{
		f.ingest("", `{"a":1,"svc_ttl":"1d"}`),
		f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=svc_identity", `{"a":1,"svc_ttl":"1d"}`, "Content-Type",
			"application/json"),
	} {
		if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, "svc_ttl") {
			t.Error(text)
		}
	}
}

// A dry run warns of values that would be stored in another form, like ingestion.
func TestDryRunWarns(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "lossy", "version: 2\ntransform: [{field: at, type: 'epoch, s', index: timestamp}, {field: i, type: "+
		"int32}, {field: f, type: float64}]\n")
	for _, query := range []string{"", "&trace=true"} {
		w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=lossy"+query, `{"at":3,"i":7.9,"f":9007199254740993}`,
			"Content-Type", "application/json")
		want := []string{
			`1 number lost its fraction, because the transform list converts it to an integer, for column "i": ` +
				`the type float64 keeps it`,
			`1 number has more digits than its type in the transform list, for column "f": the nearest float was stored; ` +
				`a type of integers, or string, keeps all digits`,
		}
		if diff := gocmp.Diff(want, w.Header().Values("X-Svc-Warnings")); w.Code != 200 || diff != "" {
			t.Errorf("%s: %d %s", query, w.Code, diff)
		}
	}
}

// A dry run warns if no query would show the rows, according to the ttl that the table has or would have.
func TestDryRunWarnsOfExpiredRows(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "aged", "processors: [{epoch: {field: at, resolution: s}}]\ntransform: [{field: at, type: 'epoch, s', "+
		"index: timestamp}]\n")
	logs := logsTable()
	logs.Options = map[string]string{"ttl": "1day"}
	f.catalog.tables["public.logs"] = logs
	for _, tt := range []struct{ query, body, table string }{
		{"pipeline_name=aged", `{"at":3,"svc_ttl":"1d"}`, "dry_run"},
		{"pipeline_name=aged&trace=true", `{"at":3,"svc_ttl":"1d"}`, "dry_run"},
		{"pipeline_name=svc_identity&table=logs&custom_time_index=svc_timestamp%3Bepoch%3Bns", `{"svc_timestamp":3}`, "logs"},
		{"pipeline_name=aged", `{"at":3}`, ""},
	} {
		w := f.call("POST", "/v1/pipelines/_dryrun?"+tt.query, tt.body, "Content-Type", "application/json")
		var want []string
		if tt.table != "" {
			want = []string{"1 row is older than the ttl of table public." + tt.table + ": stored, shown by no query, and " +
				"deleted soon; ALTER TABLE can set a longer ttl"}
		}
		if diff := gocmp.Diff(want, w.Header().Values("X-Svc-Warnings")); w.Code != 200 || diff != "" {
			t.Errorf("%s %s: %d %s\n%s", tt.query, tt.body, w.Code, w.Body, diff)
		}
	}
}

// The schema contains the index of a column, of any kind.
func TestDryRunShowsIndexes(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "indexed", "transform: [{field: a, type: string, index: inverted}, {field: b, type: string, index: "+
		"skipping}, {field: c, type: string, index: fulltext}, {field: d, type: string}]\n")
	w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=indexed", `{"a":"","b":"","c":"","d":""}`,
		"Content-Type", "application/json")
	for _, want := range []string{
		`"name":"a","data_type":"STRING","column_type":"FIELD","fulltext":false,"index":"inverted"}`,
		`"name":"b","data_type":"STRING","column_type":"FIELD","fulltext":false,"index":"skipping"}`,
		`"name":"c","data_type":"STRING","column_type":"FIELD","fulltext":true,"index":"fulltext"}`,
		`"name":"d","data_type":"STRING","column_type":"FIELD","fulltext":false}`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
}

// An unknown key of the body is refused, but a record may have fields of any name.
func TestDryRunBodyKeys(t *testing.T) {
	f := newPipelineFixture(t)
	for _, tt := range []struct{ body, want string }{
		{`{"pipelin":"version: 2","data":"{}"}`, `unknown key \"pipelin\", did you mean \"pipeline\"?; a dry run has`},
		{`{"pipeline_name":"svc_identity","daat":"{}"}`, `unknown key \"daat\", did you mean \"data\"?`},
		{`{"pipeline":5,"data":"{}"}`, `cannot be read: pipeline must be a string, but it is a JSON number`},
		{`{"pipeline":"version: 2",`, `cannot be read: it is not valid JSON at byte 25: unexpected end`},
		{`{"pipeline_name":"svc_identity","data":"{}","tabel":"t"}`, `unknown key \"tabel\", did you mean \"table\"?`},
	} {
		w := f.call("POST", "/v1/pipelines/_dryrun", tt.body, "Content-Type", "application/json")
		checkError(t, w, 400, errs.InvalidArguments)
		if !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %s, want %s", tt.body, w.Body, tt.want)
		}
	}
	w := f.call("POST", "/v1/pipelines/dryrun", `{"data":"{}"}`, "Content-Type", "application/json")
	checkError(t, w, 400, errs.InvalidArguments)
	if !strings.Contains(w.Body.String(), "a dry run is POST /v1/pipelines/_dryrun") {
		t.Errorf("the wrong path: %s", w.Body)
	}
	w = f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=svc_identity", `{"pipeline":"ci","data":"built","step":3}`,
		"Content-Type", "application/json")
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"key":"step","value":3`) {
		t.Errorf("a record with such fields: %d %s", w.Code, w.Body)
	}
}

// TestDocumentWarns checks that uploads and dry runs warn of parts of a document that probably do not have the intended
// effect.
func TestDocumentWarns(t *testing.T) {
	const nanoseconds = "line 2: processors[0].date.formats: %f in \"%Y-%m-%d %H:%M:%S.%f\" is a number of " +
		"nanoseconds, so that .5 becomes 5 ns; " +
		"write %.f instead of .%f, or %3f for a fraction of three digits without a dot"
	for _, tt := range []struct{ name, source, record, want string }{
		{
			"nanoseconds", "processors:\n- date: {field: at, formats: ['%Y-%m-%d %H:%M:%S.%f']}\n",
			`{"at":"2026-01-05 10:00:00.5"}`, strings.Replace(nanoseconds, "formats", "formats[0]", 1),
		},
		{
			"fraction", "processors:\n- date: {field: at, formats: ['%Y-%m-%d %H:%M:%S%.f', '%Y-%m-%d %%f %H:%M']}\n",
			`{"at":"2026-01-05 10:00:00.5"}`, "",
		},
		{
			"a time index that stays text", "processors:\n- dissect: {field: m, pattern: '%{at} %{x}'}\ntransform:\n- {field: " +
				"at, type: 'timestamp, ms', index: timestamp}\n", `{"m":"2026-01-05T10:00:00Z y"}`,
			"line 4: transform[0].field: the time index is the text that dissect sets in the field \"at\": " +
				"it is parsed if it is RFC 3339 or an integer; for other forms add a `date` processor for the field",
		},
		{
			"a time that a program makes text", "processors:\n- vrl: {source: '.at = to_string!(.at); " +
				".'}\ntransform:\n- {field: at, type: time, index: timestamp}\n", `{"at":"2026-01-05T10:00:00Z"}`,
			"line 4: transform[0].field: the time index is the text that vrl sets in the field \"at\": " +
				"it is parsed if it is RFC 3339 or an integer; for other forms add a `date` processor for the field",
		},
		{
			"a text that is read as a time",
			"processors:\n- dissect: {field: m, pattern: '%{at} %{x}'}\n- date: {field: at}\ntransform:\n- {field: at, type: " +
				"timestamp, index: timestamp}\n",
			`{"m":"2026-01-05T10:00:00Z y"}`, "",
		},
		{
			"a text that a program changes",
			"processors:\n- dissect: {field: m, pattern: '%{at} %{x}'}\n- vrl: {source: '.at = to_int!(.at); " +
				".'}\ntransform:\n- {field: at, type: 'timestamp, s', index: timestamp}\n",
			`{"m":"1700000000 y"}`, "",
		},
		{
			"a text of a number",
			"processors:\n- dissect: {field: m, pattern: '%{at} %{x}'}\ntransform:\n- {field: at, type: 'epoch, s', index: " +
				"timestamp}\n",
			`{"m":"1700000000 y"}`, "",
		},
		{
			"a time that becomes text again", "processors:\n- date: {field: at, ignore_missing: true}\n- regex: {field: " +
				"a, patterns: ['(?<t>x)']}\n- csv: {field: m, target_fields: at}\n", `{"m":"2026-01-05T10:00:00Z","a":""}`,
			"line 1: the time index is the field \"at\", which csv converts back to a text after it was parsed as a time: " +
				"records with such a text fail; change the order of the processors",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newPipelineFixture(t)
			var want []string
			if tt.want != "" {
				want = []string{tt.want}
			}
			w := f.call("POST", "/v1/pipelines/p", tt.source)
			var answer struct{ Warnings []string }
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
				t.Fatal(w.Code, w.Body)
			}
			if diff := gocmp.Diff(want, answer.Warnings); diff != "" {
				t.Errorf("upload: %s", diff)
			}
			w = f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=p&trace=true", tt.record, "Content-Type", "application/json")
			if diff := gocmp.Diff(want, w.Header().Values("X-Svc-Warnings")); w.Code != 200 || diff != "" {
				t.Errorf("dry run: %d %s", w.Code, diff)
			}
		})
	}
}

// TestDryRunNamesAbsentFields checks that a dry run lists the fields of a transform list that no record had.
func TestDryRunNamesAbsentFields(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "list", "version: 2\ntransform: [{field: at, type: 'epoch, s', index: timestamp}, {field: amout, type: "+
		"int32}, {field: 'elsewhere, here', type: string}, {field: region, type: string, default: eu}, {field: "+
		"huost, type: string, default: ''}]\n")
	f.put(t, "arrival", "version: 2\ntransform: [{field: time, type: timestamp, index: timestamp, on_failure: default}, "+
		"{field: n, type: int32, on_failure: ignore}]\n")
	f.put(t, "over", "dispatcher: {field: k, rules: [{value: 1, table_suffix: _x, pipeline: list}]}\n")
	for _, tt := range []struct {
		pipeline, data string
		want           []string
	}{
		{"list", `[{"at":3,"amount":7},{"at":3,"host":"a"}]`, []string{
			`no record had the field "amout" of the transform list; did you mean "amount"?`,
			`no record had the field "elsewhere" of the transform list`,
			`no record had the field "huost" of the transform list; did you mean "host"?`,
		}},
		{"list", `[{"at":3,"amount":7},{"at":3,"amout":null,"elsewhere":"","huost":""}]`, nil},
		{
			"over", `[{"k":1,"at":3,"amount":7,"elsewhere":1}]`,
			[]string{`no record had the field "amout" of the transform list; did you mean "amount"?`},
		},
		{"over", `[{"k":2,"at":3,"amount":7}]`, nil},
		{"arrival", `[{"m":"a"}]`, nil},
		{
			"arrival", `[{"times":"a"}]`,
			[]string{`no record had the field "time" of the transform list; did you mean "times"?`},
		},
	} {
		w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name="+tt.pipeline, tt.data, "Content-Type", "application/json")
		if diff := gocmp.Diff(tt.want, w.Header().Values("X-Svc-Warnings")); w.Code != 200 || diff != "" {
			t.Errorf("%s %s: %d %s", tt.pipeline, tt.data, w.Code, diff)
		}
	}
}

// FuzzDryRun sends any body in either form. The answer must be JSON and must not be an internal error.
func FuzzDryRun(fz *testing.F) {
	fz.Add(true, `{"pipeline":"processors: [{date: {field: t}}]","data":"{\"t\":\"2024-01-01T00:00:00\"}"}`)
	fz.Add(false, `{"pipeline":"transform: [{field: a, type: string}]","data":[{"a":{"b":[1]}}],"data_type":"text/plain"}`)
	fz.Add(true, `{"pipeline":"table_suffix: _${a}\ndispatcher: {field: a, rules: [{value: 1, table_suffix: `+
		`x}]}","data":[{"a":1,"svc_ttl":"1d"},7]}`)
	fz.Add(false, `{"data":null,"pipeline_name":"edge","pipeline_version":"2024-07-04 08:31:00.987136"}`)
	f := newPipelineFixture(fz, func(c *Config) { c.Logger = nil })
	f.put(fz, "edge", minimal)
	fz.Fuzz(func(t *testing.T, traced bool, body string) {
		w := f.call("POST", fmt.Sprintf("/v1/pipelines/_dryrun?trace=%v&skip_error=true", traced), body, "Content-Type",
			"application/json")
		if w.Code != 200 && w.Code != 400 {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Errorf("the answer is not JSON: %s", w.Body)
		}
	})
}

func TestDryRunAgainstTable(t *testing.T) {
	f := newPipelineFixture(t)
	f.catalog.tables["public.logs"] = logsTable()
	a := trace(t, f, "&pipeline_name=svc_identity&table=logs",
		"{\"n\":1,\"new\":true,\"svc_ttl\":\"1d\"}\n{\"n\":\"x\"}\n{oops\n", "application/x-ndjson")
	if len(a.Tables) != 1 || len(a.Records) != 3 {
		t.Fatalf("%+v", a)
	}
	table := a.Tables[0]
	if !table.Exists || table.Database != "public" || strings.Join(table.New, " ") != "new" ||
		len(table.Differ) != 1 || table.Differ[0].Option != "ttl" || table.Differ[0].Wanted != "1day" ||
		table.Differ[0].Table != "" {
		t.Errorf("table %+v", table)
	}
	for i, want := range []string{"stored", "failed", "failed"} {
		if r := a.Records[i]; r.Index != i || r.Outcome != want || (r.Error != nil) != (want == "failed") {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	if e := a.Records[1].Error; e != nil && !strings.Contains(e.Reason, "expected Int64") {
		t.Errorf("conflict: %+v", e)
	}
	if e := a.Records[2].Error; e != nil && (e.Step != "parse" || !strings.Contains(e.Reason, "index: 2")) {
		t.Errorf("malformed line: %+v", e)
	}
	w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=svc_identity&table=t&db=nowhere", "{}", "Content-Type",
		"application/json")
	checkError(t, w, 400, errs.DatabaseNotFound)
	w = f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=svc_identity&table=t&db=svc_private", "{}", "Content-Type",
		"application/json")
	checkError(t, w, 400, errs.InvalidArguments)
}

// TestDryRunWithoutAutoCreate checks that, if a table does not exist and must not be created, the dry run reports that
// ingestion would refuse the records.
func TestDryRunWithoutAutoCreate(t *testing.T) {
	for name, f := range map[string]*pipelineFixture{
		"by the record": newPipelineFixture(t),
		"by the server": newPipelineFixture(t, func(c *Config) { c.NoAutoCreate = true }),
	} {
		record, want := `{"a":1}`, "disabled by configuration"
		if name == "by the record" {
			record, want = `{"a":1,"svc_auto_create_table":"false"}`, "`auto_create_table` hint is disabled"
		}
		a := trace(t, f, "&pipeline_name=svc_identity&table=none", record, "application/json")
		if len(a.Tables) != 1 || len(a.Records) != 1 {
			t.Fatalf("%s: %+v", name, a)
		}
		r := a.Records[0]
		if r.Outcome != "failed" || r.Error == nil || !strings.Contains(r.Error.Reason, want) ||
			!strings.Contains(a.Tables[0].Refused, want) {
			t.Errorf("%s: %+v, %+v", name, r, a.Tables[0])
		}
		w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=svc_identity&table=none", record, "Content-Type",
			"application/json")
		if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, want) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
