package elasticsearch

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

func receiver(t testing.TB) (*Receiver, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	return New(d), st
}

// bulk sends a bulk request; vars are variables of the path.
func bulk(d *Receiver, query, body string, vars ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/_bulk"+query, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-ndjson")
	named := map[string]string{}
	for i := 0; i+1 < len(vars); i += 2 {
		named[vars[i]] = vars[i+1]
	}
	return receivertest.Serve(d.Bulk, Refuse, mux.SetURLVars(r, named))
}

// result is the answer to a bulk request.
type result struct {
	Errors bool `json:"errors"`
	Items  []map[string]struct {
		Index  string `json:"_index"`
		ID     string `json:"_id"`
		Status int    `json:"status"`
		Error  struct {
			Type, Reason string
		} `json:"error"`
	} `json:"items"`
}

func parse(t testing.TB, w *httptest.ResponseRecorder) (out result) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return out
}

// statuses returns the statuses of the items, by verb.
func statuses(r result) (out []string) {
	for _, item := range r.Items {
		for verb, it := range item {
			out = append(out, strings.TrimSpace(verb+" "+http.StatusText(it.Status)+" "+it.Error.Type))
		}
	}
	return out
}

// TestItems checks that each document has its own item, and that a fault in one document does not affect the others.
func TestItems(t *testing.T) {
	d, st := receiver(t)
	w := bulk(d, "", `{"create":{"_index":"logs-2026.11.22","_id":"a"}}
{"@timestamp":"2024-01-02T03:04:05.5Z","n":1}

{"index":{"_index":"logs-000001","_type":"_doc","routing":7}}
{"n":"no number"}
{"update":{"_index":"logs","_id":"1"}}
{"doc":{"n":1}}
{"delete":{"_index":"logs","_id":"1"}}
{"index":{"_index":"Other Index","_id":null}}
{"n":2}`+"\r\n"+`{"index":{"_index":"logs"}}
[1]
{"index":{}}
{"n":3}
{"index":{"_index":"logs"}}
{"n":
{"index":{"_index":"logs"}}`)
	got := parse(t, w)
	want := []string{
		"create Created", "index Bad Request document_parsing_exception", "update Bad Request document_parsing_exception",
		"delete Bad Request document_parsing_exception", "index Created", "index Bad Request document_parsing_exception",
		"index Bad Request document_parsing_exception", "index Bad Request document_parsing_exception",
	}
	if diff := cmp.Diff(want, statuses(got)); diff != "" || w.Code != 200 || !got.Errors {
		t.Errorf("%d %s (-want +got):\n%s", w.Code, w.Body, diff)
	}
	if got.Items[0]["create"].ID != "a" || got.Items[0]["create"].Index != "logs-2026.11.22" ||
		len(got.Items[4]["index"].ID) != 20 {
		t.Errorf("names of items: %s", w.Body)
	}
	rows := st.Rows("public.logs")
	if len(rows) != 1 || rows[0]["svc_timestamp"] != time.Date(2024, 1, 2, 3, 4, 5, 5e8, time.UTC) ||
		rows[0]["@timestamp"] != "2024-01-02T03:04:05.5Z" {
		t.Errorf("rows %v", rows)
	}
	if other := st.Rows("public.Other_Index"); len(other) != 1 {
		t.Errorf("tables %v", st.Tables())
	}
	if w.Header().Get("X-Elastic-Product") != "Elasticsearch" {
		t.Error("the answer does not name the product")
	}
}

