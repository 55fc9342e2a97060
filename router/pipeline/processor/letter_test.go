package processor

import "testing"

func TestLetter(t *testing.T) {
	run(t, "letter", []runCase{
		{"lower by default", `field: a`, `{"a":"ÄbC"}`, `{"a":"äbc"}`},
		{"upper", `{field: a, method: Upper}`, `{"a":"xyß1"}`, `{"a":"XYß1"}`},
		{"capital", `{field: a, method: capital}`, `{"a":"straße X"}`, `{"a":"Straße X"}`},
		{"capital of nothing", `{field: a, method: capital}`, `{"a":""}`, `{"a":""}`},
		{"renamed", `fields: ["a, b", {key: c, rename_to: d}, e]`, `{"a":"A","c":"C","e":"E"}`, `{"a":"A","b":"a","c":"C","d":"c","e":"e"}`},
		{"missing", `field: a`, `{"b":"x"}`, `!Processor letter: missing field (field "a", processors[0])`},
		{"null is missing", `field: a`, `{"a":null}`, `!Processor letter: missing field (field "a", processors[0])`},
		{"missing ignored", `{fields: [a, b], ignore_missing: true}`, `{"b":"X"}`, `{"b":"x"}`},
		{"wrong type", `field: a`, `{"a":7}`, `!Processor letter: expected a string, found an integer: 7 (field "a", processors[0])`},
		{"unknown method", `{field: a, method: uper}`, ``, `!line 1: letter.method: unknown value "uper", expected one of lower, upper, capital, did you mean "upper"?`},
		{"unknown option", `{field: a, metod: upper}`, ``, `!line 1: letter.metod: unknown key "metod", did you mean "method"?`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func BenchmarkLetter(b *testing.B) {
	bench(b, "letter", `{field: method}`, `{"method":"GET","path":"/"}`)
}
