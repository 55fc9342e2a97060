package processor

import (
	"strings"
	"testing"
)

func TestVRL(t *testing.T) {
	run(t, "vrl", []runCase{
		{"assignment", "source: |\n  .b = upcase!(.a)\n  .", `{"a":"x"}`, `{"a":"x","b":"X"}`},
		{"an assignment has a value", "source: |\n  . = {\"k\": .a}", `{"a":"x"}`, `{"k":"x"}`},
		{"delete", "source: |\n  del(.a)\n  .", `{"a":"x","b":1}`, `{"b":1}`},
		{"array", "source: |\n  [{\"k\": .a}, {\"k\": 2}]", `{"a":"x"}`, `[{"k":"x"},{"k":2}]`},
		{"null drops", "source: |\n  if .a == \"x\" { null } else { . }", `{"a":"x"}`, `null`},
		{
			"other value", "source: |\n  if .a == \"x\" { 7 } else { . }", `{"a":"x"}`,
			`!Processor vrl: the program's value must be a map or a list of maps, found an integer: 7 (processors[0])`,
		},
		{"failing call", "source: |\n  .b = upcase!(.a)\n  .", `{"a":1}`, `!Processor vrl: Failed to execute VRL, `},
		{
			"a long error is cut", "source: |\n  assert!(.a == 1, message: string!(.a))\n  .",
			`{"a":"` + strings.Repeat("x", 1000) + `"}`, `!xxx… (processors[0])`,
		},
		{"fallible without care", "source: |\n  .b = upcase(.a)\n  .", ``, `!Failed to compile VRL, `},
		{"syntax", "source: \".a = \"", ``, `!Failed to compile VRL, `},
		{"not an object", "source: \"7\"", ``, `!expected an object or an array`},
		{"a field", "source: \". = .a\"", `{"a":{"b":1}}`, `{"b":1}`},
		{"a field and the record", "source: |\n  . = del(.a)\n  .", `{"a":[{"b":1}]}`, `[{"b":1}]`},
		{
			"a field that is none", "source: \". = .a\"", `{"a":5}`,
			`!the program's value must be a map or a list of maps, found an integer: 5`,
		},
		{"regex", "source: \"r'x'\"", ``, `!expected an object or an array`},
		{
			"regex in a field", "source: |\n  .a.b = [1, {\"c\": r'x'}]\n  .", ``,
			`!a regular expression at .a.b[1].c, which no column can hold; delete it with del(.a.b[1].c)`,
		},
		{"regex deleted", "source: |\n  .a.r = r'x'\n  .n = match(\"x\", .a.r)\n  del(.a)\n  .", `{}`, `{"n":true}`},
		{"no source", "{}", ``, `!"source" is required`},
		{"no field list", "source: .\nfield: a", ``, `!unknown key "field"`},
	})
}

func BenchmarkVRL(b *testing.B) {
	bench(b, "vrl", "source: |\n  .level = downcase!(.level)\n  .", `{"level":"INFO","msg":"hello"}`)
}
