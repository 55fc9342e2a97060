package processor

import "testing"

func TestKeyValue(t *testing.T) {
	run(t, "key_value", []runCase{
		{
			"defaults", `field: m`, `{"m":"a=1  b='x y' c=\"z\" d\te=2"}`,
			`{"a":"1","b":"x y","c":"z","e":"2","m":"a=1  b='x y' c=\"z\" d\te=2"}`,
		},
		{
			"splits", `{field: m, field_split: "&", value_split: ":"}`, `{"m":"a:1&b:x y&&c:&d"}`,
			`{"a":"1","b":"x y","c":"","m":"a:1&b:x y&&c:&d"}`,
		},
		{
			"long splits", `{field: m, field_split: "; ", value_split: " => "}`, `{"m":"a => 1; b => '2; 3'; c => x;y"}`,
			`{"a":"1","b":"2; 3","c":"x;y","m":"a => 1; b => '2; 3'; c => x;y"}`,
		},
		{
			"one space is a text like others", `{field: m, field_split: " "}`, `{"m":"a=1  b=2\tc"}`,
			`{"a":"1","b":"2\tc","m":"a=1  b=2\tc"}`,
		},
		{
			"quoted keys", `{field: m, field_split: ","}`, `{"m":"'a,b'=1,\"c=d\"=2"}`,
			`{"a,b":"1","c=d":"2","m":"'a,b'=1,\"c=d\"=2"}`,
		},
		{
			"brackets as quotes", `{field: m, quotes: "(["}`, `{"m":"a=(x y) b=[1 2] c=\"z w"}`,
			`{"a":"x y","b":"1 2","c":"\"z","m":"a=(x y) b=[1 2] c=\"z w"}`,
		},
		{"no quotes", `{field: m, quotes: ""}`, `{"m":"a='x y'"}`, `{"a":"'x","m":"a='x y'"}`},
		{
			"escapes", `{field: m}`, `{"m":"a=\"x\\\" \\\\ C:\\new\""}`,
			`{"a":"x\" \\ C:\\new","m":"a=\"x\\\" \\\\ C:\\new\""}`,
		},
		{
			"text after a quote", `{field: m}`, `{"m":"'a b'c=1 d='e f'g"}`,
			`{"'a b'c":"1","d":"'e f'g","m":"'a b'c=1 d='e f'g"}`,
		},
		{
			"trimmed", `{field: m, field_split: ",", trim_key: " ", trim_value: " <>"}`, `{"m":" a =< 1 >, b=2"}`,
			`{"a":"1","b":"2","m":" a =< 1 >, b=2"}`,
		},
		{
			"key of nothing but what is trimmed", `{field: m, field_split: ",", trim_key: " "}`, `{"m":" =1,b=2"}`,
			`{"b":"2","m":" =1,b=2"}`,
		},
		{"include", `{field: m, include_keys: [a]}`, `{"m":"a=1 b=2"}`, `{"a":"1","m":"a=1 b=2"}`},
		{"exclude", `{field: m, exclude_keys: [a]}`, `{"m":"a=1 b=2"}`, `{"b":"2","m":"a=1 b=2"}`},
		{"standalone keys", `{field: m, standalone_keys: true}`, `{"m":"a b=1"}`, `{"a":true,"b":"1","m":"a b=1"}`},
		{"prefix", `{field: m, prefix: kv.}`, `{"m":"a=1"}`, `{"kv.a":"1","m":"a=1"}`},
		{
			"renamed", `fields: ["m, o", {key: n, rename_to: p}]`, `{"m":"a=1","n":"b=2"}`,
			`{"m":"a=1","n":"b=2","o":{"a":"1"},"p":{"b":"2"}}`,
		},
		{"missing", `field: m`, `{}`, `!missing field (field "m", processors[0])`},
		{"missing ignored", `{field: m, ignore_missing: true}`, `{"m":null}`, `{"m":null}`},
		{"wrong type", `field: m`, `{"m":{"a":1}}`, `!expected a string, found an object`},
		{"empty split", `{field: m, field_split: ""}`, ``, `!key_value.field_split: expected a text of 1 to 64 bytes`},
		{
			"split of wrong type", `{field: m, value_split: 1}`, ``,
			`!key_value.value_split: expected a string, found the integer 1`,
		},
		{
			"same splits", `{field: m, field_split: "=", value_split: "="}`, ``,
			`!field_split and value_split are the same text`,
		},
		{"same as the default split", `{field: m, field_split: "="}`, ``, `!field_split and value_split are the same text`},
		{"bad quotes", `{field: m, quotes: "a"}`, ``, `!key_value.quotes: quotes may only contain ASCII marks`},
		{"quotes beyond ASCII", `{field: m, quotes: "“"}`, ``, `!quotes may only contain ASCII marks`},
		{"unknown option", `{field: m, value_spilt: x}`, ``, `!did you mean "value_split"?`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzKeyValue(f *testing.F) {
	var names Names
	step, err := compileOne("key_value",
		`{field: m, field_split: ", ", value_split: ":=", quotes: "\"'([", trim_key: " ", standalone_keys: true}`,
		Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`a:=1, b:='x, y', c:=(z, "d", \`)
	f.Add(`a:=(, a:=(, a:=(, )x`)
	f.Fuzz(func(t *testing.T, s string) { fuzzPairs(t, &names, step, s) })
}

func BenchmarkKeyValue(b *testing.B) {
	bench(b, "key_value", `{field: m, field_split: "&"}`, `{"m":"user=17&lang=en&q=log+storage&page=2&sort=desc"}`)
}
