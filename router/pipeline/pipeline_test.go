package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/ingest/jsonscan"
	"cordwood/router/pipeline/document"
)

// library is pipelines by name, in YAML.
type library map[string]string

func (l library) lookup(name, version string) (*Pipeline, error) {
	src, ok := l[name]
	if !ok || version != "" {
		return nil, errs.New(errs.InvalidArguments, "Pipeline not found, name: %s, version: latest", name)
	}
	return Compile([]byte(src), Options{})
}

// runThrough feeds lines to a pipeline, twice so that memory used before shows, and dumps
// what came of it.
func runThrough(src string, q *Request, lines []string, others library) (string, error) {
	var p *Pipeline
	if src != "" {
		var err error
		if p, err = Compile([]byte(src), Options{}); err != nil {
			return "", err
		}
	}
	var first string
	for i := range 2 {
		runner, err := NewRunner(p, q, others.lookup)
		if err != nil {
			return "", err
		}
		for _, line := range lines {
			if text, ok := strings.CutPrefix(line, "text:"); ok {
				err = runner.TextRecord([]byte(text))
			} else {
				err = runner.ScanLine([]byte(line))
			}
			if err != nil {
				return "", err
			}
		}
		out, err := runner.Finish()
		if err != nil {
			return "", err
		}
		got := dump(out)
		runner.Release()
		if i == 0 {
			first = got
		} else if got != first {
			return "", fmt.Errorf("the second run gives\n%s\nthe first gave\n%s", got, first)
		}
	}
	return first, nil
}

// pipelineCase is a pipeline with records and what they become: the dump of an output,
// or after ! a part of the error.
type pipelineCase struct {
	name    string
	source  string
	change  []func(*Request)
	records string
	want    string
}

