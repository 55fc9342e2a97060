package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/jsonscan"
)

// FuzzCompile compiles untrusted documents.
func FuzzCompile(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.yaml")
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add("version: 2\nprocessors: [{letter: {fields: ['a, b', {key: c, rename_to: d}]}}]\ndispatcher: {field: " +
		"k, rules: [{value: 7, table_suffix: x}]}\ntable_suffix: _${a}")
	f.Add("transform: [{field: a, type: string, index: {type: fulltext, options: {granularity: 1}}, on_failure: " +
		"default, default: 1}]")
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Compile([]byte(src), Options{})
		if err != nil {
			if e := (*document.Error)(nil); !errors.As(err, &e) || errs.CodeOf(err) != errs.InvalidArguments {
				t.Errorf("%T %v", err, err)
			}
			return
		}
		p.Columns()
		runner, err := NewRunner(p, request(skipErrors), func(string, string) (*Pipeline, error) { return p, nil })
		if err != nil {
			t.Fatal(err)
		}
		defer runner.Release()
		for _, line := range []string{`{}`, `{"message":"a b c","a":1,"k":7,"c":null,"t":"2024-01-01T00:00:00Z"}`} {
			if err := runner.ScanLine([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := runner.Finish(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzRecords passes untrusted records through a pipeline with many processors.
func FuzzRecords(f *testing.F) {
	const source = `
version: 2
processors:
- letter: {field: "a, b", ignore_missing: true}
- vrl:
    source: |
      if .many == true { [{"n": .a}, {"n": .b, "svc_table_suffix": .c}, .] } else { . }
dispatcher: {field: k, rules: [{value: again, table_suffix: _a, pipeline: x}, {value: 1, table_suffix: _i}]}
table_suffix: _${s}
transform:
- {field: t, type: 'epoch, ms', index: timestamp, on_failure: default}
- {fields: [n, m], type: int16, on_failure: ignore}
- {field: j, type: json}
- {field: str, type: string, tag: true}
`
	p, err := Compile([]byte(source), Options{})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		`{"a":"X","t":5,"n":"7","j":{"x":[1]},"str":1.5,"o":{"p":{}}}`,
		`{"many":true,"a":"1","b":"2","c":"_q"}` + "\n" + `{"many":true,"a":1,"c":"/"}`,
		`{"k":"again","t":1}` + "\n" + `{"k":1,"a.b":1,"a":{"b":"x"}}`, `{"s":"x","svc_ttl":"1d"}`, `[1]`, `{"a":`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		strict, errStrict := runRecords(t, p, request(), text)
		skip, errSkip := runRecords(t, p, request(skipErrors), text)
		if errStrict == nil && (errSkip != nil || strict != skip) {
			t.Errorf("skip_error changes a valid request:\n%s\n%s%v", strict, skip, errSkip)
		}
		traced, errTraced := runRecords(t, p, request(skipErrors, func(q *Request) { q.Trace = func(RecordTrace) {} }), text)
		if skip != traced || (errSkip == nil) != (errTraced == nil) {
			t.Errorf("a trace changes the result:\n%s%v\n%s%v", skip, errSkip, traced, errTraced)
		}
	})
}

func runRecords(t *testing.T, p *Pipeline, q *Request, text string) (string, error) {
	runner, err := NewRunner(p, q, func(string, string) (*Pipeline, error) { return p, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Release()
	for _, line := range strings.Split(text, "\n") {
		if err := runner.ScanLine([]byte(line)); err != nil {
			if syntax := (*jsonscan.Error)(nil); errs.CodeOf(err) != errs.InvalidArguments && !errors.As(err, &syntax) {
				t.Errorf("%T %v", err, err)
			}
			return "", err
		}
	}
	out, err := runner.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range out.Tables {
		table.Rows.Encode(nil, column.Header{})
	}
	return dump(out), nil
}
