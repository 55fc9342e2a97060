package processor

import (
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestDissect(t *testing.T) {
	run(t, "dissect", []runCase{
		{
			"example", `{field: m, pattern: '%{host} [%{+t} %{+t}] %{lvl->} %{msg}'}`, `{"m":"web1 [10:00 UTC] WARN   disk"}`,
			`{"host":"web1","lvl":"WARN","m":"web1 [10:00 UTC] WARN   disk","msg":"disk","t":"10:00 UTC"}`,
		},
		{
			"access", `{fields: [m], patterns: ['%{client} - %{user} [%{time}] "%{method} %{path} %{protocol}" %{status} ` +
				`%{bytes} "%{referer}" "%{agent}"']}`,
			`{"m":"10.0.0.1 - bob [25/May/2024:20:16:37 +0200] \"GET / HTTP/1.1\" 200 17 \"-\" \"curl\""}`,
			`{"agent":"curl","bytes":"17","client":"10.0.0.1","m":"10.0.0.1 - bob [25/May/2024:20:16:37 +0200] \"GET / ` +
				`HTTP/1.1\" 200 17 \"-\" \"curl\"","method":"GET","path":"/","protocol":"HTTP/1.1","referer":"-","status":"200",` +
				`"time":"25/May/2024:20:16:37 +0200","user":"bob"}`,
		},
		{"whole literal", `{field: m, pattern: '%{a} - %{b}'}`, `{"m":"x y - z"}`, `{"a":"x y","b":"z","m":"x y - z"}`},
		{"prefix", `{field: m, pattern: '<%{a}>'}`, `{"m":"<x>"}`, `{"a":"x","m":"<x>"}`},
		{"rest after a literal", `{field: m, pattern: '%{a};'}`, `{"m":"x;y;z"}`, `{"a":"x","m":"x;y;z"}`},
		{"name at the end", `{field: m, pattern: '%{a};%{b}'}`, `{"m":"x;y;z"}`, `{"a":"x","b":"y;z","m":"x;y;z"}`},
		{"empty texts", `{field: m, pattern: '%{a};%{b};%{c}'}`, `{"m":";;"}`, `{"a":"","b":"","c":"","m":";;"}`},
		{"empty input", `{field: m, pattern: '%{a}'}`, `{"m":""}`, `{"a":"","m":""}`},
		{"only text", `{field: m, pattern: 'x'}`, `{"m":"xy"}`, `{"m":"xy"}`},
		{"skips", `{field: m, pattern: '%{} %{?no} %{a} %{}'}`, `{"m":"1 2 3 4"}`, `{"a":"3","m":"1 2 3 4"}`},
		{"padded skip", `{field: m, pattern: '%{->} %{a}'}`, `{"m":"1    2"}`, `{"a":"2","m":"1    2"}`},
		{"padding of nothing", `{field: m, pattern: '%{a->} %{b}'}`, `{"m":"   2"}`, `{"a":"","b":"2","m":"   2"}`},
		{"padding to the end", `{field: m, pattern: '%{a->} %{b}'}`, `{"m":"1   "}`, `{"a":"1","b":"","m":"1   "}`},
		{"padding at the end", `{field: m, pattern: '%{a} %{b->}'}`, `{"m":"1 2  "}`, `{"a":"1","b":"2  ","m":"1 2  "}`},
		{
			"padding of a long literal", `{field: m, pattern: '%{a->} [%{b}]'}`, `{"m":"INFO   [x]"}`,
			`{"a":"INFO","b":"x","m":"INFO   [x]"}`,
		},
		{
			"repeats of a long literal", `{field: m, pattern: '%{a->}, %{b}'}`, `{"m":"1, , , 2"}`,
			`{"a":"1","b":"2","m":"1, , , 2"}`,
		},
		{"padding is of one character", `{field: m, pattern: '%{a->}→%{b}'}`, `{"m":"1→→2"}`, `{"a":"1","b":"2","m":"1→→2"}`},
		{
			"orders", `{field: m, pattern: '%{+a/2} %{+a/1} %{+a} %{+a/1->} %{b}'}`, `{"m":"1 2 3 4   5"}`,
			`{"a":"3 2 4 1","b":"5","m":"1 2 3 4   5"}`,
		},
		{
			"append to a plain name", `{field: m, pattern: '%{a} %{+a}', append_separator: '-'}`, `{"m":"1 2"}`,
			`{"a":"1-2","m":"1 2"}`,
		},
		{"append of one", `{field: m, pattern: '%{+a} %{b}'}`, `{"m":"1 2"}`, `{"a":"1","b":"2","m":"1 2"}`},
		{
			"empty separator", `{field: m, pattern: '%{+a} %{+a}', append_separator: ''}`, `{"m":"1 2"}`,
			`{"a":"12","m":"1 2"}`,
		},
		{"the later of two", `{field: m, pattern: '%{a} %{a}'}`, `{"m":"1 2"}`, `{"a":"2","m":"1 2"}`},
		{
			"pairs", `{field: m, pattern: '%{*k1}=%{&k1} %{&k2}:%{*k2} %{a}'}`, `{"m":"x=1 2:y z"}`,
			`{"a":"z","m":"x=1 2:y z","x":"1","y":"2"}`,
		},
		{"pair with an empty key", `{field: m, pattern: '%{*k}=%{&k}'}`, `{"m":"=1"}`, `{"m":"=1"}`},
		{"pair over a field", `{field: m, pattern: '%{a} %{*k}=%{&k}'}`, `{"m":"1 a=2"}`, `{"a":"2","m":"1 a=2"}`},
		{"names", `{field: m, pattern: '%{_a1} %{Größe}'}`, `{"m":"1 2"}`, `{"Größe":"2","_a1":"1","m":"1 2"}`},
		{"percent and braces", `{field: m, pattern: '%%{a}% }%{b}'}`, `{"m":"%1% }2"}`, `{"a":"1","b":"2","m":"%1% }2"}`},
		{"overwrites", `{field: m, pattern: '%{a} %{m}'}`, `{"a":0,"m":"1 2"}`, `{"a":"1","m":"2"}`},
		{
			"second pattern", `{field: m, patterns: ['[%{a}]', '%{b}=%{c}', '%{d}']}`, `{"m":"1=2"}`,
			`{"b":"1","c":"2","m":"1=2"}`,
		},
		{
			"both options", `{field: m, patterns: ['%{a}'], pattern: '%{b}'}`, `{"m":"1"}`,
			`!line 1: dissect.pattern: "patterns" and "pattern" exclude each other; write one of them with all values`,
		},
		{"an option without a value", `{field: m, patterns: , pattern: '%{b}'}`, `{"m":"1"}`, `{"b":"1","m":"1"}`},
		{
			"several fields, no renames", `{fields: ["m, x", n], pattern: '%{a}'}`, `{"m":"1","n":"2"}`,
			`{"a":"2","m":"1","n":"2"}`,
		},
		{
			"many fields", `{field: m, pattern: '%{a1} %{a2} %{a3} %{a4} %{a5} %{a6} %{a7} %{a8} %{a9} %{b1} %{b2} %{b3} ` +
				`%{b4} %{b5} %{b6} %{b7} %{b8} %{b9} %{c1} %{c2} %{c3} %{c4} %{c5} %{c6} %{+c7} %{+c7}'}`,
			`{"b5":true,"m":"1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8","z":null}`,
			`{"a1":"1","a2":"2","a3":"3","a4":"4","a5":"5","a6":"6","a7":"7","a8":"8","a9":"9","b1":"1","b2":"2","b3":"3",` +
				`"b4":"4","b5":"5","b6":"6","b7":"7","b8":"8","b9":"9","c1":"1","c2":"2","c3":"3","c4":"4","c5":"5","c6":"6",` +
				`"c7":"7 8","m":"1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8","z":null}`,
		},
		{
			"large record", `{field: m, pattern: '%{a} %{f}'}`, `{"b":1,"c":2,"d":3,"e":4,"f":5,"m":"x y"}`,
			`{"a":"x","b":1,"c":2,"d":3,"e":4,"f":"y","m":"x y"}`,
		},
		{"ignored", `{fields: [m, n], pattern: '%{a}', ignore_missing: true}`, `{"m":null}`, `{"m":null}`},

		{"missing", `{field: m, pattern: '%{a}'}`, `{}`, `!Processor dissect: missing field (field "m", processors[0])`},
		{"null", `{field: m, pattern: '%{a}'}`, `{"m":null}`, `!Processor dissect: missing field (field "m"`},
		{
			"type", `{field: m, pattern: '%{a}'}`, `{"m":["x"]}`,
			`!Processor dissect: expected a string, found an array: ["x"] (field "m"`,
		},
		{
			"no match", `{field: m, pattern: '%{a} %{b}: %{c}'}`, `{"m":"x y z"}`,
			`!Processor dissect: No matching pattern found, ": " is missing after byte 2, at the end of %{b}: ` +
				`"x y z" (field "m", processors[0])`,
		},
		{
			"no prefix", `{field: m, pattern: '[%{a}]'}`, `{"m":"x"}`,
			`!No matching pattern found, the text does not begin with "[": "x"`,
		},
		{
			"no match of several", `{field: m, patterns: ['[%{a}]', '%{a}=%{b};']}`, `{"m":"x=y"}`,
			`!No matching pattern found, the nearest fails: ";" is missing after byte 2, at the end of %{b}: "x=y"`,
		},

		{"no pattern", `field: m`, ``, `!"pattern" or "patterns" is required`},
		{"no patterns", `{field: m, patterns: []}`, ``, `!dissect.patterns: the list of patterns is empty`},
		{"pattern is a list", `{field: m, pattern: [a]}`, ``, `!dissect.pattern: expected a string, found a list`},
		{"patterns is a string", `{field: m, patterns: a}`, ``, `!dissect.patterns: expected a list, found the string "a"`},
		{
			"a pattern is a number", `{field: m, patterns: [1]}`, ``,
			`!dissect.patterns[0]: expected a string, found the integer 1`,
		},
		{"separator type", `{field: m, pattern: '%{a}', append_separator: 1}`, ``, `!expected a string, found the integer 1`},
		{
			"separator size", `{field: m, pattern: '%{a}', append_separator: '` + strings.Repeat("-", 65) + `'}`, ``,
			`!append_separator has 65 bytes, at most 64 are allowed`,
		},
		{
			"empty", `{field: m, patterns: ['%{a}', '']}`, ``,
			`!dissect.patterns[1]: invalid dissect pattern: the pattern is empty`,
		},
		{
			"adjacent", `{field: m, pattern: '%{a}%{b} %{c}'}`, ``,
			`!there is no text between the names %{a} and %{b} at byte 4`,
		},
		{"adjacent skip", `{field: m, pattern: '%{a}%{}'}`, ``, `!there is no text between the names %{a} and %{}`},
		{"unclosed", `{field: m, pattern: 'x %{a'}`, ``, `!the name that begins at byte 2 is not closed by }`},
		{"illegal character", `{field: m, pattern: '%{a.b}'}`, ``, `!illegal character '.' in %{a.b} at byte 0`},
		{"space in a name", `{field: m, pattern: '%{ a}'}`, ``, `!illegal character ' ' in %{ a}`},
		{"modifier inside", `{field: m, pattern: '%{a+}'}`, ``, `!illegal character '+'`},
		{"two modifiers", `{field: m, pattern: '%{+*a}'}`, ``, `!illegal character '*'`},
		{"append without name", `{field: m, pattern: '%{+}'}`, ``, `!%{+} at byte 0 has no name`},
		{"skip without name", `{field: m, pattern: '%{?}'}`, ``, `!%{?} at byte 0 has no name`},
		{"key without name", `{field: m, pattern: '%{*->} %{&}'}`, ``, `!%{*->} at byte 0 has no name`},
		{"no number", `{field: m, pattern: '%{+a/}'}`, ``, `!%{+a/} at byte 0 has no number after the /`},
		{"letter for a number", `{field: m, pattern: '%{+a/x}'}`, ``, `!has no number after the /`},
		{"large number", `{field: m, pattern: '%{+a/99999999999}'}`, ``, `!is too large`},
		{"number on a plain name", `{field: m, pattern: '%{a/1}'}`, ``, `!illegal character '/' in %{a/1}`},
		{"single dash", `{field: m, pattern: '%{a-b}'}`, ``, `!a single - is not allowed; padding is ->`},
		{"dash at the end", `{field: m, pattern: '%{a-}'}`, ``, `!a single - is not allowed`},
		{"arrow inside", `{field: m, pattern: '%{a->b}'}`, ``, `!-> must be directly before the }`},
		{"arrow before the number", `{field: m, pattern: '%{+a->/1}'}`, ``, `!-> must be directly before the }`},
		{"key twice", `{field: m, pattern: '%{*k} %{*k} %{&k}'}`, ``, `!the key %{*k} occurs twice`},
		{"value twice", `{field: m, pattern: '%{*k} %{&k} %{&k}'}`, ``, `!the value %{&k} occurs twice`},
		{"key alone", `{field: m, pattern: '%{*k} %{a}'}`, ``, `!the key %{*k} has no value %{&k}`},
		{"value alone", `{field: m, pattern: '%{a} %{&k}'}`, ``, `!the value %{&k} has no key %{*k}`},
		{
			"long", `{field: m, pattern: '` + strings.Repeat("x", maxPatternBytes+1) + `'}`, ``,
			`!the pattern has 16385 bytes, at most 16384 are allowed`,
		},
		{
			"many", `{field: m, patterns: [` + strings.Repeat("a,", maxPatterns) + `a]}`, ``,
			`!257 patterns, at most 256 are allowed`,
		},
		{
			"names", `{field: m, pattern: '` + strings.Repeat("%{a} ", maxDissectCaptures+1) + `'}`, ``,
			`!more than 1000 names`,
		},
	})
}

func FuzzDissect(f *testing.F) {
	for _, s := range [][2]string{
		{"%{host} [%{+t/1} %{+t}] %{lvl->} %{msg}", "web1 [10:00 UTC] WARN   disk"},
		{"%{*k}=%{&k},%{?a->}→%{}", "x=1,y→→z"},
		{"%{a->} [%{b}", "a  [  [ ["},
		{"%{", "%{"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		var names Names
		step, err := compileOne("dissect", "{field: t, pattern: "+string(value.AppendJSONString(nil, pattern))+"}",
			Env{}, &names)
		if err != nil {
			return
		}
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "t", Value: value.NewString(text)})
		err = step.Apply(rec)
		size := 0
		for i, x := range rec.Value.Object().Peek() {
			if size += x.Value.Len(); i > 0 && rec.Value.Object().Key(i-1) >= x.Key {
				t.Errorf("%q of %q: keys out of order: %s", pattern, text, rec.Value)
			}
		}
		if err == nil && size > 2*(len(text)+len(pattern)) {
			t.Errorf("%q of %q: %d bytes", pattern, text, size)
		}
	})
}

func BenchmarkDissect(b *testing.B) {
	b.Run("access", func(b *testing.B) {
		bench(b, "dissect", `{field: message, pattern: '%{client} - %{user} [%{time}] "%{method} %{path} %{protocol}" `+
			`%{status} %{bytes} "%{referer}" "%{user_agent}"'}`,
			`{"message":"203.0.113.7 - - [25/May/2024:20:16:37 +0000] \"GET /api/v1/orders/1234 HTTP/1.1\" 200 5316 `+
				`\"https://www.example.com/landing\" \"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, `+
				`like Gecko) Chrome/120.0.4321.7 Safari/537.36\""}`)
	})
	b.Run("append", func(b *testing.B) {
		bench(b, "dissect", `{field: message, pattern: '%{+t} %{+t} %{+t} %{host} %{app}[%{pid}]: %{text}'}`,
			`{"message":"Jun 14 15:16:01 combo sshd[19939]: authentication failure; rhost=218.188.2.4"}`)
	})
}