func checkPipelines(t *testing.T, others library, cases []pipelineCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got, err := runThrough(tt.source, request(tt.change...), elements(tt.records), others)
			if want, isError := strings.CutPrefix(tt.want, "!"); isError {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v\n%s\nwant %s", err, got, want)
				} else if syntax := (*jsonscan.Error)(nil); errs.CodeOf(err) != errs.InvalidArguments && !errors.As(err, &syntax) {
					t.Errorf("error %v has code %d", err, errs.CodeOf(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(trimLines(tt.want), trimLines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const timeList = "transform:\n- {field: t, type: 'epoch, s', index: timestamp}\n"

func TestTransform(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{"listed only", timeList + "- {field: 'n, count', type: int32}\n- {field: s, type: string}", nil, `[{"t":5,"n":"7","s":true,"x":1},{"t":"6"}]`, `
			t
			t TimestampSecond TIMESTAMP: 5 6
			count Int32: 7 -
			s String: "true" -`},
		{"no time index adds one, last", "transform:\n- {field: n, type: uint8, tag: true}", nil, `[{"n":255}]`, `
			t
			n UInt8 TAG: 255
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"time index in the middle", "transform:\n- {fields: [a, b], type: float64}\n- {field: t, type: time, index: time}\n- {field: c, type: bool}", nil, `[{"t":5,"a":1,"c":"false"}]`, `
			t
			a Float64: 1.0
			b Float64: -
			t TimestampNanosecond TIMESTAMP: 5
			c Boolean: 0`},
		{"version 2 keeps the rest", "version: 2\n" + timeList + "- {field: 'n, m', type: int8}", nil, `[{"t":5,"n":1,"z":1,"b":{"y":[1,1.0]},"a":null,"f":0.5},{"t":6,"a":"x","m":9}]`, `
			t
			t TimestampSecond TIMESTAMP: 5 6
			m Int8: 1 -
			b Json: "{\"y\":[1,1.0]}" -
			f Float64: 0.5 -
			z Int64: 1 -
			a String: - "x"`},
		{"time index missing", timeList, nil, `[{"x":1}]`, `!record 0: time index "t" must not be null`},
		{"time index null", timeList, nil, `[{"t":null}]`, `!record 0: time index "t" must not be null`},
		{"time index, now", "transform:\n- {field: t, type: epoch, index: timestamp, on_failure: default}", nil, `[{"t":null},{}]`, `
			t
			t TimestampNanosecond TIMESTAMP: now+0 now+1`},
		{"time index, bad in spite of default", "transform:\n- {field: t, type: epoch, index: timestamp, on_failure: default}", nil, `[{"t":"x"}]`, `!Transform of field "t": expected TimestampNanosecond, found string: "x"`},
		{"failure", timeList + "- {field: n, type: int8}", nil, `[{"t":1,"n":"x"}]`, `!record 0: Transform of field "n": expected Int8, found string: "x"`},
		{"failure skipped", timeList + "- {field: n, type: int8}", []func(*Request){skipErrors}, `[{"t":1,"n":"x"},{"t":2,"n":3},{"t":3,"n":300}]`, `
			t
			t TimestampSecond TIMESTAMP: 2
			n Int8: 3
			skipped 2 of 3: record 0: Transform of field "n": expected Int8, found string: "x" | record 2: Transform of field "n": expected Int8, found integer: 300`},
		{"on_failure and default", timeList + `
- {field: a, type: int8, on_failure: ignore}
- {field: b, type: int8, on_failure: default}
- {field: c, type: int8, default: 7}
- {field: d, type: string, default: 1.5}
- {field: e, type: boolean, on_failure: default, default: "true"}`, nil, `[{"t":1,"a":"x","b":"x","c":"x","e":"x"},{"t":2},{"t":3,"a":null,"b":null,"c":null,"d":null,"e":null}]`, `
			t
			t TimestampSecond TIMESTAMP: 1 2 3
			a Int8: - - -
			b Int8: 0 - -
			c Int8: 7 7 -
			d String: "1.5" "1.5" -
			e Boolean: 1 1 -`},
		{
			"existing table", timeList + "- {field: n, type: int64}\n- {field: k, type: string, tag: true}",
			[]func(*Request){having("t TimestampMillisecond ti, n Int32, k String tag, d Int64 default 7, z String")},
			`[{"t":5,"n":1,"k":"a"}]`, `
			t
			t TimestampMillisecond TIMESTAMP: 5000
			d Int64: 7
			k String TAG: "a"
			n Int32: 1`,
		},
		{"existing table, other type", timeList + "- {field: n, type: string}", []func(*Request){having("t TimestampSecond ti, n Int32"), skipErrors}, `[{"t":5,"n":1},{"t":6}]`, `
			t
			t TimestampSecond TIMESTAMP: 6
			n Int32: -
			skipped 1 of 2: record 0: column "n" of table "t": expected Int32, actual String: "1"`},
		{
			"existing table, other role", timeList + "- {field: n, type: string}",
			[]func(*Request){having("t TimestampSecond ti, n String tag")},
			`[{"t":5,"n":1}]`,
			`!table "t" has the column "n" as TAG, and the pipeline lists it as FIELD`,
		},
		{"existing table, other time index", timeList, []func(*Request){having("u TimestampSecond ti")}, `[{"t":5}]`, `!table "t" has the time index "u"`},
		{"empty list is none", "transform: []", nil, `[{"a":1}]`, "t\nsvc_timestamp TimestampNanosecond TIMESTAMP: now+0\na Int64: 1"},
		{"transforms wins", "transform: [{field: a, type: string}]\ntransforms: [{field: b, type: string}]", nil, `[{"a":1,"b":2}]`, `
			t
			b String: "2"
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"null into not null", timeList + "- {field: n, type: int64}", []func(*Request){having("t TimestampSecond ti, n Int64 not null")}, `[{"t":5}]`, `!missing column "n"`},
	})
}

func TestAutoTransform(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{"no time", "processors: [{letter: {field: a}}]", nil, `[{"b":1,"a":"X","o":{"p":"q"},"l":[1],"svc_timestamp":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "x"
			b Int64: 1
			l Json: "[1]"
			o Json: "{\"p\":\"q\"}"`},
		{"date", "processors: [{date: {field: time, formats: ['%Y-%m-%d %H:%M:%S%.3f']}}]", nil, `[{"id":"2436","time":"2024-05-25 20:16:37.217"}]`, `
			t
			time TimestampNanosecond TIMESTAMP: 1716668197217000000
			id String: "2436"`},
		{"date that a record may lack", "processors: [{date: {field: time, ignore_missing: true}}]", nil, `[{"time":"2024-05-25T20:16:37Z"},{"x":1}]`, `
			t
			time TimestampNanosecond TIMESTAMP: 1716668197000000000 now+1
			x Int64: - 1`},
		{"two dates", "processors: [{date: {fields: [a, b], ignore_missing: true}}]", nil, `[]`, `!2 fields could be the time index`},
		{"one that must be there", "processors: [{date: {field: a, ignore_missing: true}}, {date: {field: 'b, c'}}]", nil, `[{"b":"2024-05-25T20:16:37Z"}]`, `
			t
			c TimestampNanosecond TIMESTAMP: 1716668197000000000
			b String: "2024-05-25T20:16:37Z"`},
		{"types must agree", "{}", []func(*Request){skipErrors}, `[{"a":1,"b":1},{"c":1,"a":"x"},{"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			a Int64: 1 2
			b Int64: 1 -
			skipped 1 of 3: record 1: column "a": expected Int64 as in an earlier record, actual String: "x"`},
		{"existing table", "{}", []func(*Request){having("svc_timestamp TimestampNanosecond ti, a Float64, j Json, s String")}, `[{"a":1,"j":"x"},{"a":0.5,"j":{"b":1}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Float64: 1.0 0.5
			j Json: "\"x\"" "{\"b\":1}"`},
		{"same key twice", "{}", nil, `[{"b":1,"a":1,"b":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1
			b Int64: 2`},
		{"escapes", "{}", nil, `[{"a\n\"b":"c\u00e4\t"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a
			"b String: "cä\t"`},
		{"no map", "{}", []func(*Request){skipErrors}, `[7,{"a":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 1
			skipped 1 of 2: record 0: Top level value must be map`},
		{"syntax", "{}", nil, `{"a":1,}`, `!a key in quotes`},
		{"text", "processors: [{letter: {field: message, method: upper}}]", nil, "text:hello", `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			message String: "HELLO"`},
		{"processor fails", "processors: [{letter: {field: x}}, {letter: {field: a}}]", nil, `[{"x":"","a":7}]`, `!record 0: Processor letter: expected a string, found an integer: 7 (field "a", processors[1])`},
	})
}

func TestVariablesAndSuffix(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{
			"seed's worked case without its vrl", "processors: [{date: {field: time, formats: ['%Y-%m-%d %H:%M:%S%.3f']}}]", nil,
			`[{"id":"2436","time":"2024-05-25 20:16:37.217","svc_table_suffix":"_2436","svc_table_ttl":"1d"}]`, `
			t_2436 ttl=1day
			time TimestampNanosecond TIMESTAMP: 1716668197217000000
			id String: "2436"`,
		},
		{"variables beat hints, null is unset", "{}", []func(*Request){hints(map[string]string{"ttl": "2d"})}, `[{"a":1,"svc_ttl":"3d"},{"a":2,"svc_ttl":null}]`, `
			t ttl=3days
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1
			t ttl=2days
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2`},
		{"bad ttl", timeList, nil, `[{"t":1,"svc_ttl":"soon"}]`, `!key: ttl, value: soon`},
		{"a list may read a variable", timeList + "- {field: svc_ttl, type: string}", nil, `[{"t":1,"svc_ttl":"1d"}]`, `
			t ttl=1day
			t TimestampSecond TIMESTAMP: 1
			svc_ttl String: "1d"`},
		{"template", "version: 2\n" + timeList + "table_suffix: _${ app }_${dc}", nil, `[{"t":1,"app":"api","dc":3},{"t":2,"app":"api"},{"t":3,"app":"api","dc":true},{"t":4,"app":"web","dc":1,"svc_table_suffix":"_x"}]`, `
			t_api_3
			t TimestampSecond TIMESTAMP: 1
			app String: "api"
			dc Int64: 3
			t
			t TimestampSecond TIMESTAMP: 2 3
			app String: "api" "api"
			dc Boolean: - 1
			t_x
			t TimestampSecond TIMESTAMP: 4
			app String: "web"
			dc Int64: 1`},
		{"template sees listed fields in version 2", "version: 2\ntransform:\n- {field: t, type: 'epoch, s', index: timestamp}\ntable_suffix: _${t}", nil, `[{"t":1}]`, "t_1\nt TimestampSecond TIMESTAMP: 1"},
		{"constant suffix", "table_suffix: _x", nil, `[{"a":1}]`, "t_x\nsvc_timestamp TimestampNanosecond TIMESTAMP: now+0\na Int64: 1"},
		{"variables of the client refused", "{}", []func(*Request){skipErrors, func(q *Request) { q.NoClientVariables = true }}, `[{"a":1,"svc_ttl":"1d"},{"a":2,"svc_ttl":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2
			skipped 1 of 2: record 0: the record sets svc_ttl, and this server lets only pipelines set table options`},
		{"variables of a program are fine", "processors: [{vrl: {source: '. = {\"svc_ttl\": \"1d\", \"a\": 1}'}}]", []func(*Request){func(q *Request) { q.NoClientVariables = true }}, `[{}]`, `
			t ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1`},
		{"illegal table name", "table_suffix: _${a}", []func(*Request){skipErrors}, `[{"a":"/"},{"a":"b"}]`, `
			t_b
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a String: "b"
			skipped 1 of 2: record 0: Invalid table name: "t_/"; a table name begins with a letter or one of _ : - and continues with these, digits or . @ #`},
		{"own schema for each table", "table_suffix: _${k}", nil, `[{"k":"a","x":1},{"k":"b","x":"y","z":1}]`, `
			t_a
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			k String: "a"
			x Int64: 1
			t_b
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			k String: "b"
			x String: "y"
			z Int64: 1`},
	})
}