// TestForms tests the index in the path, the parameters, and the parts of the answer.
func TestForms(t *testing.T) {
	const one = "{\"index\":{}}\n{\"message\":\"{\\\"a\\\":1}\",\"b\":2}\n"
	for _, c := range []struct {
		name, query, body, table string
		vars                     []string
		columns                  string
	}{
		{"an index in the path", "", one, "public.app", []string{"index", "app"}, "b message"},
		{"a date that stays", "?index_date=keep", one, "public.app-2026.11", []string{"index", "app-2026.11"}, "b message"},
		{"a table", "?table=t&db=public", one, "public.t", []string{"index", "app"}, "b message"},
		{"a table and no index", "?table=t", one, "public.t", nil, "b message"},
		{"an inner document", "?msg_field=message", one, "public.app", []string{"index", "app"}, "a"},
		{
			"an inner text", "?msg_field=message", "{\"index\":{}}\n{\"message\":\"plain\",\"b\":2}\n", "public.app",
			[]string{"index", "app"},
			"message",
		},
		{
			"without the time of the event", "?event_time=off", "{\"index\":{}}\n{\"@timestamp\":\"2001-01-01\"}\n",
			"public.app",
			[]string{"index", "app"},
			"@timestamp",
		},
		{"no pipeline", "?pipeline=_none", one, "public.app", []string{"index", "app"}, "b message"},
	} {
		d, st := receiver(t)
		w := bulk(d, c.query, c.body, c.vars...)
		rows := st.Rows(c.table)
		if len(rows) != 1 {
			t.Errorf("%s: %d %s: tables %v", c.name, w.Code, w.Body, st.Tables())
			continue
		}
		for _, name := range strings.Fields(c.columns) {
			if rows[0][name] == nil {
				t.Errorf("%s: no %s in %v", c.name, name, rows[0])
			}
		}
		if c.query == "?event_time=off" && rows[0]["svc_timestamp"] == time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) {
			t.Errorf("%s: row %v", c.name, rows[0])
		}
	}
	d, _ := receiver(t)
	if w := bulk(d, "?filter_path=errors,items.*.status", one, "index",
		"app"); strings.TrimSpace(w.Body.String()) != `{"errors":false,"items":[{"index":{"status":201}}]}` {
		t.Errorf("filter_path: %s", w.Body)
	}
	if w := bulk(d, "?pipeline=missing", one, "index",
		"app"); statuses(parse(t, w))[0] != "index Bad Request illegal_argument_exception" {
		t.Errorf("an unknown pipeline: %s", w.Body)
	}
}

// TestInvalidBodies checks that an invalid body is refused as a whole.
func TestInvalidBodies(t *testing.T) {
	for _, body := range []string{
		"7\n{}\n", `{"upsert":{}}` + "\n{}\n", `{"index":{}} x` + "\n{}\n", `{"index":{},"create":{}}` + "\n{}\n",
		"{\"index\":{\"_id\":\"" + strings.Repeat("x", 600) + "\"}}\n{}\n",
	} {
		d, st := receiver(t)
		w := bulk(d, "", body, "index", "app")
		if w.Code != 400 || !strings.Contains(w.Body.String(), "line 1 of the body") || st.Writes() > 0 {
			t.Errorf("%.40q: %d %s", body, w.Code, w.Body)
		}
	}
	d, _ := receiver(t)
	if w := bulk(d, "", ""); w.Code != 200 || len(parse(t, w).Items) != 0 {
		t.Errorf("nothing: %d %s", w.Code, w.Body)
	}
}

