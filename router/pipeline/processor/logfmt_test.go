package processor

import (
	"testing"

	"cordwood/router/vrl/value"
)

func TestLogfmt(t *testing.T) {
	run(t, "logfmt", []runCase{
		{
			"pairs", `field: m`, `{"m":"level=info  msg=\"a b\" took=1.5 cached"}`,
			`{"cached":true,"level":"info","m":"level=info  msg=\"a b\" took=1.5 cached","msg":"a b","took":"1.5"}`,
		},
		{
			"escapes", `field: m`, `{"m":"a=\"x\\\"y\\\\z\\n\\t\\u00e4\\ud83d\\ude00\\q\""}`,
			`{"a":"x\"y\\z\n\tä😀\\q","m":"a=\"x\\\"y\\\\z\\n\\t\\u00e4\\ud83d\\ude00\\q\""}`,
		},
		{"broken escapes", `field: m`, `{"m":"a=\"\\u12 \\ud800x\""}`, `{"a":"\\u12 �x","m":"a=\"\\u12 \\ud800x\""}`},
		{"empty values", `field: m`, `{"m":"a= b=\"\" c"}`, `{"a":"","b":"","c":true,"m":"a= b=\"\" c"}`},
		{"value with =", `field: m`, `{"m":"q=a=b=c"}`, `{"m":"q=a=b=c","q":"a=b=c"}`},
		{"no key", `field: m`, `{"m":"=x \"\"=y a=1"}`, `{"a":"1","m":"=x \"\"=y a=1"}`},
		{"quote not closed", `field: m`, `{"m":"a=\"x y=2 b=\"z"}`, `{"a":"\"x y=2 b=\"z","m":"a=\"x y=2 b=\"z"}`},
		{"quote never closed", `field: m`, `{"m":"a=\"x y=2"}`, `{"a":"\"x","m":"a=\"x y=2","y":"2"}`},
		{"text after a quote", `field: m`, `{"m":"a=\"x y\"z b=1"}`, `{"a":"\"x y\"z","b":"1","m":"a=\"x y\"z b=1"}`},
		{"single quotes are text", `field: m`, `{"m":"a='x y'"}`, `{"a":"'x","m":"a='x y'","y'":true}`},
		{"quoted key", `field: m`, `{"m":"\"a b\"=1"}`, `{"a b":"1","m":"\"a b\"=1"}`},
		{"later counts", `field: m`, `{"m":"a=1 a=2","a":0}`, `{"a":"2","m":"a=1 a=2"}`},
		{"replaces the field itself", `field: m`, `{"m":"m=1"}`, `{"m":"1"}`},
		{"nothing", `field: m`, `{"m":"  "}`, `{"m":"  "}`},
		{
			"many pairs stay in order", `field: m`, `{"m":"z=1 y=1 x=1 w=1 v=1 u=1 t=1 s=1 r=1 q=1 p=1 o=1 n=1","a":1}`,
			`{"a":1,"m":"z=1 y=1 x=1 w=1 v=1 u=1 t=1 s=1 r=1 q=1 p=1 o=1 n=1","n":"1","o":"1","p":"1","q":"1","r":"1","s":"1",` +
				`"t":"1","u":"1","v":"1","w":"1","x":"1","y":"1","z":"1"}`,
		},
		{"prefix", `{field: m, prefix: l_}`, `{"m":"a=1 b"}`, `{"l_a":"1","l_b":true,"m":"a=1 b"}`},
		{"renamed", `{field: "m, o", prefix: l_}`, `{"m":"b=1 a=2"}`, `{"m":"b=1 a=2","o":{"l_a":"2","l_b":"1"}}`},
		{
			"renamed as a map", `{fields: [{key: m, rename_to: m2}, n]}`, `{"m":"","n":"a=1"}`,
			`{"a":"1","m":"","m2":{},"n":"a=1"}`,
		},
		{"no standalone keys", `{field: m, standalone_keys: false}`, `{"m":"a b=1 c"}`, `{"b":"1","m":"a b=1 c"}`},
		{"include", `{field: m, include_keys: [a, c]}`, `{"m":"a=1 b=2 c"}`, `{"a":"1","c":true,"m":"a=1 b=2 c"}`},
		{"exclude", `{field: m, exclude_keys: [a, c]}`, `{"m":"a=1 b=2 c"}`, `{"b":"2","m":"a=1 b=2 c"}`},
		{"missing", `field: m`, `{}`, `!missing field (field "m", processors[0])`},
		{"missing ignored", `{field: m, ignore_missing: true}`, `{"m":null}`, `{"m":null}`},
		{"wrong type", `field: m`, `{"m":1}`, `!expected a string, found an integer`},
		{"include nothing", `{field: m, include_keys: []}`, ``, `!logfmt.include_keys: the list is empty`},
		{"include of wrong type", `{field: m, include_keys: a}`, ``, `!expected a list, found the string "a"`},
		{"unknown option", `{field: m, prefixes: a}`, ``, `!did you mean "prefix"?`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzLogfmt(f *testing.F) {
	var names Names
	step, err := compileOne("logfmt", `{field: m, prefix: p_}`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`level=info msg="a \"b\" \u00e4" x= =y "k"=v z`)
	f.Add(`a="`)
	f.Fuzz(func(t *testing.T, s string) { fuzzPairs(t, &names, step, s) })
}

// fuzzPairs checks that the fields are still sorted after the step.
func fuzzPairs(t *testing.T, names *Names, step Step, s string) {
	rec := NewRecord(names)
	rec.Value = value.ObjectOf(value.Field{Key: "m", Value: value.NewString(s)})
	if err := step.Apply(rec); err != nil {
		t.Fatal(err)
	}
	list := rec.Value.Object().Peek()
	for i := 1; i < len(list); i++ {
		if list[i-1].Key >= list[i].Key {
			t.Fatalf("%q: fields out of order: %q, %q", s, list[i-1].Key, list[i].Key)
		}
	}
}

func BenchmarkLogfmt(b *testing.B) {
	bench(b, "logfmt", `{field: m}`, `{"m":"ts=2024-01-02T03:04:05Z level=info caller=main.go:12 msg=\"request done\" `+
		`method=GET path=/a/b status=200 took=1.25ms"}`)
}
