package otlp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	rawbody "cordwood/router/body"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

func receiver(t testing.TB) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return New(d), st
}

func send(d *Receiver, contentType string, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/logs", bytes.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return receivertest.Serve(d.Logs, Refuse, r)
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

func number(n int64) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: n}}
}

func pair(key string, v *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: v}
}

func object(pairs ...*common.KeyValue) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: pairs}}}
}

func list(values ...*common.AnyValue) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: values}}}
}

func bin(b string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte(b)}}
}

var at = time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)

// export returns an ExportLogsServiceRequest with the records, a resource and a scope.
func export(records ...*logs.LogRecord) *collector.ExportLogsServiceRequest {
	return &collector.ExportLogsServiceRequest{ResourceLogs: []*logs.ResourceLogs{{
		Resource:  &resource.Resource{Attributes: []*common.KeyValue{pair("service.name", text("web"))}},
		SchemaUrl: "r-url",
		ScopeLogs: []*logs.ScopeLogs{{
			Scope: &common.InstrumentationScope{
				Name:       "lib",
				Version:    "1",
				Attributes: []*common.KeyValue{pair("k", number(1))},
			},
			SchemaUrl: "s-url", LogRecords: records,
		}},
	}}}
}

func whole() *logs.LogRecord {
	return &logs.LogRecord{
		TimeUnixNano: uint64(at.UnixNano()), ObservedTimeUnixNano: 9,
		SeverityNumber: logs.SeverityNumber_SEVERITY_NUMBER_WARN2, SeverityText: "warn",
		Body: text("a \"line\""), Flags: 1, TraceId: bytes.Repeat([]byte{0xab}, 16), SpanId: bytes.Repeat([]byte{0xcd}, 8),
		EventName: "ev",
		Attributes: []*common.KeyValue{
			pair("t", text("x\n")), pair("n", number(-5)), pair("b", &common.AnyValue{
				Value: &common.AnyValue_BoolValue{BoolValue: true},
			}),
			pair("d", &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 1.5}}),
			pair("l", list(number(1), text("y"), object())),
			pair("o", object(pair("a", object(pair("b", list()))))), pair("bytes", bin("\x00\xff")), pair("none", nil),
		},
	}
}

// forms returns the request as protobuf and as JSON.
func forms(t testing.TB, q *collector.ExportLogsServiceRequest) map[string][]byte {
	t.Helper()
	p, err := proto.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	j, err := protojson.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	// OTLP's JSON has ids in hexadecimal, and protobuf's has them in base64.
	for _, r := range q.GetResourceLogs() {
		for _, s := range r.GetScopeLogs() {
			for _, l := range s.GetLogRecords() {
				if id := l.GetTraceId(); len(id) > 0 {
					j = bytes.ReplaceAll(j, []byte(`"q6urq6urq6urq6urq6urqw=="`), []byte(`"`+hex.EncodeToString(id)+`"`))
					j = bytes.ReplaceAll(j, []byte(`"zc3Nzc3Nzc0="`), []byte(`"`+hex.EncodeToString(l.GetSpanId())+`"`))
				}
			}
		}
	}
	return map[string][]byte{typeProto: p, typeJSON: j}
}

