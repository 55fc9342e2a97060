package pipeline

import (
	"slices"
	"testing"
)

// Records that a program or a filter drops are counted. If no record of a request is left, a warning says which
// program dropped it.
func TestDroppedRecordsAreTold(t *testing.T) {
	const (
		null  = `processors: [{date: {field: no, formats: ['%Y-%m-%d'], ignore_missing: true}}, {vrl: {source: ".nope"}}]`
		empty = `processors: [{vrl: {source: "[]"}}]`
		some  = `processors: [{vrl: {source: "if .a == 1 { . = null }\n."}}]`
		drop  = `processors: [{filter: {field: m, targets: [x]}}]`
		end   = " is null or an empty list; end the program with . to keep its records"
	)
	for _, tt := range []struct {
		name, text string
		records    []string
		dropped    int
		want       []string
	}{
		{
			"null", null,
			[]string{`{"a":1}`, `{"a":2}`},
			2,
			[]string{"2 records were dropped by the pipeline p: the result of the program in processors[1]" + end},
		},
		{
			"an empty list", empty,
			[]string{`{"a":1}`},
			1,
			[]string{"1 record was dropped by the pipeline p: the result of the program in processors[0]" + end},
		},
		{
			"one of two", some,
			[]string{`{"a":1}`, `{"a":2}`},
			1,
			nil,
		},
		{"a filter", drop, []string{`{"m":"x"}`, `{"m":"y"}`}, 1, nil},
		{"nothing", "processors: []", []string{`{"m":"x"}`}, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Compile([]byte(tt.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			for run := range 2 { // the second reuses the runner of the first
				r, err := NewRunner(p, request(func(q *Request) { q.Pipeline = "p" }), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, record := range tt.records {
					if err := r.ScanLine([]byte(record)); err != nil {
						t.Fatal(err)
					}
				}
				out, err := r.Finish()
				if err != nil {
					t.Fatal(err)
				}
				if out.Dropped != tt.dropped || out.Skipped != 0 || out.Records != len(tt.records) {
					t.Errorf("run %d: %d dropped, %d skipped, %d records", run, out.Dropped, out.Skipped, out.Records)
				}
				if !slices.Equal(out.Warnings, tt.want) {
					t.Errorf("run %d: warnings %q, want %q", run, out.Warnings, tt.want)
				}
				r.Release()
			}
		})
	}
}
