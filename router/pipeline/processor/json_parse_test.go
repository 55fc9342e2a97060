package processor

import (
	"testing"

	"cordwood/router/vrl/value"
)

func TestJSONParse(t *testing.T) {
	run(t, "json_parse", []runCase{
		{"object", `field: a`, `{"a":"{\"x\":1,\"b\":[true,null,\"s\"]}"}`, `{"a":{"b":[true,null,"s"],"x":1}}`},
		{"array", `field: a`, `{"a":" [1, 2.0] "}`, `{"a":[1,2.0]}`},
		{
			"largest integers", `field: a`, `{"a":"[9223372036854775807,-9223372036854775808,-0,1e30]"}`,
			`{"a":[9223372036854775807,-9223372036854775808,-0.0,1e30]}`,
		},
		{
			"integer beyond 64 bits", `field: a`, `{"a":"{\"id\": 9223372036854775808}"}`,
			`!an integer beyond -9223372036854775808 to 9223372036854775807 at line 1 column 8; send it as text: `,
		},
		{"integer far beyond 64 bits", `field: a`, `{"a":"[-36893488147419103232]"}`, `!an integer beyond`},
		{"renamed", `fields: ["a, b", {key: c, rename_to: d}]`, `{"a":"{}","c":"[]"}`, `{"a":"{}","b":{},"c":"[]","d":[]}`},
		{
			"scalar", `field: a`, `{"a":"7"}`,
			`!Processor json_parse: expected a JSON object or array, found an integer: "7" (field "a", processors[0])`,
		},
		{"string", `field: a`, `{"a":"\"x\""}`, `!expected a JSON object or array, found a string`},
		{"null text", `field: a`, `{"a":"null"}`, `!expected a JSON object or array, found null`},
		{"bad JSON", `field: a`, `{"a":"{\"x\":}"}`, `! value at line 1 column 6: "{\"x\":}" (field "a"`},
		{"empty", `field: a`, `{"a":""}`, `!invalid JSON`},
		{"two values", `field: a`, `{"a":"{}{}"}`, `!invalid JSON: trailing characters`},
		{"missing", `field: a`, `{}`, `!missing field (field "a", processors[0])`},
		{"missing ignored", `{field: a, ignore_missing: true}`, `{"b":1}`, `{"b":1}`},
		{
			"null is not a missing field", `{field: a, ignore_missing: true}`, `{"a":null}`,
			`!expected a string, found null: null (field "a"`,
		},
		{"object already", `field: a`, `{"a":{"b":1}}`, `!expected a string, found an object: {"b":1}`},

		{
			"into the root", `{field: m, into_root: true}`, `{"m":"{\"z\":1,\"a\":{\"b\":2}}","x":0}`,
			`{"a":{"b":2},"m":"{\"z\":1,\"a\":{\"b\":2}}","x":0,"z":1}`,
		},
		{"into the root replaces", `{field: m, into_root: true, remove_source: true}`, `{"m":"{\"x\":1}","x":0}`, `{"x":1}`},
		{
			"into the root with its own name", `{field: m, into_root: true, remove_source: true}`,
			`{"m":"{\"m\":\"hi\"}"}`, `{"m":"hi"}`,
		},
		{
			"into the root, no object", `{field: m, into_root: true}`, `{"m":"[1]"}`,
			`!expected a JSON object, found an array: "[1]"`,
		},
		{"into the root, empty", `{field: m, into_root: true, remove_source: true}`, `{"m":"{}"}`, `{}`},
		{
			"several into the root", `{fields: [m, n], into_root: true, remove_source: true}`,
			`{"m":"{\"a\":1,\"n\":\"{\\\"b\\\":2}\"}","n":"x"}`, `{"a":1,"b":2}`,
		},
		{
			"into the root under a name", `{field: "m, n", into_root: true}`, ``,
			`!with into_root the field "m" cannot have a new name, "n"`,
		},
		{
			"remove_source alone", `{field: m, remove_source: true}`, ``,
			`!json_parse.remove_source: remove_source goes with into_root: true`,
		},
		{
			"wrong type of option", `{field: m, into_root: root}`, ``,
			`!json_parse.into_root: expected true or false, found the string "root"`,
		},
		{"unknown option", `{field: m, in_root: true}`, ``, `!did you mean "into_root"?`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzJSONParse(f *testing.F) {
	var names Names
	step, err := compileOne("json_parse", `{field: m, into_root: true, remove_source: true}`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`{"a":1,"a":{"b":[]}}`)
	f.Add(`[[[[`)
	f.Fuzz(func(t *testing.T, s string) {
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "m", Value: value.NewString(s)},
			value.Field{Key: "a", Value: value.NewInt(1)})
		if err := step.Apply(rec); err != nil {
			return
		}
		list := rec.Value.Object().Peek()
		for i := 1; i < len(list); i++ {
			if list[i-1].Key >= list[i].Key {
				t.Fatalf("%q: fields out of order: %q, %q", s, list[i-1].Key, list[i].Key)
			}
		}
	})
}

func BenchmarkJSONParse(b *testing.B) {
	bench(b, "json_parse", `{field: m}`,
		`{"m":"{\"level\":\"info\",\"status\":200,\"took\":1.25,\"tags\":[\"a\",\"b\"]}","n":1}`)
}

func BenchmarkJSONParseIntoRoot(b *testing.B) {
	bench(b, "json_parse", `{field: m, into_root: true, remove_source: true}`,
		`{"m":"{\"level\":\"info\",\"status\":200,\"took\":1.25,\"tags\":[\"a\",\"b\"]}","n":1}`)
}
