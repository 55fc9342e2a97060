package processor

import (
	"strings"
	"testing"
)

func TestGrok(t *testing.T) {
	run(t, "grok", []runCase{
		{
			"typed parts", `{field: m, pattern: '%{IP:client} %{WORD:method} %{NUMBER:bytes:int} %{NUMBER:took:float} ` +
				`%{WORD:ok:bool}'}`,
			`{"m":"55.3.244.1 GET 15824 0.043 True"}`, `{"bytes":15824,"client":"55.3.244.1","m":"55.3.244.1 GET 15824 0.043 ` +
				`True","method":"GET","ok":true,"took":0.043}`,
		},
		{
			"first that matches", `{field: m, patterns: ['^%{INT:a}$', '^%{WORD:b}$', '%{DATA:c}']}`, `{"m":"xy"}`,
			`{"b":"xy","m":"xy"}`,
		},
		{"both keys", `{field: m, patterns: ['^%{WORD:b}$'], pattern: '^%{INT:a}$'}`, `{"m":"7"}`, `{"a":"7","m":"7"}`},
		{
			"definitions",
			"field: m\npattern: '%{ORDER:id}'\npattern_definitions:\n  ORDER: 'N%{DIGITS}'\n  DIGITS: '[0-9]{3}'",
			`{"m":"of N123."}`, `{"id":"N123","m":"of N123."}`,
		},
		{
			"definitions go before the library", "field: m\npattern: '%{INT:id}'\npattern_definitions: {INT: '[a-c]+'}",
			`{"m":"7abc"}`, `{"id":"abc","m":"7abc"}`,
		},
		{"named groups", `{field: m, pattern: '(?<first>\w+)-(\w+)'}`, `{"m":"a-b"}`, `{"first":"a","m":"a-b"}`},
		{"part without a place", `{field: m, pattern: '%{WORD:a}(?: %{INT:b})?'}`, `{"m":"x"}`, `{"a":"x","m":"x"}`},
		{
			"replaces the field itself", `{field: message, pattern: '^%{LOGLEVEL:level}: %{GREEDYDATA:message}'}`,
			`{"message":"WARN: disk"}`, `{"level":"WARN","message":"disk"}`,
		},
		{"prefix", `{field: m, pattern: '%{WORD:a}', prefix: g_}`, `{"m":"x"}`, `{"g_a":"x","m":"x"}`},
		{"renamed", `{field: "m, o", pattern: '%{WORD:b} %{WORD:a}'}`, `{"m":"x y"}`, `{"m":"x y","o":{"a":"y","b":"x"}}`},
		{
			"renamed as a map", `{fields: [{key: m, rename_to: o}], pattern: '%{WORD:b}'}`, `{"m":"x"}`,
			`{"m":"x","o":{"b":"x"}}`,
		},
		{"integer with a fraction", `{field: m, pattern: '%{NUMBER:n:int}'}`, `{"m":"-1.9"}`, `{"m":"-1.9","n":-1}`},
		{
			"integer beyond floats", `{field: m, pattern: '%{NUMBER:n:int}'}`, `{"m":"9007199254740993.0"}`,
			`{"m":"9007199254740993.0","n":9007199254740993}`,
		},
		{"integer with an exponent", `{field: m, pattern: '%{DATA:n:int}$'}`, `{"m":"1.25e1"}`, `{"m":"1.25e1","n":12}`},
		{"hexadecimal integer", `{field: m, pattern: '%{DATA:n:int}$'}`, `{"m":"0x1p4"}`, `{"m":"0x1p4","n":16}`},
		{
			"not a number to an integer", `{field: m, pattern: '%{DATA:n:int}$'}`, `{"m":"NaN"}`,
			`!the part "n" is not an integer`,
		},
		{
			"fraction beyond integers", `{field: m, pattern: '%{DATA:n:int}$'}`, `{"m":"9223372036854775808.5"}`,
			`!the part "n" is not an integer`,
		},
		{
			"no integer", `{field: m, pattern: '%{DATA:n:int}$'}`, `{"m":"x"}`,
			`!Processor grok: the part "n" is not an integer: "x" (field "m", processors[0])`,
		},
		{
			"integer too large", `{field: m, pattern: '%{INT:n:int}'}`, `{"m":"99999999999999999999"}`,
			`!the part "n" is not an integer`,
		},
		{"no number", `{field: m, pattern: '%{WORD:n:float}'}`, `{"m":"Infinity"}`, `!the part "n" is not a number`},
		{"no boolean", `{field: m, pattern: '%{WORD:n:bool}'}`, `{"m":"yes"}`, `!the part "n" is not a boolean`},
		{
			"no match", `{field: m, pattern: '^%{INT:a}$'}`, `{"m":"x"}`,
			`!Processor grok: no pattern matches: "x" (field "m", processors[0])`,
		},
		{
			"text too long", `{field: m, pattern: '^a{1000}a{1000}a{1000}a{1000}a{1000}%{INT:a}'}`,
			`{"m":"` + strings.Repeat("a", 200_000) + `"}`, `!the text has 200000 bytes, and at most `,
		},
		{"no match ignored", `{field: m, pattern: '^%{INT:a}$', ignore_no_match: true}`, `{"m":"x"}`, `{"m":"x"}`},
		{"missing", `{field: m, pattern: '%{INT:a}'}`, `{}`, `!missing field (field "m", processors[0])`},
		{"missing ignored", `{field: m, pattern: '%{INT:a}', ignore_missing: true}`, `{"m":null}`, `{"m":null}`},
		{"wrong type", `{field: m, pattern: '%{INT:a}'}`, `{"m":7}`, `!expected a string, found an integer`},
		{"no pattern", `field: m`, ``, `!"pattern" or "patterns" is required`},
		{"empty list", `{field: m, patterns: []}`, ``, `!grok.patterns: the list of patterns is empty`},
		{"empty pattern", `{field: m, pattern: ""}`, ``, `!grok.pattern: the pattern is empty`},
		{
			"nothing captured", `{field: m, pattern: '%{INT}'}`, ``,
			`!the pattern captures nothing; give a part a name, such as %{IP:client}`,
		},
		{
			"unknown pattern", `{field: m, patterns: ['%{IPV4:a}', '%{GREEDYDAT:a}']}`, ``,
			`!grok.patterns[1]: invalid grok pattern: unknown pattern %{GREEDYDAT}, did you mean "GREEDYDATA"?`,
		},
		{
			"bad regex", `{field: m, pattern: '(%{INT:a}'}`, ``,
			`!invalid grok pattern: invalid regular expression: missing closing )`,
		},
		{"look-around", `{field: m, pattern: '(?<!x)%{INT:a}'}`, ``, `!look-around is not supported`},
		{
			"bad definition", "field: m\npattern: '%{INT:a}'\npattern_definitions:\n  A: '('", ``,
			`!grok.pattern_definitions.A: invalid grok pattern`,
		},
		{
			"bad name", "field: m\npattern: '%{INT:a}'\npattern_definitions: {'A:b': x}", ``,
			`!"A:b" cannot be the name of a pattern`,
		},
		{
			"definition of itself", "field: m\npattern: '%{INT:a}'\npattern_definitions: {A: '%{A}'}", ``,
			`!the patterns refer to each other more than 32 deep`,
		},
		{
			"definitions of wrong type", `{field: m, pattern: '%{INT:a}', pattern_definitions: [a]}`, ``,
			`!expected a map, found a list`,
		},
		{"unknown option", `{field: m, pattern: '%{INT:a}', definitions: {}}`, ``, `!unknown key "definitions"`},
		{"no field", `{pattern: '%{INT:a}'}`, ``, `!"field" or "fields" is required`},
	})
}

func BenchmarkGrok(b *testing.B) {
	bench(b, "grok", `{field: m, pattern: '^%{IPORHOST:client} %{WORD:method} %{NOTSPACE:path} %{NUMBER:bytes:int}$'}`,
		`{"m":"55.3.244.1 GET /index.html 15824"}`)
}

func BenchmarkGrokCombined(b *testing.B) {
	bench(b, "grok", `{field: m, pattern: '^%{COMBINEDAPACHELOG}'}`, `{"m":"127.0.0.1 - frank [10/Oct/2000:13:55:36 `+
		`-0700] \"GET /a.gif HTTP/1.0\" 200 2326 \"http://x.com/start.html\" \"Mozilla/4.08 [en] (Win98; I)\""}`)
}
