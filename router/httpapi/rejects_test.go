package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// keptRows returns the rows for svc_private.rejects in an output, one per line.
func keptRows(t testing.TB, out *pipeline.Output) (rows []string) {
	for _, table := range out.Tables {
		if table.Table != "rejects" {
			continue
		}
		if table.Database != schema.PrivateDatabase || !table.Internal || table.NoCreate ||
			table.Options[schema.OptionTTL] != "7days" {
			t.Errorf("table %+v", table)
		}
		at := map[string]*column.Col{}
		for _, c := range table.Rows.Cols() {
			at[c.Name] = c
		}
		text := func(name string, row int) string {
			if c := at[name]; c != nil && !c.IsNull(row) {
				return string(c.Bytes(row))
			}
			return "-"
		}
		for row := range table.Rows.Rows() {
			s := fmt.Sprint(at["record_index"].Int(row))
			for _, name := range []string{
				"kind", "table_schema", "table_name", "pipeline", "pipeline_version", "custom_time_index", "format",
				"record",
			} {
				s += " " + text(name, row)
			}
			if reason := text("error", row); reason == "-" || reason == "skipped" || reason == "malformed" {
				t.Errorf("row %s has the reason %q", s, reason)
			}
			rows = append(rows, s)
		}
	}
	return rows
}

func TestRejectsAreKept(t *testing.T) {
	const v = "2024-07-04 08:31:00.987136"
	many := func(n int, record string) string { return strings.TrimSuffix(strings.Repeat(record+",", n), ",") }
	for _, tt := range []struct {
		name        string
		always      bool // the server stores rejects by default
		query       string
		contentType string
		body        string
		want        []string
		stored      int // number of rows from the client
		skipped     int
	}{
		{
			name: "not asked for", query: "&pipeline_name=edge&skip_error=true",
			body: `[{"t":"soon"},{"t":"2024-01-01T00:00:00"}]`, stored: 1, skipped: 1,
		},
		{
			name: "processors", query: "&pipeline_name=edge&skip_error=true&on_reject=store",
			body: `[{"t":"soon"}, {"t":"2024-01-01T00:00:00"} ,{ "k" : 1 }]`,
			want: []string{
				`0 processor public web edge ` + v + ` - json {"t":"soon"}`,
				`2 processor public web edge ` + v + ` - json { "k" : 1 }`,
			},
			stored: 1, skipped: 2,
		},
		{
			name: "the server keeps them", always: true, query: "&pipeline_name=edge&skip_error=true", body: `{"t":"soon"}`,
			want: []string{`0 processor public web edge ` + v + ` - json {"t":"soon"}`}, skipped: 1,
		},
		{
			name: "the request does not want it", always: true, query: "&pipeline_name=edge&skip_error=true&on_reject=drop",
			body: `{"t":"soon"}`, skipped: 1,
		},
		{
			name:  "all kinds of svc_identity",
			query: "&pipeline_name=svc_identity&skip_error=true&on_reject=store&custom_time_index=at;epoch;s",
			body: `[{"at":1,"n":1}, 7, {"n":1}, {"at":2,"n":"x"}, {"at":3,"svc_ttl":"soon"}, ` +
				`{"at":4,"svc_table_suffix":"/"}, {"at":5,"":1}]`,
			want: []string{
				`1 parse public web svc_identity - at;epoch;s json 7`,
				`2 time_index public web svc_identity - at;epoch;s json {"n":1}`,
				`3 type public web svc_identity - at;epoch;s json {"at":2,"n":"x"}`,
				`4 option public web svc_identity - at;epoch;s json {"at":3,"svc_ttl":"soon"}`,
				`5 table public web svc_identity - at;epoch;s json {"at":4,"svc_table_suffix":"/"}`,
				`6 table public web svc_identity - at;epoch;s json {"at":5,"":1}`,
			},
			stored: 1, skipped: 6,
		},
		{
			name: "malformed lines", query: "&pipeline_name=edge&skip_error=true&on_reject=store",
			contentType: "application/x-ndjson",
			body:        "{\"t\":\"2024-01-01T00:00:00\"}\n{oops\r\n\n{\"t\":\"a\xffb\"}\n{\"t\":\"soon\"}\n",
			want: []string{
				"1 parse public web edge " + v + " - json {oops",
				"2 parse public web edge " + v + " - json {\"t\":\"a\ufffdb\"}",
				"3 processor public web edge " + v + ` - json {"t":"soon"}`,
			},
			stored: 1, skipped: 3,
		},
		{
			name: "malformed JSON in lines", query: "&pipeline_name=edge&skip_error=true&on_reject=store",
			body:   "{\"t\":\"2024-01-01T00:00:00\"}\n{oops\n{\"t\":\"2024-01-01T00:00:00\"}",
			want:   []string{"1 parse public web edge " + v + " - json {oops"},
			stored: 2, skipped: 1,
		},
		{
			name: "text", query: "&pipeline_name=edge&skip_error=true&on_reject=store", contentType: "text/plain",
			body: "one\ntwo \xff\n",
			want: []string{
				"0 processor public web edge " + v + " - text one",
				"1 processor public web edge " + v + " - text two \ufffd",
			},
			skipped: 2,
		},
		{
			name: "many, each with its reason", query: "&pipeline_name=svc_identity&skip_error=true&on_reject=store",
			body: "[" + many(100, "7") + "]",
			want: func() (rows []string) {
				for i := range 100 {
					rows = append(rows, fmt.Sprintf("%d parse public web svc_identity - - json 7", i))
				}
				return rows
			}(), skipped: 100,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newPipelineFixture(t, func(c *Config) { c.StoreRejects = tt.always })
			f.put(t, "edge", minimal)
			var kept []string
			f.writer.answer = func(_ context.Context, _ int, out *pipeline.Output) (res write.Result, err error) {
				kept = keptRows(t, out)
				for _, table := range out.Tables {
					if !table.Internal {
						res.Rows += table.Rows.Rows()
					}
				}
				if res.Rows > 0 {
					res.Groups = []write.Group{{AffectedRows: res.Rows}}
				}
				return res, nil
			}
			contentType := tt.contentType
			if contentType == "" {
				contentType = "application/json"
			}
			w := f.call("POST", "/v1/ingest?table=web"+tt.query, tt.body, "Content-Type", contentType)
			if w.Code != 200 {
				t.Fatal(w.Code, w.Body)
			}
			if diff := cmp.Diff(tt.want, kept); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
			var a struct {
				Output []struct {
					AffectedRows int
				}
				Skipped struct {
					Count    int
					StoredIn string `json:"stored_in"`
					Reasons  []struct {
						Index       int
						Kind, Error string
					}
				}
			}
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
				t.Fatal(err)
			}
			rows := 0
			if len(a.Output) > 0 {
				rows = a.Output[0].AffectedRows
			}
			if rows != tt.stored || a.Skipped.Count != tt.skipped || w.Header().Get("x-svc-skipped") != fmt.Sprint(tt.skipped) ||
				(a.Skipped.StoredIn != "") != (tt.want != nil) {
				t.Errorf("answer %s", w.Body)
			}
			if n := len(a.Skipped.Reasons); n == 0 || n > 10 || a.Skipped.Reasons[0].Error == "" ||
				a.Skipped.Reasons[0].Kind == "" {
				t.Errorf("reasons %+v", a.Skipped.Reasons)
			}
			if metric := fmt.Sprintf("cordwood_ingest_rejects_stored_total{protocol=\"native\"} %d\n",
				len(tt.want)); !strings.Contains(f.call("GET", "/metrics", "").Body.String(), metric) {
				t.Errorf("no metric %s", metric)
			}
		})
	}
}