func TestDispatcher(t *testing.T) {
	others := library{
		"web_pipe": "version: 2\ntransform: [{field: t, type: 'epoch, ms', index: timestamp}]\ndispatcher: {field: deep, rules: [{value: true, table_suffix: _deep}]}",
		"loop":     "dispatcher: {field: kind, rules: [{value: loop, table_suffix: x, pipeline: loop}]}",
		"broken":   "processors: 7",
	}
	const source = `
processors: [{letter: {field: kind}}]
dispatcher:
  field: kind
  rules:
  - {value: web, table_suffix: _web, pipeline: web_pipe}
  - {value: "7", table_suffix: _text}
  - {value: 7, table_suffix: _seven}
  - {value: loop, table_suffix: "", pipeline: loop}
  - {value: gone, table_suffix: _gone, pipeline: gone}
  - {value: broken, table_suffix: _b, pipeline: broken}
`
	checkPipelines(t, others, []pipelineCase{
		{"first match, else here", source, nil, `[{"kind":"WEB","t":5},{"kind":"else"},{"kind":"7","o":{"p":[1]}},{"kind":"web","t":6,"deep":true,"svc_ttl":"1d"},{"kind":"web","t":7,"s":"x"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			kind String: "else"
			t_web
			t TimestampMillisecond TIMESTAMP: 5 7
			kind String: "web" "web"
			s String: - "x"
			t_web_deep ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+3
			deep Boolean: 1
			kind String: "web"
			t Int64: 6
			t_text
			svc_timestamp TimestampNanosecond TIMESTAMP: now+2
			kind String: "7"
			o.p String: "[1]"`},
		{"loop", source, []func(*Request){skipErrors}, `[{"kind":"loop"}]`, `skipped 1 of 1: record 0: dispatched more than 16 times:  → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop → loop`},
		{"missing target fails all", source, []func(*Request){skipErrors}, `[{"kind":"gone"}]`, `!dispatch to pipeline gone: Pipeline not found, name: gone, version: latest`},
		{"broken target", source, []func(*Request){skipErrors}, `[{"kind":"broken"}]`, `!dispatch to pipeline broken: Failed to build pipeline: line 1: processors: expected a list`},
		{"failure below", source, []func(*Request){skipErrors}, `[{"kind":"web"},{"kind":"web","t":1}]`, `
			t_web
			t TimestampMillisecond TIMESTAMP: 1
			kind String: "web"
			skipped 1 of 2: record 0: time index "t" must not be null: field "t" is missing, null or no time`},
	})
}

