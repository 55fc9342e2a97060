package processor

import "testing"

func TestFilter(t *testing.T) {
	run(t, "filter", []runCase{
		{"in", `{field: a, targets: [x, y]}`, `{"a":"y"}`, `null`},
		{"not found", `{field: a, targets: [x, y]}`, `{"a":"z"}`, `{"a":"z"}`},
		{"case", `{field: a, targets: [GÄ]}`, `{"a":"gä"}`, `null`},
		{"case of the record", `{field: a, targets: [gä]}`, `{"a":"GÄ"}`, `null`},
		{"exact case", `{field: a, targets: [x], case_insensitive: false}`, `{"a":"X"}`, `{"a":"X"}`},
		{"exact case found", `{field: a, targets: [X], case_insensitive: false}`, `{"a":"X"}`, `null`},
		{"whole texts", `{field: a, targets: [x]}`, `{"a":"xx"}`, `{"a":"xx"}`},
		{"not_in", `{field: a, targets: [x], match_op: not_in}`, `{"a":"y"}`, `null`},
		{"not_in, found", `{field: a, targets: [x], match_op: NOT_IN, mode: simple}`, `{"a":"X"}`, `{"a":"X"}`},
		{"any field", `{fields: [a, b], targets: [x]}`, `{"a":"y","b":"x"}`, `null`},
		{"any field, not_in", `{fields: [a, b], targets: [x], match_op: not_in}`, `{"a":"x","b":"y"}`, `null`},
		{"absent", `{fields: [a, b], targets: [x], match_op: not_in}`, `{"a":"x"}`, `{"a":"x"}`},
		{"null", `{fields: [a, b], targets: [x], match_op: not_in}`, `{"a":null}`, `{"a":null}`},
		{"empty text", `{field: a, targets: ["", x]}`, `{"a":""}`, `{"a":""}`},
		{"empty text, not_in", `{field: a, targets: ["", x], match_op: not_in}`, `{"a":""}`, `null`},
		{"the first decides", `{fields: [a, b], targets: [x]}`, `{"a":"x","b":7}`, `null`},

		{
			"type", `{fields: [a, b], targets: [x]}`, `{"a":"y","b":7}`,
			`!Processor filter: expected a string, found an integer: 7 (field "b", processors[0])`,
		},

		{"no field", `{targets: [x]}`, ``, `!"field" or "fields" is required`},
		{"no targets", `field: a`, ``, `!"targets" is required`},
		{"empty targets", `{field: a, targets: []}`, ``, `!filter.targets: targets contains only empty texts`},
		{
			"only empty targets", `{field: a, targets: ["", ""]}`, ``,
			`!filter.targets: targets contains only empty texts`,
		},
		{"targets type", `{field: a, targets: x}`, ``, `!filter.targets: expected a list, found the string "x"`},
		{"target type", `{field: a, targets: [1]}`, ``, `!line 1: filter.targets[0]: expected a string, found the integer 1`},
		{"mode", `{field: a, targets: [x], mode: regex}`, ``, `!filter.mode: unknown value "regex", expected one of simple`},
		{
			"match_op", `{field: a, targets: [x], match_op: notin}`, ``,
			`!filter.match_op: unknown value "notin", expected one of in, not_in, did you mean "not_in"?`,
		},
		{
			"case type", `{field: a, targets: [x], case_insensitive: "no"}`, ``,
			`!filter.case_insensitive: expected true or false`,
		},
		{"no ignore_missing", `{field: a, targets: [x], ignore_missing: true}`, ``, `!unknown key "ignore_missing"`},
	})
}

func BenchmarkFilter(b *testing.B) {
	bench(b, "filter", `{field: level, targets: [debug, trace]}`, `{"level":"INFO","message":"x"}`)
}