func TestSkippedMetricByKind(t *testing.T) {
	f := newPipelineFixture(t)
	f.ingest("&skip_error=true", `[{"a":1},{"a":"x"},7,8]`)
	metrics := f.call("GET", "/metrics", "").Body.String()
	for kind, want := range map[string]int{"type": 1, "parse": 2} {
		metric := fmt.Sprintf("cordwood_ingest_skipped_records_total{db=\"public\",kind=%q,protocol=\"native\"} %d\n", kind,
			want)
		if !strings.Contains(metrics, metric) {
			t.Errorf("no metric %s", metric)
		}
	}
}

func TestRejectsRefused(t *testing.T) {
	f := newPipelineFixture(t)
	text := checkError(t, f.ingest("&on_reject=keep", `{}`), 400, errs.InvalidArguments)
	if !strings.Contains(text, "on_reject") {
		t.Error(text)
	}
	checkError(t, f.ingest("&on_reject=drop&on_reject=drop", `{}`), 400, errs.InvalidArguments)
	// Without skip_error, no record is skipped or kept.
	checkError(t, f.ingest("&on_reject=store", `[7]`), 400, errs.InvalidArguments)
	if f.writer.calls != 0 {
		t.Error("a request that failed was written")
	}
	if _, err := New(Config{Catalog: f.catalog, Writer: f.writer, RejectsTTL: "soon"}); err == nil {
		t.Error("a bad ttl was accepted")
	}
}

// TestRejectsModel sends random bodies and checks that every failed record is kept with its own text and number,
// regardless of the records and bytes between them.
func TestRejectsModel(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "edge", minimal)
	var kept []string
	f.writer.answer = func(_ context.Context, _ int, out *pipeline.Output) (res write.Result, err error) {
		kept = keptRows(t, out)
		return res, nil
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		lines := r.IntN(2) == 0
		var body strings.Builder
		var want []string
		index := 0
		fail := func(kind, text string) {
			want = append(want, fmt.Sprintf("%d %s %s", index, kind, text))
			index++
		}
		for range r.IntN(20) {
			n := r.IntN(1000)
			switch r.IntN(6) {
			case 0:
				text := fmt.Sprintf(`{"t":"soon %d"}`, n)
				body.WriteString(text)
				fail("processor", text)
			case 1:
				text := fmt.Sprintf(`{ "no" : %d }`, n)
				body.WriteString(text)
				fail("processor", text)
			case 2:
				if !lines { // a syntax error ends a stream that is not divided into lines
					continue
				}
				text := fmt.Sprintf(`{"t":%d`, n)
				body.WriteString(text)
				fail("parse", text)
			case 3:
				if lines {
					body.WriteString("\n\n")
				}
				continue
			default:
				fmt.Fprintf(&body, `{"t":"2024-01-01T00:00:00","n":%d}`, n)
				index++
			}
			if lines {
				body.WriteString([]string{"\n", "\r\n"}[r.IntN(2)])
			} else {
				body.WriteString([]string{"", " ", "\n", "\t\n "}[r.IntN(4)])
			}
		}
		contentType := map[bool]string{true: "application/x-ndjson", false: "application/json"}[lines]
		w := f.call("POST", "/v1/ingest?table=web&pipeline_name=edge&skip_error=true&on_reject=store", body.String(),
			"Content-Type", contentType)
		if w.Code != 200 {
			t.Fatalf("seed %d: %d %s for %q", seed, w.Code, w.Body, body.String())
		}
		var got []string
		for _, row := range kept {
			row = strings.Replace(row, " public web edge 2024-07-04 08:31:00.987136 - json ", " ", 1)
			got = append(got, row)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: body %q (-want +got):\n%s", seed, body.String(), diff)
		}
		kept = nil
	}
}
