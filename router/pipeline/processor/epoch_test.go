package processor

import (
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestEpoch(t *testing.T) {
	run(t, "epoch", []runCase{
		{"milliseconds by default", `field: t`, `{"t":1700000000123}`, `{"t":"2023-11-14T22:13:20.123Z"}`},
		{"s", `{field: t, resolution: s}`, `{"t":1700000000}`, `{"t":"2023-11-14T22:13:20Z"}`},
		{"sec", `{field: t, resolution: sec}`, `{"t":1}`, `{"t":"1970-01-01T00:00:01Z"}`},
		{"second", `{field: t, resolution: second}`, `{"t":1}`, `{"t":"1970-01-01T00:00:01Z"}`},
		{"ms", `{field: t, resolution: MS}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.001Z"}`},
		{"milli", `{field: t, resolution: milli}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.001Z"}`},
		{"millisecond", `{field: t, resolution: millisecond}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.001Z"}`},
		{"us", `{field: t, resolution: us}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.000001Z"}`},
		{"micro", `{field: t, resolution: micro}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.000001Z"}`},
		{"microsecond", `{field: t, resolution: microsecond}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.000001Z"}`},
		{"ns", `{field: t, resolution: ns}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.000000001Z"}`},
		{"nano", `{field: t, resolution: nano}`, `{"t":1}`, `{"t":"1970-01-01T00:00:00.000000001Z"}`},
		{"nanosecond", `{field: t, resolution: nanosecond}`, `{"t":-1}`, `{"t":"1969-12-31T23:59:59.999999999Z"}`},
		{"negative", `field: t`, `{"t":-1}`, `{"t":"1969-12-31T23:59:59.999Z"}`},
		{"float", `field: t`, `{"t":1700000000123.9}`, `{"t":"2023-11-14T22:13:20.123Z"}`},
		{"negative float", `field: t`, `{"t":-1.9}`, `{"t":"1969-12-31T23:59:59.999Z"}`},
		{"string", `field: t`, `{"t":"1700000000123"}`, `{"t":"2023-11-14T22:13:20.123Z"}`},
		{
			"signed strings", `fields: [t, u]`, `{"t":"+1","u":"-1"}`,
			`{"t":"1970-01-01T00:00:00.001Z","u":"1969-12-31T23:59:59.999Z"}`,
		},
		{"renamed", `{fields: ["t, u"]}`, `{"t":1}`, `{"t":1,"u":"1970-01-01T00:00:00.001Z"}`},
		{"least", `{field: t, resolution: ns}`, `{"t":-9223372036854775808}`, `{"t":"1677-09-21T00:12:43.145224192Z"}`},
		{"late", `{field: t, resolution: s}`, `{"t":253402300800}`, `{"t":"10000-01-01T00:00:00Z"}`},
		{"ignored", `{fields: [t, u], ignore_missing: true}`, `{"t":null}`, `{"t":null}`},

		{"missing", `field: t`, `{}`, `!Processor epoch: missing field (field "t", processors[0])`},
		{"null", `field: t`, `{"t":null}`, `!Processor epoch: missing field (field "t", processors[0])`},
		{"space", `field: t`, `{"t":" 1"}`, `!Processor epoch: failed to parse as an integer of 64 bits: " 1" (field "t"`},
		{"fraction in a string", `field: t`, `{"t":"1.5"}`, `!failed to parse as an integer`},
		{"empty", `field: t`, `{"t":""}`, `!failed to parse as an integer`},
		{"underscore", `field: t`, `{"t":"1_0"}`, `!failed to parse as an integer`},
		{"long", `field: t`, `{"t":"9223372036854775808"}`, `!failed to parse as an integer`},
		{
			"out of range", `{field: t, resolution: s}`, `{"t":9223372036854775807}`,
			`!the time is out of range, which is the years -262143 to 262142: 9223372036854775807 (field "t"`,
		},
		{"out of range below", `{field: t, resolution: ms}`, `{"t":-9223372036854775808}`, `!the time is out of range`},
		{
			"float out of range", `field: t`, `{"t":1e19}`,
			`!the time is out of range, which is the years -262143 to 262142: 1e19`,
		},
		{
			"boolean", `{field: t, ignore_missing: true}`, `{"t":true}`,
			`!Processor epoch: expected a number, a string or a timestamp, found a boolean: true (field "t"`,
		},
		{"array", `field: t`, `{"t":[1]}`, `!found an array: [1]`},
		{"object", `field: t`, `{"t":{"a":1}}`, `!found an object: {"a":1}`},

		{
			"unknown resolution", `{field: t, resolution: h}`, ``,
			`!epoch.resolution: unknown value "h", expected one of ms, milli, millisecond, s, `,
		},
		{"resolution type", `{field: t, resolution: 3}`, ``, `!epoch.resolution: expected a string, found the integer 3`},
		{"unknown option", `{field: t, unit: s}`, ``, `!unknown key "unit"`},
		{"no field", `{resolution: s}`, ``, `!"field" or "fields" is required`},
	})
}

func TestEpochOfTimestamp(t *testing.T) {
	var names Names
	step, err := compileOne("epoch", `{field: "t, u"}`, Env{}, &names)
	if err != nil {
		t.Fatal(err)
	}
	rec := NewRecord(&names)
	rec.Value = value.ObjectOf(value.Field{Key: "t", Value: value.NewUnix(7, 8)})
	if err := step.Apply(rec); err != nil {
		t.Fatal(err)
	}
	if got := string(value.AppendJSON(nil, rec.Value)); got !=
		`{"t":"1970-01-01T00:00:07.000000008Z","u":"1970-01-01T00:00:07.000000008Z"}` {
		t.Error(got)
	}
}

func TestResolutionNames(t *testing.T) {
	for _, n := range resolutionNames {
		if _, ok := Resolution(strings.ToUpper(n)); !ok {
			t.Errorf("%s is not a resolution", n)
		}
	}
}

func BenchmarkEpoch(b *testing.B) {
	bench(b, "epoch", `{field: t}`, `{"t":1700000000123}`)
}
