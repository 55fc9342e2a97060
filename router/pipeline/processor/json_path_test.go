package processor

import "testing"

func TestJSONPath(t *testing.T) {
	run(t, "json_path", []runCase{
		{"all matches", `{field: d, json_path: "$.a[*].b"}`, `{"d":{"a":[{"b":1},{"c":2},{"b":[3]}]}}`, `{"d":[1,[3]]}`},
		{"one match", `{field: "d, out", json_path: "$.a"}`, `{"d":{"a":{"b":1}}}`, `{"d":{"a":{"b":1}},"out":[{"b":1}]}`},
		{"no match", `{field: {key: d, rename_to: out}, json_path: "$.x"}`, `{"d":{"a":1}}`, `{"d":{"a":1},"out":[]}`},
		{
			"with index", `{field: "d, out", json_path: "$..b", result_index: 1}`, `{"d":[{"b":1},{"b":2},{"b":3}]}`,
			`{"d":[{"b":1},{"b":2},{"b":3}],"out":2}`,
		},
		{"index 0 of one", `{field: d, json_path: "$.a", result_index: 0}`, `{"d":{"a":"x"}}`, `{"d":"x"}`},
		{"index without match", `{field: d, json_path: "$.a", result_index: 1}`, `{"d":{"a":"x"}}`, `{"d":null}`},
		{
			"filter", `{field: d, json_path: "$[?@.n > 1 && search(@.s, '^a')].s"}`,
			`{"d":[{"n":2,"s":"ab"},{"n":2,"s":"ba"},{"n":1,"s":"a"}]}`, `{"d":["ab"]}`,
		},
		{
			"container in two places", `{fields: ["d, e", "d, f"], json_path: "$.a", result_index: 0}`,
			`{"d":{"a":{"b":1}}}`, `{"d":{"a":{"b":1}},"e":{"b":1},"f":{"b":1}}`,
		},
		{"missing", `{field: d, json_path: "$"}`, `{}`, `!missing field (field "d", processors[0])`},
		{"missing ignored", `{field: d, json_path: "$", ignore_missing: true}`, `{"x":1}`, `{"x":1}`},
		{
			"null is not a missing field", `{field: d, json_path: "$", ignore_missing: true}`, `{"d":null}`,
			`!expected an array or object, found null`,
		},
		{
			"wrong type", `{field: d, json_path: "$"}`, `{"d":"{}"}`,
			`!expected an array or object, found a string: "{}" (field "d"`,
		},
		{
			"too much", `{field: d, json_path: "$..*..*..*..*..*..*..*..*"}`,
			`{"d":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}`,
			`!the query visits more than 1048576 values`,
		},
		{"no path", `{field: d}`, ``, `!"json_path" is required`},
		{
			"bad path", `{field: d, json_path: "$.a["}`, ``,
			`!json_path.json_path: invalid JSONPath "$.a[": expected a quoted name, an index, a slice, * or ?, found end of ` +
				`the path at character 5`,
		},
		{"bad pattern", `{field: d, json_path: "$[?match(@, '(?=a)')]"}`, ``, `!invalid regular expression`},
		{
			"path of wrong type", `{field: d, json_path: 1}`, ``,
			`!json_path.json_path: expected a string, found the integer 1`,
		},
		{
			"index of wrong type", `{field: d, json_path: "$", result_index: a}`, ``,
			`!json_path.result_index: expected an integer`,
		},
		{"negative index", `{field: d, json_path: "$", result_index: -1}`, ``, `!expected a number of at least 0, found -1`},
		{"unknown option", `{field: d, path: "$"}`, ``, `!unknown key "path"`},
		{"no field", `{json_path: "$"}`, ``, `!"field" or "fields" is required`},
	})
}

func BenchmarkJSONPath(b *testing.B) {
	bench(b, "json_path", `{field: "d, out", json_path: "$.a[1].b", result_index: 0}`,
		`{"d":{"a":[1,{"b":7}],"z":1},"n":1}`)
}

func BenchmarkJSONPathAll(b *testing.B) {
	bench(b, "json_path", `{field: "d, out", json_path: "$.a[?@.b > 2].b"}`,
		`{"d":{"a":[{"b":1},{"b":3},{"b":4}],"z":1},"n":1}`)
}