func TestColumns(t *testing.T) {
	want := []ingesttest.Row{
		{
			"timestamp": at, "trace_id": strings.Repeat("ab", 16), "span_id": strings.Repeat("cd", 8), "severity_text": "warn",
			"severity_number": int64(14),
			"body":            "a \"line\"", "trace_flags": int64(1), "scope_name": "lib", "scope_version": "1",
			"scope_attributes": `{"k":1}`, "scope_schema_url": "s-url",
			"resource_attributes": `{"service.name":"web"}`, "resource_schema_url": "r-url",
			"log_attributes": `{"t":"x\n","n":-5,"b":true,"d":1.5,"l":[1,"y",{}],"o":{"a":{"b":[]}},"bytes":"AP8=",` +
				`"none":null,"event.name":"ev"}`,
		},
		{
			"timestamp": time.Unix(0, 9).UTC(), "trace_id": "", "span_id": "", "severity_text": "", "severity_number": int64(0),
			"body": `{"a":[1,null]}`, "trace_flags": int64(0), "scope_name": "lib", "scope_version": "1",
			"scope_attributes": `{"k":1}`, "scope_schema_url": "s-url",
			"resource_attributes": `{"service.name":"web"}`, "resource_schema_url": "r-url", "log_attributes": `{}`,
		},
	}
	q := export(whole(), &logs.LogRecord{
		ObservedTimeUnixNano: 9,
		Body:                 object(pair("a", list(number(1), &common.AnyValue{}))),
	})
	for contentType, body := range forms(t, q) {
		d, st := receiver(t)
		w := send(d, contentType, body)
		if w.Code != 200 || w.Header().Get("Content-Type") != contentType ||
			strings.TrimSpace(w.Body.String()) != map[string]string{typeJSON: "{}"}[contentType] {
			t.Errorf("%s: answer %d %q", contentType, w.Code, w.Body)
		}
		if diff := cmp.Diff(want, st.Rows("public.opentelemetry_logs")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", contentType, diff)
		}
		if n := len(st.Columns("public.opentelemetry_logs")); n != 14 {
			t.Errorf("%s: %d columns", contentType, n)
		}
	}
}

// Bodies of all types become text. Times may be missing, or may not fit into a column.
func TestBodiesAndTimes(t *testing.T) {
	q := export(&logs.LogRecord{Body: bin("hi")}, &logs.LogRecord{Body: number(7)}, &logs.LogRecord{},
		&logs.LogRecord{TimeUnixNano: 1 << 63, Body: text("late")})
	for contentType, body := range forms(t, q) {
		d, st := receiver(t)
		w := send(d, contentType, body)
		if w.Code != 200 || !strings.Contains(w.Body.String(), "record 3: its time is after 2262") {
			t.Errorf("%s: answer %d %q", contentType, w.Code, w.Body)
		}
		if contentType == typeProto {
			var answer collector.ExportLogsServiceResponse
			if err := proto.Unmarshal(w.Body.Bytes(), &answer); err != nil ||
				answer.GetPartialSuccess().GetRejectedLogRecords() != 1 {
				t.Errorf("answer %v %v", &answer, err)
			}
		}
		rows := st.Rows("public.opentelemetry_logs")
		if len(rows) != 3 || rows[0]["body"] != "aGk=" || rows[1]["body"] != "7" || rows[2]["body"] != "" ||
			rows[0]["timestamp"] != ingesttest.Now {
			t.Errorf("%s: rows %v", contentType, rows)
		}
	}
}

func TestExtract(t *testing.T) {
	q := export(&logs.LogRecord{
		TimeUnixNano: 1,
		Attributes:   []*common.KeyValue{pair("Host", text("h")), pair("n", number(3)), pair("k", list())},
	},
		&logs.LogRecord{TimeUnixNano: 1, Attributes: []*common.KeyValue{pair("n", number(4))}})
	body := forms(t, q)[typeProto]
	d, st := receiver(t)
	w := send(d, typeProto, body, "x-svc-log-extract-keys", "host, n,service.name,nowhere")
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	rows := st.Rows("public.opentelemetry_logs")
	if len(rows) != 2 || rows[0]["host"] != "h" || rows[0]["n"] != int64(3) || rows[1]["service.name"] != "web" ||
		rows[1]["host"] != nil {
		t.Errorf("%v", rows)
	}
	for _, c := range st.Columns("public.opentelemetry_logs") {
		if (c.Name == "host" || c.Name == "n") && c.Semantic != schema.Tag {
			t.Errorf("%s is %s", c.Name, c.Semantic)
		}
	}
	if w := send(d, typeProto, body, "x-svc-log-extract-keys", "k"); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "it is not a text") {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

func TestPipeline(t *testing.T) {
	d, st := receiver(t)
	st.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .up = upcase(string!(.Body))\n        .svc "+
		"= .ResourceAttributes.\"service.name\"\n        .\n")
	if w := send(d, typeProto, forms(t, export(whole()))[typeProto], "x-svc-pipeline-name", "p", "x-svc-log-table-name",
		"t"); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	rows := st.Rows("public.t")
	if len(rows) != 1 || rows[0]["up"] != `A "LINE"` || rows[0]["svc"] != "web" || rows[0]["svc_timestamp"] != at ||
		rows[0]["SeverityNumber"] != int64(14) {
		t.Errorf("%v", rows)
	}
}

