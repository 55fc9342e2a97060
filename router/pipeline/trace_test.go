package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/proto/schema"
)

func TestTrace(t *testing.T) {
	const source = `
processors:
- letter: {field: "a, b"}
- vrl: {source: "del(.a)\n.n = 7\n."}
dispatcher: {field: k, rules: [{value: x, table_suffix: _x}]}
transform: [{field: n, type: int8}]
`
	p, err := Compile([]byte(source), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []RecordTrace
	q := request(skipErrors)
	q.Pipeline = "mine"
	q.Trace = func(r RecordTrace) { got = append(got, r) }
	runner, err := NewRunner(p, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Release()
	for _, line := range []string{`{"a":"X","svc_ttl":"1d"}`, `{"a":"Y","k":"x"}`, `{"a":1}`, `[]`} {
		if err := runner.ScanLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	options := map[string]string{"append_mode": "true", "comment": schema.CreatedOnInsertion}
	withTTL := map[string]string{"append_mode": "true", "comment": schema.CreatedOnInsertion, "ttl": "1day"}
	want := []RecordTrace{
		{Index: 0, Input: `{"a":"X","svc_ttl":"1d"}`, Outcome: Stored, Steps: []StepTrace{
			{
				Pipeline: "mine", Step: "processors[0] letter", Line: 3, Record: `{"a":"X","b":"x","svc_ttl":"1d"}`,
				Added: []string{"b"},
			},
			{
				Pipeline: "mine", Step: "processors[1] vrl", Position: 1, Line: 4, Record: `{"b":"x","n":7,"svc_ttl":"1d"}`,
				Added: []string{"n"}, Removed: []string{"a"},
			},
			{Pipeline: "mine", Step: "variables", Position: -1, Record: `{"b":"x","n":7}`, Removed: []string{"svc_ttl"}},
		}, Rows: []RowTrace{{Table: "t", Options: withTTL, Record: `{"b":"x","n":7}`, Dropped: []string{"b"}}}},
		{Index: 1, Input: `{"a":"Y","k":"x"}`, Outcome: Stored, Steps: []StepTrace{
			{Pipeline: "mine", Step: "processors[0] letter", Line: 3, Record: `{"a":"Y","b":"y","k":"x"}`, Added: []string{"b"}},
			{
				Pipeline: "mine", Step: "processors[1] vrl", Position: 1, Line: 4, Record: `{"b":"y","k":"x","n":7}`,
				Added: []string{"n"}, Removed: []string{"a"},
			},
			{Pipeline: "mine", Step: "dispatcher: to svc_identity", Position: -1, Record: `{"b":"y","k":"x","n":7}`},
		}, Rows: []RowTrace{{Table: "t_x", Options: options, Record: `{"b":"y","k":"x","n":7}`}}},
		{
			Index: 2, Input: `{"a":1}`, Outcome: Failed,
			Error: &StepError{
				Pipeline: "mine", Step: "processors[0] letter", Field: "a", Value: "1", Line: 3,
				Reason: "expected a string, found an integer",
			},
		},
		{
			Index: 3, Input: `[]`, Outcome: Failed,
			Error: &StepError{Pipeline: "mine", Step: "parse", Position: -1, Reason: "Top level value must be map"},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(StepTrace{}, "Took")); diff != "" {
		t.Error(diff)
	}
}

func TestTraceOfConflict(t *testing.T) {
	var got []*StepError
	q := request(skipErrors)
	q.Trace = func(r RecordTrace) { got = append(got, r.Error) }
	runner, err := NewRunner(nil, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Release()
	long := strings.Repeat("x", 100)
	for _, line := range []string{`{"n":1}`, `{"n":"` + long + `"}`} {
		if err := runner.ScanLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	shown := `"` + long[:63] + "…"
	want := []*StepError{
		nil,
		{
			Pipeline: "svc_identity", Step: "table", Position: -1, Field: "n", Value: shown, Table: "t",
			Reason: `column "n": expected Int64 as in an earlier record, actual String: ` + shown,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
