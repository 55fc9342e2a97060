package processor

import (
	"strings"
	"testing"
	"time"

	"cordwood/router/vrl/value"
)

func TestJoin(t *testing.T) {
	run(t, "join", []runCase{
		{"strings", `{field: a, separator: "-"}`, `{"a":["x","","y"]}`, `{"a":"x--y"}`},
		{"empty separator", `{field: a, separator: ""}`, `{"a":["x","y"]}`, `{"a":"xy"}`},
		{"long separator", `{field: a, separator: ", "}`, `{"a":["x","y"]}`, `{"a":"x, y"}`},
		{
			"other elements", `{field: a, separator: " "}`, `{"a":[1,-2.5,3.0,true,null,"z",[1,"b"],{"k":1.5}]}`,
			`{"a":"1 -2.5 3 true null z [1,\"b\"] {\"k\":1.5}"}`,
		},
		{"one", `{field: a, separator: " "}`, `{"a":["x"]}`, `{"a":"x"}`},
		{"one number", `{field: a, separator: " "}`, `{"a":[7]}`, `{"a":"7"}`},
		{"none", `{field: a, separator: " "}`, `{"a":[]}`, `{"a":""}`},
		{"renamed", `{fields: ["a, b"], separator: " "}`, `{"a":[1,2]}`, `{"a":[1,2],"b":"1 2"}`},
		{"ignored", `{fields: [a, b], separator: " ", ignore_missing: true}`, `{"b":null}`, `{"b":null}`},

		{"missing", `{field: a, separator: " "}`, `{}`, `!Processor join: missing field (field "a", processors[0])`},
		{"null", `{field: a, separator: " "}`, `{"a":null}`, `!Processor join: missing field (field "a", processors[0])`},
		{
			"string", `{field: a, separator: " "}`, `{"a":"x"}`,
			`!Processor join: expected an array, found a string: "x" (field "a"`,
		},
		{"object", `{field: a, separator: " "}`, `{"a":{}}`, `!expected an array, found an object: {}`},

		{"no separator", `field: a`, ``, `!"separator" is required`},
		{"separator type", `{field: a, separator: 1}`, ``, `!join.separator: expected a string, found the integer 1`},
		{
			"separator size", `{field: a, separator: "` + strings.Repeat("-", 65) + `"}`, ``,
			`!separator has 65 bytes, at most 64 are allowed`,
		},
		{"no field", `{separator: ""}`, ``, `!"field" or "fields" is required`},
	})
}

func TestAppendText(t *testing.T) {
	v := value.NewTimestamp(time.Date(2024, 5, 6, 7, 8, 9, 5e8, time.UTC))
	if got := string(appendText(nil, v)); got != "2024-05-06T07:08:09.500Z" {
		t.Error(got)
	}
}

func BenchmarkJoin(b *testing.B) {
	bench(b, "join", `{field: tags, separator: ","}`, `{"tags":["web","eu","prod",17]}`)
}