// TestPressed checks the answers to temporary refusals, after which clients resend. If nothing was stored, the status
// is 503, and each document has an item with status 429. Otherwise only the refused documents have items with status
// 429.
func TestPressed(t *testing.T) {
	d, st := receiver(t)
	st.Refuse("public.full", errs.New(errs.RateLimited, "too many new tables"))
	const two = "{\"index\":{\"_index\":\"full\"}}\n{\"n\":1}\n{\"create\":{\"_index\":\"full\",\"_id\":\"x\"}}" +
		"\n{\"n\":2}\n"
	w := bulk(d, "", two)
	if got := parse(t, w); w.Code != 503 || w.Header().Get("Retry-After") == "" ||
		w.Header().Get("X-Svc-Err-Code") != "6001" ||
		!cmp.Equal(statuses(got), []string{
			"index Too Many Requests es_rejected_execution_exception",
			"create Too Many Requests es_rejected_execution_exception",
		}) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	w = bulk(d, "", two+"{\"index\":{\"_index\":\"fine\"}}\n{\"n\":1}\n")
	if got := statuses(parse(t, w)); w.Code != 200 || w.Header().Get("Retry-After") == "" || len(got) != 3 ||
		got[2] != "index Created" ||
		!strings.Contains(got[0], "Too Many") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// The request is refused before its body is read.
	st.Fill(errs.New(errs.StorageUnavailable, "the disk is full"))
	w = bulk(d, "", two)
	if got := parse(t, w); w.Code != 503 || len(got.Items) != 2 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(strings.Repeat(two, 3))) // writing to a buffer does not fail
	_ = z.Close()
	r := httptest.NewRequest(http.MethodPost, "/_bulk", &packed)
	r.Header.Set("Content-Encoding", "gzip")
	w = receivertest.Serve(d.Bulk, Refuse, r)
	if got := parse(t, w); w.Code != 503 || len(got.Items) != 6 {
		t.Errorf("compressed: %d %s", w.Code, w.Body)
	}
	w = receivertest.Serve(d.Document, Refuse, mux.SetURLVars(
		httptest.NewRequest(http.MethodPost, "/full/_doc", strings.NewReader(`{"n":1}`)), map[string]string{"index": "full"}))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("a document: %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// TestKeys checks that a repeated request is recognised by the ids and contents of its documents, if all of them have
// an id.
func TestKeys(t *testing.T) {
	d, st := receiver(t)
	for _, body := range []string{
		"{\"index\":{\"_index\":\"a\",\"_id\":\"1\"}}\n{\"n\":1}\n",
		"{\"index\":{\"_index\":\"a\",\"_id\":\"1\"}}\n{\"n\":1}\n{\"index\":{\"_index\":\"b\"}}\n{\"n\":1}\n",
		"{\"index\":{\"_index\":\"a\",\"_id\":\"1\"}}\n{\"n\":2}\n",
	} {
		bulk(d, "", body)
	}
	texts := map[string]int{}
	for _, k := range st.Keys() {
		texts[k.Text]++
	}
	if len(texts) != 2 || texts[""] != 0 {
		t.Errorf("keys %v: want one that occurs twice, and one for another document", texts)
	}
}

// TestDocument stores a single document, and reports what is wrong with another.
func TestDocument(t *testing.T) {
	d, st := receiver(t)
	send := func(body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPut, "/app/_doc/5", strings.NewReader(body))
		return receivertest.Serve(d.Document, Refuse, mux.SetURLVars(r, map[string]string{"index": "app", "id": "5"}))
	}
	if w := send(`{"n":1}`); w.Code != 201 || !strings.Contains(w.Body.String(), `"_id":"5"`) ||
		len(st.Rows("public.app")) != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, body := range []string{`[1]`, `{"n":`} {
		if w := send(body); w.Code != 400 || !strings.Contains(w.Body.String(), `"error":{"type":"`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// TestTimes reads the forms of @timestamp.
func TestTimes(t *testing.T) {
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano()
	for document, want := range map[string]int64{
		`{"@timestamp":"2024-01-02T03:04:05Z"}`:                               at,
		`{"a":{"@timestamp":"2001-01-01"},"@timestamp":1704164645}`:           at,
		`{"@timestamp":1704164645000}`:                                        at,
		`{"@timestamp":1704164645000000}`:                                     at,
		`{"@timestamp":1704164645000000000}`:                                  at,
		`{"@timestamp":"2024-01-02T04:04:05+0100"}`:                           at,
		`{"@timestamp":"2024-01-02 03:04:05"}`:                                at,
		`{"@timestamp":1704164645.5}`:                                         at + 5e8,
		`{"a":"@timestamp"}`:                                                  0,
		`{"a":{"@timestamp":"2024-01-02T03:04:05Z"}}`:                         0,
		`{"@timestamp":"9999-01-01T00:00:00Z"}`:                               0,
		`{"@timestamp":"soon"}`:                                               0,
		`{"@timestamp":null}`:                                                 0,
		`{"@timestamp":`:                                                      0,
		`{"@timestamp":1e300}`:                                                0,
		`{"@timestamp":["2024-01-02T03:04:05Z"]}`:                             0,
		"{\"\\u0040timestamp\":\"2024-01-02T03:04:05Z\",\"@timestamp\":\"\"}": at,
	} {
		if got, ok := timeOf([]byte(document)); got != want && ok || ok != (want != 0) {
			t.Errorf("%s: %d %v, want %d", document, got, ok, want)
		}
	}
	for index, want := range map[string]string{
		"logs-2026.11.22": "logs", "logs-2026.11": "logs", "logs-000001": "logs", "-000001": "-000001", "a-1": "a-1",
		"2026.11.22": "2026.11.22", "logs-2026-11-22": "logs", "logs-2026-11": "logs-2026-11",
	} {
		if got := withoutDate(index); got != want {
			t.Errorf("%s: %s, want %s", index, got, want)
		}
	}
}

// TestMemberAfterAction checks that a member after the action, such as the one that winston-elasticsearch adds, has no
// effect.
func TestMemberAfterAction(t *testing.T) {
	d, st := receiver(t)
	w := bulk(d, "", `{"index":{"_index":"logs"},"attempts":0}`+"\n"+`{"n":1}`+"\n")
	if got := statuses(parse(t, w)); w.Code != 200 || len(got) != 1 || got[0] != "index Created" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := len(st.Rows("public.logs")); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// TestHandshake checks the answers to the requests that clients send before they send documents.
func TestHandshake(t *testing.T) {
	d, _ := receiver(t)
	d.Version = "7.17.0"
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"info", d.Info, `"number":"7.17.0"`},
		{"license", d.License, `"type":"basic"`},
		{"xpack", d.XPack, `"ilm"`},
		{"nodes", d.Nodes, `"publish_address"`},
		{"health", d.Health, `"status":"green"`},
		{"cat", d.CatHealth, "green"},
		{"set-up", d.SetUp, "{}"},
		{"refresh", d.Refresh, `"successful":1`},
		{"search", d.Unsupported, "unsupported_operation_exception"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept", "application/vnd.elasticsearch+json; compatible-with=8")
		w := receivertest.Serve(c.handler, Refuse, r)
		if !strings.Contains(w.Body.String(), c.want) || w.Header().Get("X-Elastic-Product") != "Elasticsearch" {
			t.Errorf("%s: %d %v %s", c.name, w.Code, w.Header(), w.Body)
		}
		if body := w.Body.Bytes(); c.name != "cat" &&
			(!json.Valid(body) || w.Header().Get("Content-Type") != r.Header.Get("Accept")) {
			t.Errorf("%s: %v %s", c.name, w.Header(), body)
		}
	}
	r := httptest.NewRequest(http.MethodPut, "/_template/x", strings.NewReader("{}"))
	if w := receivertest.Serve(d.SetUp, Refuse, r); !strings.Contains(w.Body.String(), `"acknowledged":true`) {
		t.Errorf("a template: %s", w.Body)
	}
}

// TestSetUpIsLogged checks that one log line for each path reports that nothing is stored, and that the number of
// logged paths is limited.
func TestSetUpIsLogged(t *testing.T) {
	base, _ := receivertest.New(t)
	var log bytes.Buffer
	base.Log = slog.New(slog.NewTextHandler(&log, nil))
	d := New(base)
	send := func(method, path string) {
		receivertest.Serve(d.SetUp, Refuse, httptest.NewRequest(method, path, strings.NewReader("{}")))
	}
	for _, path := range []string{"/_template/a", "/_template/a", "/_template/b", "/_template/a"} {
		send(http.MethodPut, path)
		send(http.MethodGet, path)
	}
	text := log.String()
	if a, b := strings.Count(text, "path=/_template/a"), strings.Count(text, "path=/_template/b"); a != 1 || b != 1 ||
		strings.Count(text, "\n") != 2 {
		t.Errorf("the log:\n%s", &log)
	}
	for i := range maxLogged + 10 {
		send(http.MethodPut, fmt.Sprintf("/_template/%d/%s", i, strings.Repeat("x", 1000)))
	}
	if n := strings.Count(log.String(), "\n"); n != maxLogged || log.Len() > maxLogged*600 {
		t.Errorf("%d lines, %d bytes", n, log.Len())
	}
}

// FuzzBulk checks that every body gets an answer with an item for each document, or an error.
func FuzzBulk(f *testing.F) {
	f.Add([]byte("{\"index\":{\"_index\":\"a\"}}\n{\"n\":1}\n"))
	f.Add([]byte("{\"create\":{\"_index\":\"a\",\"_id\":\"\\u0041\"}}\r\n\n{\"@timestamp\":1}"))
	f.Add([]byte("{\"delete\":{}}\n{\"update\":{\"_id\":7}}\n[\n"))
	f.Add([]byte("{\"index\":{}}\n{}\n{\"index\":{}}\n{\"index\":{}}\n\n{\"index\":{}}\n{}\n{\"index\":{}}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		operations, err := (&reader{byDefault: "default"}).read(bytes.Clone(body))
		for i := range operations {
			if o := &operations[i]; o.verb == "" || err != nil && o.status != 0 {
				t.Errorf("operation %+v", o)
			}
			timeOf(operations[i].document)
			inner(operations[i].document, "message")
		}
		compareSlow(t, body, operations)
		d, _ := receiver(t)
		w := bulk(d, "", string(body), "index", "x")
		if w.Code == 200 {
			if got := parse(t, w); len(got.Items) != len(operations) {
				t.Errorf("%d items for %d operations", len(got.Items), len(operations))
			}
		} else if w.Code != 400 && w.Code != 503 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// compareSlow compares the result with that for the body with a space after each line, which the fast paths do not
// handle.
func compareSlow(t *testing.T, body []byte, want []operation) {
	t.Helper()
	got, _ := (&reader{byDefault: "default"}).read(bytes.ReplaceAll(body, []byte("\n"), []byte(" \n")))
	if len(got) != len(want) {
		t.Fatalf("%d operations, slowly %d", len(want), len(got))
	}
	for i := range got {
		a, b := &got[i], &want[i]
		if *a.command != *b.command || !bytes.Equal(a.id, b.id) || !bytes.Equal(a.document, b.document) ||
			(a.fault == nil) != (b.fault == nil) || a.fault != nil && *a.fault != *b.fault {
			t.Fatalf("operation %d: %s, slowly %s", i, b.document, a.document)
		}
	}
}

// BenchmarkBulk processes 1,000 documents with a store that does not write them.
func BenchmarkBulk(b *testing.B) {
	var body strings.Builder
	for range 1000 {
		body.WriteString("{\"create\":{\"_index\":\"logs-2026.11.24\"}}\n{\"@timestamp\":\"2026-11-24T10:00:00.123Z\"," +
			"\"level\":\"info\",\"message\":\"request done\",\"status\":200,\"took\":12.5,\"path\":\"/a/b\"}\n")
	}
	d, _ := receiver(b)
	text := body.String()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if w := bulk(d, "", text); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

// If a request would create too many new indexes, the client must resend the documents for the excess ones.
func TestNewIndexesAreBounded(t *testing.T) {
	d, st := receiver(t)
	var body strings.Builder
	for i := range 103 {
		fmt.Fprintf(&body, "{\"index\":{\"_index\":\"new%d\"}}\n{\"a\":1}\n", i)
	}
	w := bulk(d, "", body.String())
	if w.Code != http.StatusOK || strings.Count(w.Body.String(), `"status":201`) != 100 ||
		strings.Count(w.Body.String(), `"status":429`) != 3 || len(st.Tables()) != 100 {
		t.Errorf("%d %.300s, %d tables", w.Code, w.Body, len(st.Tables()))
	}
	for i := range 100 {
		st.Create("public", "new"+strconv.Itoa(i), timeIndex)
	}
	if w = bulk(d, "", body.String()); strings.Count(w.Body.String(), `"status":201`) != 103 {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}

var timeIndex = schema.Column{
	Name: "svc_timestamp", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true,
}

// pieceWriter records the longest piece of an answer.
type pieceWriter struct {
	http.ResponseWriter
	longest int
}

func (w *pieceWriter) Write(p []byte) (int, error) {
	w.longest = max(w.longest, len(p))
	return w.ResponseWriter.Write(p)
}

// TestAnswersInPieces checks that a large answer is never in memory as a whole, and does not repeat a long name. An
// index in the path once turned a body of 320 KB into 80 MB.
func TestAnswersInPieces(t *testing.T) {
	for name, c := range map[string]struct {
		index string
		busy  bool
		want  int
	}{
		"a long name": {strings.Repeat("é", 2000), false, 400},
		"stored":      {"logs", false, 201},
		"busy":        {"logs", true, 429},
	} {
		d, st := receiver(t)
		if c.busy {
			st.Refuse("public.logs", errs.New(errs.ShardNotReady, "no leader"))
		}
		r := httptest.NewRequest(http.MethodPost, "/x/_bulk", strings.NewReader(strings.Repeat("{\"index\":{}}\n{}\n", 5000)))
		r = mux.SetURLVars(r, map[string]string{"index": c.index})
		longest := 0
		w := receivertest.Serve(func(w http.ResponseWriter, r *http.Request) {
			p := &pieceWriter{ResponseWriter: w}
			d.Bulk(p, r)
			longest = p.longest
		}, Refuse, r)
		items := parse(t, w).Items
		if len(items) != 5000 || longest > 2*pieceBytes || w.Body.Len() > 5000*600 {
			t.Errorf("%s: %d items, pieces of up to %d bytes, %d bytes", name, len(items), longest, w.Body.Len())
			continue
		}
		for _, item := range items {
			if got := item["index"]; got.Status != c.want || !utf8.ValidString(got.Index) {
				t.Fatalf("%s: %+v", name, got)
			}
		}
	}
}

// With id_column, the _id becomes a column, and the primary key of a new table that keeps the last row.
func TestIDColumn(t *testing.T) {
	d, st := receiver(t)
	w := bulk(d, "?id_column=_id", `{"index":{"_index":"t","_id":"a\"1"}}
{"@timestamp":"2024-05-06T07:08:09Z","n":1,"_id":"own"}
{"index":{"_index":"t","_id":7}}
{ }
{"index":{"_index":"t"}}
{"n":3}
{"index":{"_index":"t","_id":"x"}}
{"n":
`)
	want := []string{"index Created", "index Created", "index Created", "index Bad Request document_parsing_exception"}
	if got := statuses(parse(t, w)); !slices.Equal(got, want) {
		t.Errorf("items %v: %s", got, w.Body)
	}
	var ids []any
	for _, row := range st.Rows("public.t") {
		ids = append(ids, row["_id"])
	}
	if diff := cmp.Diff([]any{`a"1`, "7", nil}, ids); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
	for _, c := range st.Columns("public.t") {
		if (c.Name == "_id") != (c.Semantic == schema.Tag) {
			t.Errorf("column %s: %s", c.Name, c.Semantic)
		}
	}
	if o := st.Options("public.t"); o["append_mode"] != "false" || o["merge_mode"] != "last_row" {
		t.Errorf("options %v", o)
	}
}

// TestOperationsGrow checks that the memory for operations is reserved before it is allocated, also for commands
// without a document, and that equal commands are kept in memory once.
func TestOperationsGrow(t *testing.T) {
	const n = 1000
	body := bytes.Repeat([]byte("{\"delete\":{\"_index\":\"a\",\"_id\":\"x\"}}\n"), n)
	release(make([]operation, 0, 2*n)) // a list of an earlier request counts with its whole memory
	asked := 0
	b := reader{room: func(operations int) error { asked = max(asked, operations); return nil }}
	operations, err := b.read(body)
	if err != nil || len(operations) != n || asked < cap(operations) {
		t.Fatalf("%d operations of %d in the memory for %d, of %d: %v", len(operations), n, cap(operations), asked, err)
	}
	if operations[0].command != operations[n-1].command {
		t.Error("each operation has its own command")
	}
	b = reader{room: func(int) error { return errors.New("no room") }}
	if _, err := b.read(body); err == nil {
		t.Error("operations are read without memory for them")
	}
}

// TestNamesOfItems checks that each item has the index and the id of its own document, and that generated ids differ.
func TestNamesOfItems(t *testing.T) {
	d, _ := receiver(t)
	w := bulk(d, "", `{"create":{"_index":"a"}}
{"n":1}
{"create":{"_index":"a"}}
{"n":2}
{"index":{"_index":"b","_id":"x"}}
{"n":3}
{"create":{"_index":"a"}}
{"n":4}
`)
	seen := map[string]bool{}
	for i, item := range parse(t, w).Items {
		for _, got := range item {
			if want := []string{"a", "a", "b", "a"}[i]; got.Index != want || (got.ID == "x") != (want == "b") || seen[got.ID] ||
				want == "a" && len(got.ID) != madeIDLength {
				t.Errorf("item %d: %+v", i, got)
			}
			seen[got.ID] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("%s", w.Body)
	}
}

// TestOperationsIn checks that the estimate covers all operations of a body of similar documents, and a few more. A
// body whose documents become longer or shorter must not reserve more than it needs.
func TestOperationsIn(t *testing.T) {
	long := "{\"create\":{}}\n{\"a\":\"" + strings.Repeat("x", 500) + "\"}\n"
	short := "{\"create\":{}}\n{\"a\":1}\n"
	for _, test := range []struct {
		body        string
		least, most int
	}{
		{"", 1, 1},
		{strings.Repeat(short, 3000), 3000, 3001},
		{strings.Repeat(long, 5000), 5000, 5700},
		{strings.Repeat(short, 100_000), 100_000, 115_000},
		{strings.Repeat(short, 5000) + strings.Repeat(long, 5000), 4000, 6000},
		{strings.Repeat(long, 5000) + strings.Repeat(short, 5000), 4000, 6000},
	} {
		if n := operationsIn([]byte(test.body)); n < test.least || n > test.most {
			t.Errorf("%d bytes: %d operations, want %d to %d", len(test.body), n, test.least, test.most)
		}
	}
}
