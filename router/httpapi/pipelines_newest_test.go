package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// A version is stored only if the author's base version is the newest.
func TestStoreOnCondition(t *testing.T) {
	f := newPipelineFixture(t)
	const text = "processors:\n  - date: {field: t}\n"
	put := func(query string, headers ...string) (status int, tag, answer string) {
		w := f.call(http.MethodPost, "/v1/pipelines/p"+query, text, headers...)
		return w.Code, w.Header().Get("ETag"), w.Body.String()
	}
	status, first, answer := put("?note="+url.QueryEscape("the first, ä"), "If-None-Match", "*")
	if status != http.StatusOK || first == "" {
		t.Fatalf("the first version: %d %s", status, answer)
	}
	if w := f.call(http.MethodGet, "/v1/pipelines/p", ""); w.Header().Get("ETag") != first ||
		!strings.Contains(w.Body.String(), `"note":"the first, ä"`) {
		t.Errorf("its text: ETag %s, want %s: %s", w.Header().Get("ETag"), first, w.Body)
	}
	status, second, answer := put("", "If-Match", first)
	if status != http.StatusOK || second == first {
		t.Fatalf("the second version: %d %s", status, answer)
	}
	for _, tt := range []struct{ name, header, value string }{
		{"of an old version", "If-Match", first},
		{"of none", "If-None-Match", "*"},
		{"of one that never was", "If-Match", `"2001-01-01 00:00:00"`},
	} {
		w := f.call(http.MethodPost, "/v1/pipelines/p", text, tt.header, tt.value)
		checkError(t, w, http.StatusPreconditionFailed, errs.IllegalState)
		var e struct {
			Newest struct{ Name, Version string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		if got := `"` + strings.Replace(e.Newest.Version, " ", "T", 1) + `Z"`; got != second || e.Newest.Name != "p" {
			t.Errorf("%s: the newest is %v, want %s", tt.name, e.Newest, second)
		}
	}
	for _, tt := range []struct{ header, value string }{
		{"If-Match", "7"}, {"If-Match", `"yesterday"`}, {"If-Match", "*"}, {"If-None-Match", second},
	} {
		checkError(t, f.call(http.MethodPost, "/v1/pipelines/p", text, tt.header, tt.value), http.StatusBadRequest,
			errs.InvalidArguments)
	}
	checkError(t, f.call(http.MethodPost, "/v1/pipelines/p", text, "If-Match", second, "If-None-Match", "*"),
		http.StatusBadRequest, errs.InvalidArguments)
	list := f.call(http.MethodGet, "/v1/pipelines", "").Body.String()
	if strings.Count(list, `"note":"the first, ä"`) != 1 {
		t.Errorf("the list does not have the note of the first version once: %s", list)
	}
}

// The answer to an upload that does not compile has the positions of all faults, including those inside a
// program.
func TestFaults(t *testing.T) {
	f := newPipelineFixture(t)
	type fault struct {
		Line      int    `json:"line"`
		Column    int    `json:"column"`
		EndLine   int    `json:"end_line"`
		EndColumn int    `json:"end_column"`
		Path      string `json:"path"`
	}
	for _, tt := range []struct {
		name, text string
		want       []fault
	}{
		{"two values", "processors:\n  - date: {field: t, timezone: Nowhere}\n" +
			"  - letter: {field: \"ä\", method: \"shout\"}\n", []fault{
			{2, 32, 2, 39, "processors[0].date.timezone"}, {3, 34, 3, 41, "processors[1].letter.method"},
		}},
		{"a key", "processors:\n  - dat: {field: t}\n", []fault{{2, 5, 2, 8, "processors[0].dat"}}},
		{"a program", "processors:\n  - vrl:\n      source: |\n        .a = 1\n        .b = nope(.a)\n        .\n", []fault{
			{5, 14, 5, 18, "processors[0].vrl.source"},
		}},
		{"a program in a line", "processors: [{vrl: {source: '.b = nope(.a)'}}]", []fault{
			{1, 35, 1, 39, "processors[0].vrl.source"},
		}},
		{"no YAML", "processors:\n  - date: {field: t\n", []fault{{2, 3, 2, 20, ""}}},
		{"a map", "processors:\n  date: 7\n", []fault{{2, 3, 2, 10, "processors"}}},
	} {
		w := f.call(http.MethodPost, "/v1/pipelines/p", tt.text)
		var e struct {
			Code   errs.Code
			Faults []fault
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != http.StatusBadRequest {
			t.Fatalf("%s: %d %s", tt.name, w.Code, w.Body)
		}
		if len(e.Faults) != len(tt.want) {
			t.Errorf("%s: %s", tt.name, w.Body)
			continue
		}
		for i, got := range e.Faults {
			if got != tt.want[i] {
				t.Errorf("%s: fault %d is at %v, want %v: %s", tt.name, i, got, tt.want[i], w.Body)
			}
		}
	}
}

// The trace of a dry run contains the line of each step, and its size is limited.
func TestDryRunTraceDetails(t *testing.T) {
	f := newPipelineFixture(t)
	type record struct {
		Index   int
		Outcome string
		Cut     bool
		Steps   []struct {
			Index *int
			Line  int
			Cut   bool
		}
		Rows  []struct{ Stored map[string]any }
		Error struct {
			Line   int
			Offset *int
			Field  string
		}
	}
	var answer struct {
		Cut    bool
		Tables []struct {
			RowsCut int `json:"rows_cut"`
		}
		Records []record
	}
	dry := func(query, pipeline, data string) int {
		t.Helper()
		body, err := json.Marshal(map[string]any{"pipeline": pipeline, "data": data})
		if err != nil {
			t.Fatal(err)
		}
		answer.Records, answer.Tables = nil, nil
		w := f.call(http.MethodPost, "/v1/pipelines/_dryrun?trace=true"+query, string(body),
			"Content-Type", "application/json")
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d %.300s: %v", w.Code, w.Body, err)
		}
		return w.Body.Len()
	}
	const pipeline = "processors:\n  - date: {field: t, formats: ['%Y-%m-%d']}\n  - vrl:\n      source: |\n" +
		"        .b = 1\n        .n = to_int!(.n)\n        .\n"
	dry("", pipeline, strings.Repeat(`{"t":"2024-01-01","n":"7"}`, 12)+
		`{"t":"2024-01x","n":"7"}{"t":"2024-01-01","n":"x"}`)
	if n := len(answer.Records); n != 14 {
		t.Fatalf("%d records", n)
	}
	for i, r := range answer.Records[:12] {
		if told := len(r.Steps) == 2; told != (i < 10) {
			t.Errorf("record %d has %d steps", i, len(r.Steps))
		}
	}
	r := answer.Records[0]
	if *r.Steps[0].Index != 0 || r.Steps[0].Line != 2 || *r.Steps[1].Index != 1 || r.Steps[1].Line != 3 ||
		r.Rows[0].Stored["n"] != 7. || r.Rows[0].Stored["b"] != 1. {
		t.Errorf("the first record: %+v", r)
	}
	if e := answer.Records[12].Error; e.Line != 2 || e.Offset == nil || *e.Offset != 7 || e.Field != "t" {
		t.Errorf("a wrong time: %+v", e)
	}
	if e := answer.Records[13].Error; e.Line != 6 {
		t.Errorf("a failing program: %+v, want line 6", e)
	}
	dry("&trace_records=13,11", pipeline, strings.Repeat(`{"t":"2024-01-01","n":"7"}`, 14))
	for i, r := range answer.Records {
		if told := len(r.Steps) == 2; told != (i == 11 || i == 13) {
			t.Errorf("asked for 11 and 13, record %d has %d steps", i, len(r.Steps))
		}
	}
	long := `{"t":"2024-01-01","n":"7","x":"` + strings.Repeat("x", 300<<10) + `"}`
	if n := dry("", pipeline, strings.Repeat(long, 40)); n > 5<<20 || !answer.Cut || answer.Tables[0].RowsCut == 0 {
		t.Errorf("long records: %d bytes, cut=%t, %+v", n, answer.Cut, answer.Tables)
	}
	for _, query := range []string{"&trace_records=x", "&trace_records=100", "&trace_records=-1"} {
		w := f.call(http.MethodPost, "/v1/pipelines/_dryrun?trace=true&pipeline_name=svc_identity"+query, "[]")
		checkError(t, w, http.StatusBadRequest, errs.InvalidArguments)
	}
}
