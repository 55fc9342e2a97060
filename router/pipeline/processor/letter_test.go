package processor

import (
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestLetter(t *testing.T) {
	run(t, "letter", []runCase{
		{"lower by default", `field: a`, `{"a":"ÄbC"}`, `{"a":"äbc"}`},
		{"upper", `{field: a, method: Upper}`, `{"a":"xyß1"}`, `{"a":"XYß1"}`},
		{"capital", `{field: a, method: capital}`, `{"a":"straße X"}`, `{"a":"Straße X"}`},
		{"capital of nothing", `{field: a, method: capital}`, `{"a":""}`, `{"a":""}`},
		{
			"renamed", `fields: ["a, b", {key: c, rename_to: d}, e]`, `{"a":"A","c":"C","e":"E"}`,
			`{"a":"A","b":"a","c":"C","d":"c","e":"e"}`,
		},
		{"missing", `field: a`, `{"b":"x"}`, `!Processor letter: missing field (field "a", processors[0])`},
		{"null is missing", `field: a`, `{"a":null}`, `!Processor letter: missing field (field "a", processors[0])`},
		{"missing ignored", `{fields: [a, b], ignore_missing: true}`, `{"b":"X"}`, `{"b":"x"}`},
		{
			"wrong type", `field: a`, `{"a":7}`,
			`!Processor letter: expected a string, found an integer: 7 (field "a", processors[0])`,
		},
		{
			"long value", `{field: a, ignore_missing: true}`, `{"a":["` + strings.Repeat("x", 100) + `"]}`,
			`!found an array: ["` + strings.Repeat("x", 62) + `… (field`,
		},
		{
			"unknown method", `{field: a, method: uper}`, ``,
			`!line 1: letter.method: unknown value "uper", expected one of lower, upper, capital, did you mean "upper"?`,
		},
		{
			"unknown option", `{field: a, metod: upper}`, ``,
			`!line 1: letter.metod: unknown key "metod", did you mean "method"?`,
		},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func BenchmarkLetter(b *testing.B) {
	bench(b, "letter", `{field: method}`, `{"method":"GET","path":"/"}`)
}

func TestDescribe(t *testing.T) {
	long := strings.Repeat("é", 50)
	many := make([]value.Value, 100)
	for text, v := range map[string]value.Value{
		`"a\"b"`: value.NewString(`a"b`), `"` + strings.Repeat("é", 31) + "…": value.NewString(long),
		"(array of 100 elements)": value.NewArray(many), "null": {},
	} {
		if got := Describe(v); got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
}
