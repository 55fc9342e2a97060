package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/jsonscan"
)

// library has pipelines by name, in YAML.
type library map[string]string

func (l library) lookup(name, version string) (*Pipeline, error) {
	src, ok := l[name]
	if !ok || version != "" {
		return nil, errs.New(errs.InvalidArguments, "Pipeline not found, name: %s, version: latest", name)
	}
	return Compile([]byte(src), Options{})
}

// runThrough passes lines to a pipeline and returns a dump of the result. It does so twice, to detect effects of
// reused memory.
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

// pipelineCase is a test of a pipeline: its records and the dump of the output, or ! and a part of the error.
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
		{
			"all rows of a record or none", many,
			[]func(*Request){skipErrors, wholeRecords},
			`[{"a":1},{"a":2,"b":3,"c":300},{"a":5}]`, `
			t_eu
			n Int8: 1 5
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			t_us
			n Int8: - -
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			t
			n Int8: - -
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			skipped 1 of 3: record 1: element 2 of the list that the processors made: ` +
				`Transform of field "n": expected Int8, found integer: 300`,
		},
		{
			"columns of rows taken back", "processors: [{vrl: {source: '[{\"a\": 1, \"b\": .b}, {\"a\": .x}]'}}]",
			[]func(*Request){skipErrors, wholeRecords},
			`[{"x":"y","b":1},{"b":"z","x":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1 now+1
			a Int64: 1 2
			b String: "z" -
			skipped 1 of 2: record 0: element 1 of the list that the processors made: ` +
				`column "a": expected Int64 as in an earlier record, actual String: "y"`,
		},
		{
			"null drops", "processors: [{vrl: {source: 'if .a == 1 { null } else { . }'}}, {letter: {field: s}}]", nil,
			`[{"a":1},{"a":2,"s":"X"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2
			s String: "x"`,
		},
		{"no rows", "processors: [{vrl: {source: '[]'}}]", nil, `[{"a":1}]`, ``},
		{
			"element no map", "processors: [{vrl: {source: '[{\"a\": 1}, 7]'}}]", nil, `[{}]`,
			`!element 1 of the list that the processors made must be a map: 7`,
		},
		{
			"after an array", "processors: [{vrl: {source: '[{\"a\": 1}]'}}, {letter: {field: s}}]", nil, `[{}]`,
			`!Processor letter: the record must be a map: [{"a":1}] (processors[1])`,
		},
		{
			"the time index is overwritten", "processors: [{date: {field: t}}, {vrl: {source: \".t = \\\"x\\\"\\n.\"}}]",
			nil, `[{"t":"2024-01-01T00:00:00Z"}]`,
			`!time index "t": expected a timestamp after all processors, found string: "x"; add a ` + "`date`" +
				` processor for the field, with the formats of its texts`,
		},
		{
			"a time that the column does not hold",
			"processors: [{date: {field: t}}]\ntransform: [{field: t, type: timestamp, index: timestamp}]", nil,
			`[{"t":"9999-01-01T00:00:00Z"}]`,
			`!Transform of field "t": expected TimestampNanosecond, found timestamp, out of the range, which is ` +
				`1677-09-21 00:12:44 to 2262-04-11 23:47:16: "9999-01-01T00:00:00Z"`,
		},
		{
			"a time index that the column does not hold", "processors: [{date: {field: t}}]",
			nil, `[{"t":"9999-01-01T00:00:00Z"}]`,
			`!time index "t": "9999-01-01T00:00:00Z" is out of the range of a TimestampNanosecond, which is ` +
				`1677-09-21 00:12:44 to 2262-04-11 23:47:16`,
		},
		{
			"the time index is deleted", "processors: [{date: {field: t}}, {vrl: {source: \"del(.t)\\n.\"}}]", nil,
			`[{"t":"2024-01-01T00:00:00Z","a":1}]`, "t\nt TimestampNanosecond TIMESTAMP: now+0\na Int64: 1",
		},
	})
}

