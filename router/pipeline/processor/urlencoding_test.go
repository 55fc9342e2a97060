package processor

import (
	"net/url"
	"testing"
)

func TestURLEncoding(t *testing.T) {
	run(t, "urlencoding", []runCase{
		{"decode by default", `field: a`, `{"a":"a%20b%2Fc%c3%A4"}`, `{"a":"a b/cä"}`},
		{"plus stays", `field: a`, `{"a":"a+b%2B"}`, `{"a":"a+b+"}`},
		{"invalid escapes stay", `field: a`, `{"a":"100% %zz %4 %41%"}`, `{"a":"100% %zz %4 A%"}`},
		{"nothing to decode", `field: a`, `{"a":"plain"}`, `{"a":"plain"}`},
		{"empty", `field: a`, `{"a":""}`, `{"a":""}`},
		{
			"not UTF-8", `field: a`, `{"a":"x%ff"}`,
			`!Processor urlencoding: the decoded text is not UTF-8: "x%ff" (field "a", processors[0])`,
		},
		{"encode", `{field: a, method: encode}`, `{"a":"a b/ä-_.~+"}`, `{"a":"a%20b%2F%C3%A4-_.~%2B"}`},
		{"nothing to encode", `{field: a, method: ENCODE}`, `{"a":"aZ09-_.~"}`, `{"a":"aZ09-_.~"}`},
		{
			"renamed", `fields: ["a, b", {key: c, rename_to: d}, e]`, `{"a":"%41","c":"%43","e":"%45"}`,
			`{"a":"%41","b":"A","c":"%43","d":"C","e":"E"}`,
		},
		{"missing", `field: a`, `{}`, `!missing field (field "a", processors[0])`},
		{"null is missing", `field: a`, `{"a":null}`, `!missing field`},
		{"missing ignored", `{fields: [a, b], ignore_missing: true}`, `{"a":null,"b":"%42"}`, `{"a":null,"b":"B"}`},
		{"wrong type", `field: a`, `{"a":1.5}`, `!expected a string, found a float: 1.5 (field "a"`},
		{"unknown method", `{field: a, method: decod}`, ``, `!did you mean "decode"?`},
		{"method of wrong type", `{field: a, method: [decode]}`, ``, `!urlencoding.method: expected a string, found a list`},
		{"unknown option", `{field: a, methods: encode}`, ``, `!unknown key "methods", did you mean "method"?`},
		{"no field", `method: encode`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzURLEncoding(f *testing.F) {
	f.Add("a b%20%zz%")
	f.Add("%c3%A4\xff")
	f.Fuzz(func(t *testing.T, s string) {
		escaped, changed := appendEscaped(nil, s)
		if !changed {
			escaped = []byte(s)
		}
		back, changed := appendUnescaped(nil, string(escaped))
		if !changed {
			back = escaped
		}
		if string(back) != s {
			t.Errorf("%q: %q: %q", s, escaped, back)
		}
		if want, err := url.PathUnescape(s); err == nil {
			got, changed := appendUnescaped(nil, s)
			if !changed {
				got = []byte(s)
			}
			if string(got) != want {
				t.Errorf("%q decodes to %q, want %q", s, got, want)
			}
		}
	})
}

func BenchmarkURLEncodingDecode(b *testing.B) {
	bench(b, "urlencoding", `{field: q}`, `{"q":"%2Fsearch%3Fq%3Dlog%20storage","path":"/"}`)
}

func BenchmarkURLEncodingEncode(b *testing.B) {
	bench(b, "urlencoding", `{field: q, method: encode}`, `{"q":"/search?q=log storage","path":"/"}`)
}
