package processor

import (
	"encoding/csv"
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestCSV(t *testing.T) {
	run(t, "csv", []runCase{
		{"plain", `{field: l, target_fields: "b, a"}`, `{"l":"1,2"}`, `{"a":"2","b":"1","l":"1,2"}`},
		{"list of targets", `{field: l, target_fields: [a, " b"]}`, `{"l":"1,2"}`, `{"a":"1","b":"2","l":"1,2"}`},
		{"surplus", `{field: l, target_fields: "a"}`, `{"l":"1,2,3"}`, `{"a":"1","l":"1,2,3"}`},
		{"lacking", `{field: l, target_fields: "a,b,c"}`, `{"l":"1"}`, `{"a":"1","b":null,"c":null,"l":"1"}`},
		{
			"lacking, with a text", `{field: l, target_fields: "a,b,c", empty_value: "-"}`, `{"l":"1,"}`,
			`{"a":"1","b":"","c":"-","l":"1,"}`,
		},
		{
			"empty inside", `{field: l, target_fields: "a,b,c", empty_value: "-"}`, `{"l":"1,,3"}`,
			`{"a":"1","b":"","c":"3","l":"1,,3"}`,
		},
		{"separator", `{field: l, target_fields: "a,b", separator: ";"}`, `{"l":"1,5;2"}`, `{"a":"1,5","b":"2","l":"1,5;2"}`},
		{
			"tab", `{field: l, target_fields: "a,b", separator: "\t", trim: true}`, `{"l":"1\t\t2"}`,
			`{"a":"1","b":"","l":"1\t\t2"}`,
		},
		{"quoted", `{field: l, target_fields: "a,b"}`, `{"l":"\"1,5\",\"2\""}`, `{"a":"1,5","b":"2","l":"\"1,5\",\"2\""}`},
		{
			"doubled quotes", `{field: l, target_fields: "a,b"}`, `{"l":"\"say \"\"hi\"\"\",\"\"\"\""}`,
			`{"a":"say \"hi\"","b":"\"","l":"\"say \"\"hi\"\"\",\"\"\"\""}`,
		},
		{"empty quotes", `{field: l, target_fields: "a,b"}`, `{"l":"\"\",\"\""}`, `{"a":"","b":"","l":"\"\",\"\""}`},
		{
			"quote option", `{field: l, target_fields: "a,b", quote: "'"}`, `{"l":"'1,''5',\"2\""}`,
			`{"a":"1,'5","b":"\"2\"","l":"'1,''5',\"2\""}`,
		},
		{"quote inside", `{field: l, target_fields: "a,b"}`, `{"l":"x\"y,2"}`, `{"a":"x\"y","b":"2","l":"x\"y,2"}`},
		{
			"text after a quote", `{field: l, target_fields: "a,b"}`, `{"l":"\"x\"y\"z,2"}`,
			`{"a":"xy\"z","b":"2","l":"\"x\"y\"z,2"}`,
		},
		{"quote not closed", `{field: l, target_fields: "a,b"}`, `{"l":"1,\"x,\n"}`, `{"a":"1","b":"x,\n","l":"1,\"x,\n"}`},
		{
			"line break in quotes", `{field: l, target_fields: "a,b"}`, `{"l":"\"x\ny\",2"}`,
			`{"a":"x\ny","b":"2","l":"\"x\ny\",2"}`,
		},
		{
			"first record", `{field: l, target_fields: "a,b,c"}`, `{"l":"1,2\r\n3,4"}`,
			`{"a":"1","b":"2","c":null,"l":"1,2\r\n3,4"}`,
		},
		{
			"first record, quoted", `{field: l, target_fields: "a,b,c"}`, `{"l":"1,\"2\"\n3,4"}`,
			`{"a":"1","b":"2","c":null,"l":"1,\"2\"\n3,4"}`,
		},
		{"empty lines before", `{field: l, target_fields: "a"}`, `{"l":"\n\r\n1\n2"}`, `{"a":"1","l":"\n\r\n1\n2"}`},
		{"no trim", `{field: l, target_fields: "a,b"}`, `{"l":" 1 , \"2\""}`, `{"a":" 1 ","b":" \"2\"","l":" 1 , \"2\""}`},
		{
			"trim", `{field: l, target_fields: "a,b,c", trim: true}`, `{"l":" 1 , \" 2, \" ,  "}`,
			`{"a":"1","b":"2,","c":"","l":" 1 , \" 2, \" ,  "}`,
		},
		{
			"trim and doubled quotes", `{field: l, target_fields: "a,b", trim: true}`, `{"l":"\" \"\" \" , 2"}`,
			`{"a":"\"","b":"2","l":"\" \"\" \" , 2"}`,
		},
		{"several fields", `{fields: [l, "m, x"], target_fields: "a"}`, `{"l":"1","m":"2"}`, `{"a":"2","l":"1","m":"2"}`},
		{"over the source", `{field: l, target_fields: "a,l"}`, `{"l":"1,2"}`, `{"a":"1","l":"2"}`},
		{"ignored", `{fields: [l, m], target_fields: "a", ignore_missing: true}`, `{"m":null}`, `{"m":null}`},

		{"missing", `{field: l, target_fields: "a"}`, `{}`, `!Processor csv: missing field (field "l", processors[0])`},
		{"null", `{field: l, target_fields: "a"}`, `{"l":null}`, `!Processor csv: missing field (field "l", processors[0])`},
		{
			"type", `{field: l, target_fields: "a"}`, `{"l":1}`,
			`!Processor csv: expected a string, found an integer: 1 (field "l"`,
		},
		{
			"empty", `{field: l, target_fields: "a"}`, `{"l":""}`,
			`!Processor csv: the text is empty, so it has no record: "" (field "l"`,
		},
		{"empty lines", `{field: l, target_fields: "a"}`, `{"l":"\r\n\n"}`, `!the text is empty, so it has no record`},

		{"no targets", `field: l`, ``, `!"target_fields" is required`},
		{"empty list", `{field: l, target_fields: []}`, ``, `!csv.target_fields: the list of target fields is empty`},
		{"empty target", `{field: l, target_fields: "a,,b"}`, ``, `!csv.target_fields: the name of target field 2 is empty`},
		{
			"target twice", `{field: l, target_fields: [a, b, a]}`, ``,
			`!csv.target_fields: the target field "a" is given twice`,
		},
		{"targets type", `{field: l, target_fields: 1}`, ``, `!csv.target_fields: expected a string, found the integer 1`},
		{
			"target type", `{field: l, target_fields: [1]}`, ``,
			`!csv.target_fields[0]: expected a string, found the integer 1`,
		},
		{
			"too many", `{field: l, target_fields: "a` + strings.Repeat(",a", maxTargets) + `"}`, ``,
			`!10001 target fields, at most 10000 are allowed`,
		},
		{
			"long separator", `{field: l, target_fields: "a", separator: ";;"}`, ``,
			`!csv.separator: expected exactly one byte that is not a line break, found ";;"`,
		},
		{"empty separator", `{field: l, target_fields: "a", separator: ""}`, ``, `!csv.separator: expected exactly one byte`},
		{"wide separator", `{field: l, target_fields: "a", separator: "é"}`, ``, `!csv.separator: expected exactly one byte`},
		{"line break", `{field: l, target_fields: "a", separator: "\n"}`, ``, `!csv.separator: expected exactly one byte`},
		{"separator type", `{field: l, target_fields: "a", separator: 1}`, ``, `!csv.separator: expected a string`},
		{"long quote", `{field: l, target_fields: "a", quote: "''"}`, ``, `!csv.quote: expected exactly one byte`},
		{"alike", `{field: l, target_fields: "a", quote: ","}`, ``, `!separator and quote are the same byte`},
		{"trim type", `{field: l, target_fields: "a", trim: 1}`, ``, `!csv.trim: expected true or false`},
		{"empty_value type", `{field: l, target_fields: "a", empty_value: 0}`, ``, `!csv.empty_value: expected a string`},
	})
}

// FuzzCSV compares the result with that of encoding/csv, if encoding/csv accepts the text.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{`1,"a,""b""",x"y`, "\n\n\"a\nb\",c\nd", `"a"b,c`, `"a`, " a , \"b\" ", ",\r\n,", "a\rb"} {
		f.Add(s)
	}
	var names Names
	step, err := compileOne("csv", `{field: l, target_fields: "a,b,c,d"}`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "l", Value: value.NewString(text)})
		if err := step.Apply(rec); err != nil {
			if strings.Trim(text, "\r\n") != "" {
				t.Error(err)
			}
			return
		}
		if strings.Contains(text, "\r") {
			return // encoding/csv does not treat a single CR as a line break
		}
		r := csv.NewReader(strings.NewReader(text))
		want, err := r.Read()
		if err != nil {
			return
		}
		for i, name := range []string{"a", "b", "c", "d"} {
			v, _ := rec.Value.Object().Get(name)
			if i >= len(want) && !v.IsNull() || i < len(want) && v.Str() != want[i] {
				t.Errorf("%q: %s is %s, want %q", text, name, v, want)
			}
		}
	})
}

func BenchmarkCSV(b *testing.B) {
	bench(b, "csv", `{field: line, target_fields: "time,host,level,code,text"}`,
		`{"line":"2024-05-25T20:16:37Z,web1,INFO,200,\"GET /, 17 ms\""}`)
}
