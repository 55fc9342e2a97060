package processor

import (
	"regexp"
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestRegex(t *testing.T) {
	run(t, "regex", []runCase{
		{
			"example", `{field: ln, pattern: '(?<code>\d{3}) (?<verb>[A-Z]+)'}`, `{"ln":"200 GET /"}`,
			`{"ln":"200 GET /","ln_code":"200","ln_verb":"GET"}`,
		},
		{
			"the other form", `{fields: [ln], patterns: ['(?P<code>\d{3})']}`, `{"ln":"HTTP 200"}`,
			`{"ln":"HTTP 200","ln_code":"200"}`,
		},
		{"search", `{field: a, pattern: 'b(?<x>.)'}`, `{"a":"abcabd"}`, `{"a":"abcabd","a_x":"c"}`},
		{
			"renamed prefix", `{fields: ["a, p", {key: b, rename_to: q}], pattern: '(?<x>.)'}`, `{"a":"1","b":"2"}`,
			`{"a":"1","b":"2","p_x":"1","q_x":"2"}`,
		},
		{
			"all patterns", `{field: a, patterns: ['x(?<x>.)', 'y(?<y>.)', 'z(?<z>.)']}`, `{"a":"z1y2"}`,
			`{"a":"z1y2","a_y":"2","a_z":"1"}`,
		},
		{"the later pattern", `{field: a, patterns: ['x(?<x>.)', 'y(?<x>.)']}`, `{"a":"x1y2"}`, `{"a":"x1y2","a_x":"2"}`},
		{
			"pattern and patterns", `{field: a, patterns: ['y(?<x>.)'], pattern: 'x(?<x>.)'}`, `{"a":"x1y2"}`,
			`{"a":"x1y2","a_x":"2"}`,
		},
		{"a pattern without names", `{field: a, patterns: ['.(.)', '(?<x>.)']}`, `{"a":"12"}`, `{"a":"12","a_x":"1"}`},
		{"group took no part", `{field: a, pattern: '(?<x>1)|(?<y>2)'}`, `{"a":"2"}`, `{"a":"2","a_y":"2"}`},
		{"empty group", `{field: a, pattern: '(?<x>\d*)'}`, `{"a":""}`, `{"a":"","a_x":""}`},
		{"no match", `{field: a, pattern: '(?<x>1)'}`, `{"a":"2"}`, `{"a":"2"}`},
		{"existing is overwritten", `{field: a, pattern: '(?<x>1)'}`, `{"a":"1","a_x":7}`, `{"a":"1","a_x":"1"}`},
		{"existing stays", `{field: a, pattern: '(?<x>1)'}`, `{"a":"2","a_x":7}`, `{"a":"2","a_x":7}`},
		{"flags", `{field: a, pattern: '(?i)(?<x>ab)'}`, `{"a":"xAB"}`, `{"a":"xAB","a_x":"AB"}`},
		{
			"characters", `{field: a, pattern: '(?<x>[^"]+)"(?<y>\p{L}+)(?<z>\w*)'}`, `{"a":"ä…\"éx1"}`,
			`{"a":"ä…\"éx1","a_x":"ä…","a_y":"éx","a_z":"1"}`,
		},
		{
			"all scripts", `{field: a, pattern: '(?<x>\d+)(?<y>\w)(?<z>[^\W\d]+)'}`, `{"a":"٣3éà"}`,
			`{"a":"٣3éà","a_x":"٣3","a_y":"é","a_z":"à"}`,
		},
		{
			"large record", `{field: m, pattern: '(?<a>.)(?<l>.)'}`, `{"b":1,"c":2,"d":3,"e":4,"f":5,"m":"xy"}`,
			`{"b":1,"c":2,"d":3,"e":4,"f":5,"m":"xy","m_a":"x","m_l":"y"}`,
		},
		{"ignored", `{fields: [a, b], pattern: '(?<x>.)', ignore_missing: true}`, `{"b":"1"}`, `{"b":"1","b_x":"1"}`},

		{"missing", `{field: a, pattern: '(?<x>.)'}`, `{}`, `!Processor regex: missing field (field "a", processors[0])`},
		{
			"null", `{fields: [b, a], pattern: '(?<x>.)'}`, `{"b":"","a":null}`,
			`!Processor regex: missing field (field "a", processors[0])`,
		},
		{
			"type", `{field: a, pattern: '(?<x>.)'}`, `{"a":7}`,
			`!Processor regex: expected a string, found an integer: 7 (field "a"`,
		},

		{"no field", `{pattern: '(?<x>.)'}`, ``, `!"field" or "fields" is required`},
		{"no pattern", `field: a`, ``, `!"pattern" or "patterns" is required`},
		{"no patterns", `{field: a, patterns: []}`, ``, `!regex.patterns: the list of patterns is empty`},
		{"no names", `{field: a, patterns: ['(.)', '.']}`, ``, `!no pattern has a named group`},
		{
			"broken", `{field: a, patterns: ['(?<x>.)', '(']}`, ``,
			`!regex.patterns[1]: invalid regular expression: missing closing )`,
		},
		{"look-ahead", `{field: a, pattern: '(?<x>.)(?=b)'}`, ``, `!(look-around is not supported)`},
		{"back-reference", `{field: a, pattern: '(?<x>.)\1'}`, ``, `!invalid escape sequence`},
		{"name twice", `{field: a, pattern: '(?<x>.)(?<x>.)'}`, ``, `!line 1: regex.pattern: two groups have the name "x"`},
		{"repeats", `{field: a, pattern: '(?<x>(.{100}){100})'}`, ``, `!invalid repeat count`},
		{
			"too large", `{field: a, pattern: '` + strings.Repeat("(?<x>(.{30}){30})", 25) + `'}`, ``,
			`!instructions, at most 20000 are allowed`,
		},
		{"pattern is a list", `{field: a, pattern: ['(?<x>.)']}`, ``, `!regex.pattern: expected a string, found a list`},
		{"patterns is a string", `{field: a, patterns: '(?<x>.)'}`, ``, `!regex.patterns: expected a list, found the string`},
		{
			"a pattern is a number", `{field: a, patterns: ['(?<x>.)', 1]}`, ``,
			`!regex.patterns[1]: expected a string, found the integer 1`,
		},
		{
			"many", `{field: a, pattern: a, patterns: [` + strings.Repeat("a,", maxPatterns) + `]}`, ``,
			`!257 patterns, at most 256 are allowed`,
		},
	})
}

func FuzzRegex(f *testing.F) {
	f.Add(`^(?<a>\S+) (?<b>[^"]*)"`, `x y"z"`)
	f.Add(`(?<a>é|\xff)(?<b>.*?)c`, "é\xff\xc3c")
	f.Add(`(?i)(?<a>k+)$`, "xKKk")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		var names Names
		step, err := compileOne("regex", "{field: t, pattern: "+string(value.AppendJSONString(nil, pattern))+"}",
			Env{}, &names)
		if err != nil {
			return
		}
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "t", Value: value.NewString(text)})
		if err := step.Apply(rec); err != nil {
			t.Fatal(err)
		}
		re := regexp.MustCompile(value.Lossy(pattern))
		loc := re.FindStringSubmatchIndex(text)
		for i, n := range re.SubexpNames() {
			if n == "" {
				continue
			}
			v, ok := rec.Value.Object().Get("t_" + n)
			if ok != (loc != nil && loc[2*i] >= 0) || ok && v.Str() != text[loc[2*i]:loc[2*i+1]] {
				t.Errorf("%q of %q: %s is %s", pattern, text, n, v)
			}
		}
	})
}

const accessLine = `203.0.113.7 - - [25/May/2024:20:16:37 +0000] \"GET /api/v1/orders/1234 HTTP/1.1\" 200 5316 ` +
	`\"https://www.example.com/landing\" \"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, ` +
	`like Gecko) Chrome/120.0.4321.7 Safari/537.36\"`

func BenchmarkRegex(b *testing.B) {
	b.Run("access", func(b *testing.B) {
		bench(b, "regex", `{field: message, pattern: '^(?<client>\S+) \S+ (?<user>\S+) \[(?<time>[^\]]+)\] "(?<method>\S+) `+
			`(?<path>\S+) (?<protocol>[^"]*)" (?<status>\d+) (?<bytes>\S+) "(?<referer>[^"]*)" "(?<user_agent>[^"]*)"$'}`,
			`{"message":"`+accessLine+`"}`)
	})
	b.Run("search", func(b *testing.B) {
		bench(b, "regex", `{field: message, pattern: 'rhost=(?<host>\S+)\s+user=(?<user>\w+)'}`,
			`{"message":"authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= `+
				`rhost=220-135-151-1.hinet-ip.hinet.net  user=root"}`)
	})
}