func TestBranches(t *testing.T) {
	others := library{"p": "dispatcher: {field: b, rules: [{value: 1, table_suffix: _y}]}"}
	p, err := Compile([]byte("dispatcher: {field: a, rules: [{value: 1, table_suffix: _x, pipeline: p}, {value: 2, table_suffix: _z}]}"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := NewRunner(p, request(), others.lookup)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Release()
	for _, line := range []string{`{"a":2}`, `{"a":1,"b":1}`, `{"a":0}`, `{"a":1}`} {
		if err := runner.ScanLine([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := runner.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, table := range out.Tables {
		got = append(got, fmt.Sprint(table.Branch, table.Table))
	}
	if diff := cmp.Diff([]string{"0t", "1t_x", "2t_x_y", "3t_z"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestVRL(t *testing.T) {
	const many = `
processors:
- vrl:
    source: |
      [{"n": .a, "svc_table_suffix": "_eu"}, {"n": .b, "svc_table_suffix": "_us"}, {"n": .c}]
transform: [{field: n, type: int8}]
`
	checkPipelines(t, nil, []pipelineCase{
		{"seed's worked case", `
processors:
- date: {field: time, formats: ["%Y-%m-%d %H:%M:%S%.3f"], ignore_missing: true}
- vrl:
    source: |
      .svc_table_suffix, err = "_" + .id
      .svc_table_ttl = "1d"
      .
`, nil, `[{"id":"2436","time":"2024-05-25 20:16:37.217"}]`, `
			t_2436 ttl=1day
			time TimestampNanosecond TIMESTAMP: 1716668197217000000
			id String: "2436"`},
		{"a row per element", many, nil, `[{"a":1,"b":2,"c":3},{"a":4}]`, `
			t_eu
			n Int8: 1 4
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			t_us
			n Int8: 2 -
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			t
			n Int8: 3 -
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1`},
		{"all rows of a record or none", many, []func(*Request){skipErrors}, `[{"a":1},{"a":2,"b":3,"c":300},{"a":5}]`, `
			t_eu
			n Int8: 1 5
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			t_us
			n Int8: - -
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			t
			n Int8: - -
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			skipped 1 of 3: record 1: Transform of field "n": expected Int8, found integer: 300`},
		{"columns of rows taken back", "processors: [{vrl: {source: '[{\"a\": 1, \"b\": .b}, {\"a\": .x}]'}}]", []func(*Request){skipErrors}, `[{"x":"y","b":1},{"b":"z","x":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1 now+1
			a Int64: 1 2
			b String: "z" -
			skipped 1 of 2: record 0: column "a": expected Int64 as in an earlier record, actual String: "y"`},
		{"null drops", "processors: [{vrl: {source: 'if .a == 1 { null } else { . }'}}, {letter: {field: s}}]", nil, `[{"a":1},{"a":2,"s":"X"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2
			s String: "x"`},
		{"no rows", "processors: [{vrl: {source: '[]'}}]", nil, `[{"a":1}]`, ``},
		{"element no map", "processors: [{vrl: {source: '[{\"a\": 1}, 7]'}}]", nil, `[{}]`, `!element 1 of the list that the processors made must be map: 7`},
		{"after an array", "processors: [{vrl: {source: '[{\"a\": 1}]'}}, {letter: {field: s}}]", nil, `[{}]`, `!Processor letter: the record must be map: [{"a":1}] (processors[1])`},
		{"the time index is overwritten", "processors: [{date: {field: t}}, {vrl: {source: \".t = \\\"x\\\"\\n.\"}}]", nil, `[{"t":"2024-01-01T00:00:00Z"}]`, `!time index "t": expected a timestamp after all processors, found string: "x"`},
		{"the time index is deleted", "processors: [{date: {field: t}}, {vrl: {source: \"del(.t)\\n.\"}}]", nil, `[{"t":"2024-01-01T00:00:00Z","a":1}]`, "t\nt TimestampNanosecond TIMESTAMP: now+0\na Int64: 1"},
	})
}

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
			{Pipeline: "mine", Step: "processors[0] letter", Record: `{"a":"X","b":"x","svc_ttl":"1d"}`, Added: []string{"b"}},
			{Pipeline: "mine", Step: "processors[1] vrl", Record: `{"b":"x","n":7,"svc_ttl":"1d"}`, Added: []string{"n"}, Removed: []string{"a"}},
			{Pipeline: "mine", Step: "variables", Record: `{"b":"x","n":7}`, Removed: []string{"svc_ttl"}},
		}, Rows: []RowTrace{{Table: "t", Options: withTTL, Record: `{"b":"x","n":7}`}}},
		{Index: 1, Input: `{"a":"Y","k":"x"}`, Outcome: Stored, Steps: []StepTrace{
			{Pipeline: "mine", Step: "processors[0] letter", Record: `{"a":"Y","b":"y","k":"x"}`, Added: []string{"b"}},
			{Pipeline: "mine", Step: "processors[1] vrl", Record: `{"b":"y","k":"x","n":7}`, Added: []string{"n"}, Removed: []string{"a"}},
			{Pipeline: "mine", Step: "dispatcher: to svc_identity", Record: `{"b":"y","k":"x","n":7}`},
		}, Rows: []RowTrace{{Table: "t_x", Options: options, Record: `{"b":"y","k":"x","n":7}`}}},
		{Index: 2, Input: `{"a":1}`, Outcome: Failed, Error: &StepError{Pipeline: "mine", Step: "processors[0] letter", Field: "a", Value: "1", Reason: "expected a string, found an integer"}},
		{Index: 3, Input: `[]`, Outcome: Failed, Error: &StepError{Pipeline: "mine", Step: "parse", Position: -1, Reason: "Top level value must be map"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
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
	want := []*StepError{nil, {Pipeline: "svc_identity", Step: "table", Position: -1, Field: "n", Value: shown, Reason: `column "n": expected Int64 as in an earlier record, actual String: ` + shown}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestIdentityPipeline(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{"spread", "", []func(*Request){levels(2)}, `[{"a":{"b":{"c":1.0}},"e":[1,{"z":0}],"n":null,"x":{},"svc_ttl":"1d","svc_timestamp":1}]`, `
			t ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.b String: "{\"c\":1.0}"
			e String: "[1,{\"z\":0}]"`},
		{"the later of two names", "", nil, `[{"a.b":1,"a":{"b":2}}]`, "t\nsvc_timestamp TimestampNanosecond TIMESTAMP: now+0\na.b Int64: 1"},
	})
}

func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"version", "version: 3", "line 1: version: Invalid Pipeline doc version number: 3"},
		{"version text", "version: two", "Invalid Pipeline doc version number: two"},
		{"unknown key", "procesors: []", `line 1: procesors: unknown key "procesors", did you mean "processors"?`},
		{"processors no list", "processors: {}", "processors: expected a list, found a map"},
		{"unknown processor", "processors:\n- nope: {}", `line 2: processors[0].nope: Unsupported nope processor`},
		{"near processor", "processors:\n- leter: {}", `Unsupported leter processor, did you mean "letter"?`},
		{"two keys", "processors:\n- letter: {field: a}\n  method: upper", `line 3: processors[0].method: a processor has one key`},
		{"type", "transform: [{field: a, type: strng}]", `line 1: transform[0].type: unknown type "strng", did you mean "string"?`},
		{"resolution", "transform: [{field: a, type: 'epoch, m'}]", `unknown resolution "m" of epoch`},
		{"no type", "transform: [{field: a}]", `"type" is required`},
		{"no field", "transform: [{type: string}]", `"field" or "fields" is required`},
		{"index", "transform: [{field: a, type: string, index: invertd}]", `unknown index "invertd", expected one of timestamp, time, tag, inverted, fulltext, skipping, did you mean "inverted"?`},
		{"time index type", "transform: [{field: a, type: string, index: timestamp}]", "the time index must have the type timestamp, epoch or time, not String"},
		{"two time indexes", "transform: [{field: a, type: time, index: timestamp}, {field: b, type: time, index: time}]", "a second time index; the first is in line 1"},
		{"many under the time index", "transform: [{fields: [a, b], type: time, index: timestamp}]", "the time index is one field, not 2"},
		{"v2 without", "version: 2\ntransform: [{field: a, type: time}]", "needs exactly one column with `index: timestamp`"},
		{"fulltext on number", "transform: [{field: a, type: int8, index: fulltext}]", "a fulltext index needs a string column, not Int8"},
		{"index options", "transform: [{field: a, type: string, index: {type: inverted, options: {granularity: 1}}}]", "only fulltext and skipping indexes have options"},
		{"unknown index option", "transform: [{field: a, type: string, index: {type: skipping, options: {analyzer: English}}}]", `unknown key "analyzer"`},
		{"bad index option", "transform: [{field: a, type: string, index: {type: skipping, options: {false_positive_rate: 1.5}}}]", "expected a number above 0 and at most 1"},
		{"index without type", "transform: [{field: a, type: string, index: {}}]", `"type" is required`},
		{"duplicate column", "transform: [{fields: [a, 'b, a'], type: string}]", `the column "a" is listed twice`},
		{"on_failure", "transform: [{field: a, type: string, on_failure: igore}]", `unknown value "igore"`},
		{"default of a time", "transform: [{field: a, type: time, default: 1}]", "a TimestampNanosecond column cannot have a default"},
		{"default of another type", "transform: [{field: a, type: int8, default: 300}]", "the integer 300 is no Int8"},
		{"dispatcher", "dispatcher: {rules: [{value: 1}]}", `"table_suffix" is required`},
		{"template", "table_suffix: _${a", "expected ${name}"},
		{"patterns of all processors", "processors:\n" + strings.Repeat("- regex: {field: a, pattern: '(?<a>.{900})(?<b>.{900})(?<c>.{900})'}\n", 100), "line 94: processors[92].regex.pattern: with this pattern, those of the pipeline compile to more than 250000 instructions"},
		{"grok patterns of all processors", "processors:\n" + strings.Repeat("- grok: {field: a, pattern: '%{COMBINEDAPACHELOG}'}\n", 999), "compile to more than 250000 instructions"},
		{"all at once", "version: 9\nprocessors: [{letter: {}}]\ntransform: [{field: a, type: x}]", "3 errors: "},
	} {
		_, err := Compile([]byte(tt.source), Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v\nwant %s", tt.name, err, tt.want)
			continue
		}
		if e := (*document.Error)(nil); !errors.As(err, &e) || errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("%s: %T", tt.name, err)
		}
	}
}

func TestColumns(t *testing.T) {
	p, err := Compile([]byte(`
version: "2"
transform:
- {field: a, type: string, index: {type: fulltext, options: {case_sensitive: true}}}
- {field: k, type: string, tag: true, index: inverted}
- {field: t, type: timestamp, index: timestamp}
- {field: n, type: int64, index: skipping, default: 0}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := schema.CreateTableSQL(&schema.Table{Name: "x", Columns: p.Columns()})
	want := `CREATE TABLE IF NOT EXISTS "x" (
  "a" STRING NULL FULLTEXT INDEX WITH (analyzer='English', backend='bloom', case_sensitive='true', false_positive_rate='0.01', granularity='10240'),
  "k" STRING NULL INVERTED INDEX,
  "t" TIMESTAMP(9) NOT NULL,
  "n" BIGINT NULL SKIPPING INDEX WITH (false_positive_rate='0.01', granularity='10240', type='BLOOM'),
  TIME INDEX ("t"),
  PRIMARY KEY ("k")
) ENGINE=mito`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p.Version() != 2 || !p.OpenSchema() || p.HasDispatcher() || p.HasTableSuffix() {
		t.Error("what the pipeline says of itself is wrong")
	}
}
