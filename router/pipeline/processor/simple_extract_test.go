package processor

import "testing"

func TestSimpleExtract(t *testing.T) {
	run(t, "simple_extract", []runCase{
		{"nested", `{field: "doc, out", key: a.b.c}`, `{"doc":{"a":{"b":{"c":7}}}}`, `{"doc":{"a":{"b":{"c":7}}},"out":7}`},
		{"in place", `{field: doc, key: a}`, `{"doc":{"a":{"b":[1]}}}`, `{"doc":{"b":[1]}}`},
		{
			"container", `{field: {key: doc, rename_to: out}, key: a}`, `{"doc":{"a":{"b":1}}}`,
			`{"doc":{"a":{"b":1}},"out":{"b":1}}`,
		},
		{"not there", `{field: "doc, out", key: a.x}`, `{"doc":{"a":{"b":1}}}`, `{"doc":{"a":{"b":1}},"out":null}`},
		{"through a scalar", `{field: "doc, out", key: a.b.c}`, `{"doc":{"a":{"b":1}}}`, `{"doc":{"a":{"b":1}},"out":null}`},
		{"no index into arrays", `{field: "doc, out", key: a.0}`, `{"doc":{"a":[5]}}`, `{"doc":{"a":[5]},"out":null}`},
		{"key of digits", `{field: "doc, out", key: "0"}`, `{"doc":{"0":5}}`, `{"doc":{"0":5},"out":5}`},
		{"empty key", `{field: "doc, out", key: ""}`, `{"doc":{"a":1}}`, `{"doc":{"a":1},"out":{"a":1}}`},
		{"no key", `{field: "doc, out"}`, `{"doc":[1]}`, `{"doc":[1],"out":[1]}`},
		{"several fields", `{fields: [a, b], key: x}`, `{"a":{"x":1},"b":{}}`, `{"a":1,"b":null}`},
		{"missing", `{field: doc, key: a}`, `{}`, `!missing field (field "doc", processors[0])`},
		{"missing ignored", `{field: doc, key: a, ignore_missing: true}`, `{"x":1}`, `{"x":1}`},
		{
			"null is not a missing field", `{field: doc, key: a, ignore_missing: true}`, `{"doc":null}`,
			`!expected an object, found null`,
		},
		{"null with an empty key", `{field: doc, key: ""}`, `{"doc":null}`, `!expected an object, found null`},
		{"wrong type", `{field: doc, key: a}`, `{"doc":"x"}`, `!expected an object, found a string: "x" (field "doc"`},
		{"array", `{field: doc, key: a}`, `{"doc":[1]}`, `!expected an object, found an array`},
		{"empty part", `{field: doc, key: a..b}`, ``, `!simple_extract.key: the path "a..b" has an empty part`},
		{"key of wrong type", `{field: doc, key: 7}`, ``, `!simple_extract.key: expected a string, found the integer 7`},
		{"unknown option", `{field: doc, keys: a}`, ``, `!did you mean "key"?`},
		{"no field", `{key: a}`, ``, `!"field" or "fields" is required`},
	})
}

func BenchmarkSimpleExtract(b *testing.B) {
	bench(b, "simple_extract", `{field: "doc, out", key: a.b.c}`, `{"doc":{"a":{"b":{"c":7}},"z":1},"n":1}`)
}
