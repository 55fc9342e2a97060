package pipeline

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVariablesAndSuffix(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{
			"seed's worked case without its vrl", "processors: [{date: {field: time, formats: ['%Y-%m-%d %H:%M:%S%.3f']}}]", nil,
			`[{"id":"2436","time":"2024-05-25 20:16:37.217","svc_table_suffix":"_2436","svc_table_ttl":"1d"}]`, `
			t_2436 ttl=1day
			time TimestampNanosecond TIMESTAMP: 1716668197217000000
			id String: "2436"`,
		},
		{
			"variables beat hints, null is unset", "{}",
			[]func(*Request){hints(map[string]string{"ttl": "2d"})},
			`[{"a":1,"svc_ttl":"3d"},{"a":2,"svc_ttl":null}]`, `
			t ttl=3days
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1
			t ttl=2days
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2`,
		},
		{"bad ttl", timeList, nil, `[{"t":1,"svc_ttl":"soon"}]`, `!key: ttl, value: soon`},
		{"a list may read a variable", timeList + "- {field: svc_ttl, type: string}", nil, `[{"t":1,"svc_ttl":"1d"}]`, `
			t ttl=1day
			t TimestampSecond TIMESTAMP: 1
			svc_ttl String: "1d"`},
		{
			"template", "version: 2\n" + timeList + "table_suffix: _${ app }_${dc}", nil,
			`[{"t":1,"app":"api","dc":3},{"t":2,"app":"api"},{"t":3,"app":"api","dc":true},{"t":4,"app":"web","dc":1,` +
				`"svc_table_suffix":"_x"}]`, `
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
			dc Int64: 1`,
		},
		{
			"template sees listed fields in version 2",
			"version: 2\ntransform:\n- {field: t, type: 'epoch, s', index: timestamp}\ntable_suffix: _${t}", nil,
			`[{"t":1}]`, "t_1\nt TimestampSecond TIMESTAMP: 1",
		},
		{
			"constant suffix", "table_suffix: _x", nil, `[{"a":1}]`,
			"t_x\nsvc_timestamp TimestampNanosecond TIMESTAMP: now+0\na Int64: 1",
		},
		{"variables of the client refused", "{}", []func(*Request){
			skipErrors, func(q *Request) { q.NoClientVariables = true },
		}, `[{"a":1,"svc_ttl":"1d"},{"a":2,"svc_ttl":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2
			skipped 1 of 2: record 0: the record sets svc_ttl, and this server lets only pipelines set table options`},
		{
			"variables of a program are fine", "processors: [{vrl: {source: '. = {\"svc_ttl\": \"1d\", \"a\": 1}'}}]",
			[]func(*Request){func(q *Request) { q.NoClientVariables = true }},
			`[{}]`, `
			t ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1`,
		},
		{"illegal table name", "table_suffix: _${a}", []func(*Request){skipErrors}, `[{"a":"/"},{"a":"b"}]`, `
			t_b
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a String: "b"
			skipped 1 of 2: record 0: Invalid table name: "t_/"; a table name begins with a letter or one of _ : ` +
			`- and continues with these, digits or . @ #`},
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
		"web_pipe": "version: 2\ntransform: [{field: t, type: 'epoch, ms', index: timestamp}]\ndispatcher: {field: " +
			"deep, rules: [{value: true, table_suffix: _deep}]}",
		"loop":   "dispatcher: {field: kind, rules: [{value: loop, table_suffix: x, pipeline: loop}]}",
		"broken": "processors: 7",
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
		{"first match, else here", source, nil, `[{"kind":"WEB","t":5},{"kind":"else"},{"kind":"7","o":{"p":[1]}},` +
			`{"kind":"web","t":6,"deep":true,"svc_ttl":"1d"},{"kind":"web","t":7,"s":"x"}]`, `
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
		{
			"loop", source,
			[]func(*Request){skipErrors},
			`[{"kind":"loop"}]`,
			`skipped 1 of 1: record 0: dispatched more than 16 times:  → loop → loop → loop → loop → loop → loop → loop → ` +
				`loop → loop → loop → loop → loop → loop → loop → loop → loop → loop`,
		},
		{
			"missing target fails all", source,
			[]func(*Request){skipErrors},
			`[{"kind":"gone"}]`,
			`!dispatch to pipeline gone: Pipeline not found, name: gone, version: latest`,
		},
		{
			"broken target", source,
			[]func(*Request){skipErrors},
			`[{"kind":"broken"}]`,
			`!dispatch to pipeline broken: Failed to build pipeline: line 1: processors: expected a list`,
		},
		{"failure below", source, []func(*Request){skipErrors}, `[{"kind":"web"},{"kind":"web","t":1}]`, `
			t_web
			t TimestampMillisecond TIMESTAMP: 1
			kind String: "web"
			skipped 1 of 2: record 0: time index "t" must not be null: field "t" is missing, null or not a time`},
	})
}

func TestBranches(t *testing.T) {
	others := library{"p": "dispatcher: {field: b, rules: [{value: 1, table_suffix: _y}]}"}
	p, err := Compile([]byte("dispatcher: {field: a, rules: [{value: 1, table_suffix: _x, pipeline: p}, {value: "+
		"2, table_suffix: _z}]}"), Options{})
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
