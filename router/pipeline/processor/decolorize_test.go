package processor

import (
	"regexp"
	"testing"

	"cordwood/router/vrl/value"
)

func TestDecolorize(t *testing.T) {
	run(t, "decolorize", []runCase{
		{"colours", `field: a`, `{"a":"\u001b[1;31merror\u001b[0m: \u001b[mdisk"}`, `{"a":"error: disk"}`},
		{"plain", `field: a`, `{"a":"error [31m"}`, `{"a":"error [31m"}`},
		{
			"other sequences stay", `field: a`, `{"a":"\u001b[2K\u001b]0;t\u0007x\u001b"}`,
			`{"a":"\u001b[2K\u001b]0;t\u0007x\u001b"}`,
		},
		{"begun twice", `field: a`, `{"a":"\u001b[3\u001b[31mx\u001b[1;"}`, `{"a":"\u001b[3x\u001b[1;"}`},
		{"nothing left", `field: a`, `{"a":"\u001b[0m"}`, `{"a":""}`},
		{
			"renamed", `fields: ["a, b", {key: c, rename_to: d}]`, `{"a":"\u001b[1mx","c":"y"}`,
			`{"a":"\u001b[1mx","b":"x","c":"y","d":"y"}`,
		},
		{"missing", `field: a`, `{}`, `!missing field (field "a", processors[0])`},
		{"missing ignored", `{field: a, ignore_missing: true}`, `{"a":null}`, `{"a":null}`},
		{"wrong type", `field: a`, `{"a":true}`, `!expected a string, found a boolean: true (field "a"`},
		{"unknown option", `{field: a, mode: x}`, ``, `!unknown key "mode"`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzDecolorize(f *testing.F) {
	var names Names
	step, err := compileOne("decolorize", `field: a`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	model := regexp.MustCompile("\x1b\\[[0-9;]*m")
	f.Add("\x1b[1;31merror\x1b[0m")
	f.Add("\x1b[\x1b[0mm")
	f.Fuzz(func(t *testing.T, s string) {
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "a", Value: value.NewString(s)})
		if err := step.Apply(rec); err != nil {
			t.Fatal(err)
		}
		got, _ := rec.Value.Object().Get("a")
		if want := string(model.ReplaceAll([]byte(s), nil)); got.Str() != want {
			t.Errorf("%q: %q, want %q", s, got.Str(), want)
		}
	})
}

func BenchmarkDecolorize(b *testing.B) {
	bench(b, "decolorize", `{field: m}`, `{"m":"\u001b[32mINFO\u001b[0m \u001b[1mserver\u001b[0m started on port 8080"}`)
}
