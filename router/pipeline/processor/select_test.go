package processor

import (
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestSelect(t *testing.T) {
	many := strings.Repeat("x", 30)
	var fields, values []string
	for i := range many {
		name := "k" + string(rune('a'+i%26)) + many[:i/26]
		fields, values = append(fields, name), append(values, `"`+name+`":1`)
	}
	run(t, "select", []runCase{
		{"include", `{fields: [a, c]}`, `{"a":1,"b":2,"c":[3]}`, `{"a":1,"c":[3]}`},
		{"include in words", `{fields: [c, a], type: INCLUDE}`, `{"a":1,"b":2,"c":{"d":null}}`, `{"a":1,"c":{"d":null}}`},
		{"one field", `{field: b}`, `{"a":1,"b":null,"c":3}`, `{"b":null}`},
		{"missing", `{fields: [a, x]}`, `{"a":1,"b":2}`, `{"a":1}`},
		{"nothing left", `{field: x}`, `{"a":1}`, `{}`},
		{"renamed", `{fields: ["a, z", {key: b, rename_to: y}, c]}`, `{"a":1,"b":2,"c":3,"d":4}`, `{"c":3,"y":2,"z":1}`},
		{"swapped", `{fields: ["a, b", "b, a"]}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`},
		{"renamed over another", `{fields: [b, "a, b"]}`, `{"a":1,"b":2}`, `{"b":1}`},
		{"twice", `{fields: [a, "a, b"]}`, `{"a":[1]}`, `{"a":[1],"b":[1]}`},
		{
			"variables stay", `{fields: [a]}`, `{"a":1,"b":2,"svc_ttl":"1d","svc_table_ttl":"2d","svc_table_suffix":"_x",` +
				`"svc_auto_create_table":true,"svc_append_mode":true,"svc_merge_mode":"last_row","svc_physical_table":"p",` +
				`"svc_skip_wal":false,"svc_other":1}`,
			`{"a":1,"svc_append_mode":true,"svc_auto_create_table":true,"svc_merge_mode":"last_row","svc_physical_table":"p",` +
				`"svc_skip_wal":false,"svc_table_suffix":"_x","svc_table_ttl":"2d","svc_ttl":"1d"}`,
		},
		{"variables renamed", `{fields: ["svc_ttl, a"]}`, `{"svc_ttl":"1d"}`, `{"a":"1d"}`},
		{"a variable by rename", `{fields: ["a, svc_ttl"]}`, `{"a":"2d","svc_ttl":"1d"}`, `{"svc_ttl":"2d"}`},
		{
			"many", `{fields: [` + strings.Join(fields, ", ") + `]}`, `{` + strings.Join(values, ",") + `,"other":1}`,
			sortedJSON(t, `{`+strings.Join(values, ",")+`}`),
		},
		{"exclude", `{fields: [a, c, x], type: exclude}`, `{"a":1,"b":2,"c":3}`, `{"b":2}`},
		{"exclude, renamed", `{fields: ["a, b"], type: exclude}`, `{"a":1,"b":2}`, `{"b":2}`},
		{"exclude twice", `{fields: [a, a], type: exclude}`, `{"a":1}`, `{}`},
		{"exclude variables", `{fields: [svc_ttl], type: exclude}`, `{"a":1,"svc_ttl":"1d"}`, `{"a":1}`},

		{
			"unknown type", `{field: a, type: only}`, ``,
			`!select.type: unknown value "only", expected one of include, exclude`,
		},
		{"type type", `{field: a, type: [include]}`, ``, `!select.type: expected a string, found a list`},
		{"no field", `{type: exclude}`, ``, `!"field" or "fields" is required`},
		{"no fields", `{fields: []}`, ``, `!the list of fields is empty`},
		{"no ignore_missing", `{field: a, ignore_missing: true}`, ``, `!unknown key "ignore_missing"`},
	})
}

func BenchmarkSelect(b *testing.B) {
	record := `{"bytes":1,"client":2,"message":3,"method":4,"path":5,"protocol":6,"referer":7,"status":8,"time":9,` +
		`"user":10,"user_agent":11}`
	b.Run("exclude", func(b *testing.B) { bench(b, "select", `{type: exclude, fields: [message]}`, record) })
	b.Run("include", func(b *testing.B) { bench(b, "select", `{fields: [time, status, "path, url"]}`, record) })
}

func sortedJSON(t *testing.T, s string) string {
	t.Helper()
	v, err := value.ParseJSON(s, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(value.AppendJSON(nil, v))
}