func TestBadBodies(t *testing.T) {
	deep := text("x")
	for range maxDepth + 2 {
		deep = list(deep)
	}
	deepResource := export(whole())
	deepResource.ResourceLogs[0].Resource.Attributes[0].Value = deep
	good := forms(t, export(whole()))[typeProto]
	for _, c := range []struct {
		name, contentType string
		body              []byte
		status            int
		text              string
	}{
		{"no protobuf", typeProto, []byte("\x0a\xff"), 400, "not a protobuf"},
		{"cut off", typeProto, good[:len(good)-1], 400, "not a protobuf"},
		{"no JSON", typeJSON, []byte(`{"resourceLogs":[`), 400, ""},
		{"another JSON", typeJSON, []byte(`{"streams":[]}`), 400, `no list \"resourceLogs\"`},
		{"another type", "text/plain", nil, 415, "Content-Type"},
		{"too large", typeProto, make([]byte, 2<<20), 413, ""},
		{
			"a deep resource", typeProto, forms(t, deepResource)[typeProto], 200,
			"record 0: its attributes or its body are nested",
		},
		{"nothing", typeProto, nil, 200, ""},
		{"nothing in JSON", typeJSON, []byte("{}"), 200, "{}"},
		{"an unknown field", typeProto, append(bytes.Clone(good), 0xfa, 0x06, 1, 'x'), 200, ""},
		{
			"a record that is none", typeJSON,
			[]byte(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[7,{"timeUnixNano":-1},` +
				`{"severityNumber":"SEVERITY_NUMBER_INFO"}]}]}]}`),
			200, `"rejectedLogRecords":"2"`,
		},
		{
			"a deep record", typeProto, forms(t, export(whole(), &logs.LogRecord{Body: deep}))[typeProto], 200,
			"record 1: its attributes or its body are nested too deep",
		},
	} {
		d, _ := receiver(t)
		w := send(d, c.contentType, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: answer %d %q", c.name, w.Code, w.Body)
		}
		if c.status >= 400 && c.contentType == typeProto {
			var st status.Status
			if err := proto.Unmarshal(w.Body.Bytes(), &st); err != nil || st.GetMessage() == "" {
				t.Errorf("%s: answer %q is not a status: %v", c.name, w.Body, err)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	d, st := receiver(t)
	st.Refuse("public.opentelemetry_logs", errs.New(errs.ShardNotReady, "no leader"))
	w := send(d, typeJSON, forms(t, export(whole()))[typeJSON])
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"code":14`) {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/traces", nil)
	if w := receivertest.Serve(d.NoLogs, Refuse, r); w.Code != 404 || !strings.Contains(w.Body.String(), "only logs") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// FuzzProto compares the reader with the generated one.
func FuzzProto(f *testing.F) {
	f.Add(forms(f, export(whole(), &logs.LogRecord{Body: list(number(1))}))[typeProto])
	f.Add([]byte("\x0a\xff"))
	f.Add(forms(f, repeatedKeys())[typeProto])
	f.Add(forms(f, sharedAttributes(50))[typeProto])
	f.Fuzz(func(t *testing.T, data []byte) {
		var want collector.ExportLogsServiceRequest
		wantErr := proto.Unmarshal(data, &want)
		var got []string
		err := readProto(data, func(r *record, err error) error {
			checkAlone(t, r)
			if err != nil {
				got = append(got, err.Error())
				return nil
			}
			if !jsonValid(r.attributes) || !jsonValid(r.scope.attributes) || !jsonValid(r.resource) {
				t.Errorf("attributes %s are not JSON", r.attributes)
			}
			got = append(got, strconv.FormatUint(r.time, 10)+" "+string(r.traceID)+" "+string(r.severityText))
			return nil
		})
		if wantErr != nil || err != nil {
			return // the reader reads no further than necessary, and accepts texts that are not UTF-8
		}
		var all []string
		for _, rl := range want.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				for _, l := range sl.GetLogRecords() {
					all = append(all, strconv.FormatUint(l.GetTimeUnixNano(), 10)+" "+hex.EncodeToString(l.GetTraceId())+" "+
						l.GetSeverityText())
				}
			}
		}
		if len(all) != len(got) {
			t.Fatalf("%d records, want %d", len(got), len(all))
		}
		for i := range all {
			if got[i] != all[i] && got[i] != errDepth.Error() {
				t.Errorf("record %d: %q, want %q", i, got[i], all[i])
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add(forms(f, export(whole(), &logs.LogRecord{Body: list(number(1))}))[typeJSON])
	f.Add(forms(f, repeatedKeys())[typeJSON])
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _ := receiver(t)
		if w := send(d, typeJSON, data); w.Code != 200 && w.Code != 400 && w.Code != 413 {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	records := make([]*logs.LogRecord, 1000)
	for i := range records {
		records[i] = &logs.LogRecord{
			TimeUnixNano: uint64(at.UnixNano()), SeverityNumber: 9, SeverityText: "INFO",
			Body:       text(strings.Repeat("GET /index.html 200 ", 6)),
			Attributes: []*common.KeyValue{pair("http.status", number(200)), pair("http.path", text("/index.html"))},
		}
	}
	body := forms(b, export(records...))[typeProto]
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := readProto(body, func(*record, error) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "records/s")
}

func jsonValid(text []byte) bool { return json.Valid(text) }

// TestRejectsAreWhole checks that a refused record is kept as a request with all data of the record, and that this
// request, once its fault is fixed, becomes the same row as the original record.
func TestRejectsAreWhole(t *testing.T) {
	for contentType, body := range forms(t, export(whole())) {
		d, want := receiver(t)
		if w := send(d, contentType, body); w.Code != http.StatusOK || len(want.Rows("public.opentelemetry_logs")) != 1 {
			t.Fatalf("%s: %d %s", contentType, w.Code, w.Body)
		}
		bad := whole()
		bad.TimeUnixNano = 1<<63 + 1
		d, st := receiver(t)
		r := httptest.NewRequest(http.MethodPost, "/v1/logs?on_reject=store",
			bytes.NewReader(forms(t, export(bad))[contentType]))
		r.Header.Set("Content-Type", contentType)
		receivertest.Serve(d.Logs, Refuse, r)
		rejects := st.Rows("svc_private.rejects")
		if len(rejects) != 1 || rejects[0]["format"] != "otlp" {
			t.Fatalf("%s: rejects %v", contentType, rejects)
		}
		record, _ := rejects[0]["record"].(string)
		mended := strings.Replace(record, "9223372036854775809", strconv.FormatInt(at.UnixNano(), 10), 1)
		if w := send(d, typeJSON, []byte(mended)); w.Code != http.StatusOK {
			t.Fatalf("%s: the fixed reject: %d %s", contentType, w.Code, w.Body)
		}
		if diff := cmp.Diff(want.Rows("public.opentelemetry_logs"), st.Rows("public.opentelemetry_logs")); diff != "" {
			t.Errorf("%s: the row of the fixed reject (-want +got):\n%s", contentType, diff)
		}
	}
}

// TestManyAttributes checks that a record whose attributes would take much more memory than the body is refused, and no
// other record.
func TestManyAttributes(t *testing.T) {
	good, bad := whole(), whole()
	for range 1 << 21 {
		bad.Attributes = append(bad.Attributes, &common.KeyValue{})
	}
	d, st := receiver(t)
	send(d, typeProto, forms(t, export(good))[typeProto])
	body, err := proto.Marshal(export(bad))
	if err != nil {
		t.Fatal(err)
	}
	d.Bodies, err = rawbody.New(rawbody.Config{MaxBytes: 16 << 20, MaxInFlight: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if w := send(d, typeProto, body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "16 MiB") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := len(st.Rows("public.opentelemetry_logs")); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestLoneSurrogates checks that the answer reports escapes that became U+FFFD.
func TestLoneSurrogates(t *testing.T) {
	d, _ := receiver(t)
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x \ud800"}}]}]}]}`
	w := send(d, typeJSON, []byte(body))
	if warnings := w.Header().Get("X-Svc-Warnings"); w.Code != 200 || !strings.HasPrefix(warnings, "1 escape") {
		t.Errorf("%d %q", w.Code, warnings)
	}
}