func TestIdentityPipeline(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{
			"spread", "",
			[]func(*Request){levels(2)},
			`[{"a":{"b":{"c":1.0}},"e":[1,{"z":0}],"n":null,"x":{},"svc_ttl":"1d","svc_timestamp":1}]`, `
			t ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.b String: "{\"c\":1.0}"
			e String: "[1,{\"z\":0}]"`,
		},
		{"the later of two names", "", nil, `[{"a.b":1,"a":{"b":2}}]`, `!two fields have the column name "a.b"`},
	})
}

// TestUnknownTypeIsOneFault checks that an unknown type of a column makes one fault, and none that follows from it.
func TestUnknownTypeIsOneFault(t *testing.T) {
	for _, rest := range []string{"index: timestamp", "index: fulltext", "default: abc"} {
		_, err := Compile([]byte("transform: [{field: a, type: timestmp, "+rest+"}]"), Options{})
		if err == nil || !strings.Contains(err.Error(), `unknown type "timestmp", did you mean "timestamp"?`) ||
			strings.Contains(err.Error(), "errors") {
			t.Errorf("%s: %v", rest, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"version", "version: 3", "line 1: version: Invalid Pipeline doc version number: 3"},
		{"version text", "version: two", "Invalid Pipeline doc version number: two"},
		{"unknown key", "procesors: []", `line 1: procesors: unknown key "procesors", did you mean "processors"?`},
		{"processors no list", "processors: {}", "processors: expected a list, found a map"},
		{"unknown processor", "processors:\n- nope: {}", `line 2: processors[0].nope: Unsupported nope processor`},
		{"near processor", "processors:\n- leter: {}", `Unsupported leter processor, did you mean "letter"?`},
		{
			"two keys", "processors:\n- letter: {field: a}\n  method: upper",
			`line 3: processors[0].method: a processor has one key`,
		},
		{
			"type", "transform: [{field: a, type: strng}]",
			`line 1: transform[0].type: unknown type "strng", did you mean "string"?`,
		},
		{"resolution", "transform: [{field: a, type: 'epoch, m'}]", `unknown resolution "m" of epoch`},
		{"no type", "transform: [{field: a}]", `"type" is required`},
		{"field and fields", "transform: [{fields: [a], field: b, type: string}]", `"fields" and "field" exclude each other`},
		{"no field", "transform: [{type: string}]", `"field" or "fields" is required`},
		{
			"index", "transform: [{field: a, type: string, index: invertd}]",
			`unknown index "invertd", expected one of timestamp, time, tag, inverted, fulltext, skipping, did you mean ` +
				`"inverted"?`,
		},
		{
			"time index type", "transform: [{field: a, type: string, index: timestamp}]",
			"the time index must have the type timestamp, epoch or time, not String",
		},
		{
			"two time indexes",
			"transform: [{field: a, type: time, index: timestamp}, {field: b, type: time, index: time}]",
			"a second time index; the first is in line 1",
		},
		{
			"many under the time index", "transform: [{fields: [a, b], type: time, index: timestamp}]",
			"the time index is one field, not 2",
		},
		{"v2 without", "version: 2\ntransform: [{field: a, type: time}]", "needs exactly one column with `index: timestamp`"},
		{
			"fulltext on number", "transform: [{field: a, type: int8, index: fulltext}]",
			"a fulltext index needs a string column, not Int8",
		},
		{
			"index options", "transform: [{field: a, type: string, index: {type: inverted, options: {granularity: 1}}}]",
			"only fulltext and skipping indexes have options",
		},
		{
			"no index options", "transform: [{field: a, type: string, index: {type: tag, options: {}}}]",
			`only fulltext and skipping indexes have options; leave "options" out`,
		},
		{
			"unknown index option",
			"transform: [{field: a, type: string, index: {type: skipping, options: {analyzer: English}}}]",
			`unknown key "analyzer"`,
		},
		{
			"bad index option",
			"transform: [{field: a, type: string, index: {type: skipping, options: {false_positive_rate: 1.5}}}]",
			"expected a number above 0 and at most 1",
		},
		{"index without type", "transform: [{field: a, type: string, index: {}}]", `"type" is required`},
		{"duplicate column", "transform: [{fields: [a, 'b, a'], type: string}]", `the column "a" is listed twice`},
		{"on_failure", "transform: [{field: a, type: string, on_failure: igore}]", `unknown value "igore"`},
		{
			"default of a time", "transform: [{field: a, type: time, default: 1}]",
			"a TimestampNanosecond column cannot have a default",
		},
		{
			"default of another type", "transform: [{field: a, type: int8, default: 300}]",
			"the integer 300 is not a value of Int8",
		},
		{
			"default with a fraction", "transform: [{field: a, type: int32, default: 7.9}]",
			"the number 7.9 is not a value of Int32: give the number to store, or give the column another type",
		},
		{
			"default beyond the range", "transform: [{field: a, type: int64, default: 1e30}]",
			"is not a value of Int64: give the number to store, or give the column another type",
		},
		{"dispatcher", "dispatcher: {rules: [{value: 1}]}", `"table_suffix" is required`},
		{"template", "table_suffix: _${a", "expected ${name}"},
		{
			"patterns of all processors",
			"processors:\n" + strings.Repeat("- regex: {field: a, pattern: '(?<a>.{900})(?<b>.{900})(?<c>.{900})'}\n", 100),
			"line 94: processors[92].regex.pattern: with this pattern, the patterns of the pipeline compile to more than " +
				"250000 instructions",
		},
		{
			"grok patterns of all processors",
			"processors:\n" + strings.Repeat("- grok: {field: a, pattern: '%{COMBINEDAPACHELOG}'}\n", 999),
			"compile to more than 250000 instructions",
		},
		{"all at once", "version: 9\nprocessors: [{letter: {}}]\ntransform: [{field: a, type: x}]", "3 errors:\nline 1: "},
		{
			"a program", "processors:\n- vrl:\n    source: |\n      .a = 1\n      .n = to_int(.b)\n      .\n",
			`line 5: processors[0].vrl.source: Failed to compile VRL, error[E103]: unhandled fallible assignment
  ┌─ program:2:6
  │
2 │ .n = to_int(.b)
`,
		},
		{
			"what helps a program", "processors:\n- vrl:\n    source: |\n      .a = 1\n      .n = to_int(.b)\n      .\n",
			"= let a failure end the program: to_int!(…)",
		},
		{
			"a name in a program of one line", "version: 1\nprocessors:\n- vrl: {source: '.a = upcas(.b)'}\n",
			`line 3: processors[0].vrl.source: Failed to compile VRL, error[E105]: call to undefined function`,
		},
		{"the nearest name in a program", "processors:\n- vrl: {source: '.a = upcas(.b)'}\n", `did you mean "upcase"?`},
		{
			"a long line of a program",
			"processors:\n- vrl: {source: '.a = upcas(\"" + strings.Repeat("x", 5000) + "\")'}\n",
			"(line 1, column 6 of the program: undefined function)",
		},
		{
			"a processor of others", "processors: [{rename: {field: a, target_field: b}}]",
			"Unsupported rename processor; use vrl: `.new = del(.old)`",
		},
		{
			"another processor of others", "processors: [{kv: {field: a}}]",
			"Unsupported kv processor; use key_value, or logfmt",
		},
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
  "a" STRING NULL FULLTEXT INDEX WITH (analyzer='English', backend='bloom', case_sensitive='true', ` +
		`false_positive_rate='0.01', granularity='10240'),
  "k" STRING NULL INVERTED INDEX,
  "t" TIMESTAMP(9) NOT NULL,
  "n" BIGINT NULL SKIPPING INDEX WITH (false_positive_rate='0.01', granularity='10240', type='BLOOM'),
  TIME INDEX ("t"),
  PRIMARY KEY ("k")
) ENGINE=mito WITH (append_mode='false', merge_mode='last_row')`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p.Version() != 2 || !p.OpenSchema() || p.HasDispatcher() || p.HasTableSuffix() {
		t.Error("the pipeline's description of itself is wrong")
	}
}
