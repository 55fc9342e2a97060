package processor

import (
	"regexp"
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestGsub(t *testing.T) {
	run(t, "gsub", []runCase{
		{"all scripts", `{field: a, pattern: '\w+', replacement: '<$0>'}`, `{"a":"é à"}`, `{"a":"<é> <à>"}`},
		{"all matches", `{field: a, pattern: '\d+', replacement: N}`, `{"a":"1 b 23"}`, `{"a":"N b N"}`},
		{"fixed text", `{field: a, pattern: 'bc', replacement: 'x$$'}`, `{"a":"abcbcd"}`, `{"a":"ax$x$d"}`},
		{"fixed text of special bytes", `{field: a, pattern: '\.', replacement: _}`, `{"a":"a.b.c"}`, `{"a":"a_b_c"}`},
		{"fixed text, absent", `{field: a, pattern: 'x', replacement: ''}`, `{"a":"abc"}`, `{"a":"abc"}`},
		{"anchored text", `{field: a, pattern: '^a', replacement: 'x'}`, `{"a":"aa"}`, `{"a":"xa"}`},
		{"anchored end", `{field: a, pattern: 'a$', replacement: 'x'}`, `{"a":"aa"}`, `{"a":"ax"}`},
		{"any case", `{field: a, pattern: '(?i)ab', replacement: 'x'}`, `{"a":"aBAb"}`, `{"a":"xx"}`},
		{"removed", `{field: a, pattern: '[aeiou]', replacement: ''}`, `{"a":"remove"}`, `{"a":"rmv"}`},
		{
			"numbers", `{field: a, pattern: '(\w+)@(\w+)', replacement: '$2 at ${1}x'}`, `{"a":"me@here, you@there"}`,
			`{"a":"here at mex, there at youx"}`,
		},
		{
			"names", `{field: a, pattern: '(?<u>\w+)@(?P<h>\w+)', replacement: '$h-${u}'}`, `{"a":"me@here"}`,
			`{"a":"here-me"}`,
		},
		{"the whole match", `{field: a, pattern: '\d', replacement: '<$0>'}`, `{"a":"a1"}`, `{"a":"a<1>"}`},
		{"dollar signs", `{field: a, pattern: '(\d+)', replacement: '$$$1 $ $.'}`, `{"a":"5"}`, `{"a":"$5 $ $."}`},
		{"group took no part", `{field: a, pattern: '(x)|y', replacement: '[$1]'}`, `{"a":"xy"}`, `{"a":"[x][]"}`},
		{"empty matches", `{field: a, pattern: 'x*', replacement: '-'}`, `{"a":"éx"}`, `{"a":"-é-"}`},
		{"no match", `{field: a, pattern: '\d', replacement: 'x'}`, `{"a":"abc"}`, `{"a":"abc"}`},
		{"characters", `{field: a, pattern: '(..)', replacement: '<$1>'}`, `{"a":"éaé"}`, `{"a":"<éa>é"}`},
		{"characters of a class", `{field: a, pattern: '[^a]+', replacement: '-'}`, `{"a":"éabé日"}`, `{"a":"-a-"}`},
		{"empty text", `{field: a, pattern: '\d', replacement: 'x'}`, `{"a":""}`, `{"a":""}`},
		{"renamed", `{fields: ["a, b"], pattern: 'x', replacement: 'y'}`, `{"a":"x"}`, `{"a":"x","b":"y"}`},
		{"ignored", `{fields: [a, b], pattern: 'x', replacement: 'y', ignore_missing: true}`, `{"a":null}`, `{"a":null}`},

		{
			"missing", `{field: a, pattern: x, replacement: y}`, `{}`,
			`!Processor gsub: missing field (field "a", processors[0])`,
		},
		{
			"null", `{field: a, pattern: x, replacement: y}`, `{"a":null}`,
			`!Processor gsub: missing field (field "a", processors[0])`,
		},
		{
			"array", `{field: a, pattern: x, replacement: y}`, `{"a":["x"]}`,
			`!Processor gsub: expected a string, found an array: ["x"] (field "a"`,
		},
		{
			"too long", `{field: a, pattern: '(?:)', replacement: '` + strings.Repeat("x", 4096) + `'}`,
			`{"a":"` + strings.Repeat("y", 100) + `"}`,
			`!Processor gsub: the result would have more than 16 times the bytes of the text: `,
		},
		{
			"too long, fixed text", `{field: a, pattern: y, replacement: '` + strings.Repeat("x", 4096) + `'}`,
			`{"a":"` + strings.Repeat("y", 100) + `"}`, `!the result would have more than 16 times`,
		},
		{
			"too long, groups", `{field: a, pattern: '.+', replacement: '` + strings.Repeat("$0", 100) + `'}`,
			`{"a":"` + strings.Repeat("y", 1000) + `"}`, `!the result would have more than 16 times`,
		},
		{
			"long replacement, few matches",
			`{field: a, pattern: '^.', replacement: '` + strings.Repeat("x", 4096) + `'}`,
			`{"a":"` + strings.Repeat("y", 100) + `"}`,
			`{"a":"` + strings.Repeat("x", 4096) + strings.Repeat("y", 99) + `"}`,
		},

		{"no pattern", `{field: a, replacement: y}`, ``, `!"pattern" is required`},
		{"no replacement", `{field: a, pattern: x}`, ``, `!"replacement" is required`},
		{
			"pattern type", `{field: a, pattern: 1, replacement: y}`, ``,
			`!gsub.pattern: expected a string, found the integer 1`,
		},
		{
			"replacement type", `{field: a, pattern: x, replacement: 1}`, ``,
			`!gsub.replacement: expected a string, found the integer 1`,
		},
		{
			"broken pattern", `{field: a, pattern: '(', replacement: y}`, ``,
			`!gsub.pattern: invalid regular expression: missing closing )`,
		},
		{
			"unknown number", `{field: a, pattern: '(x)', replacement: '$2'}`, ``,
			`!gsub.replacement: the replacement refers to the group "2", which the pattern lacks`,
		},
		{"unknown name", `{field: a, pattern: '(x)', replacement: '$1x'}`, ``, `!the replacement refers to the group "1x"`},
		{
			"brace not closed", `{field: a, pattern: '(x)', replacement: '${1'}`, ``,
			`!gsub.replacement: the replacement has ${ without a name and }`,
		},
		{"empty braces", `{field: a, pattern: '(x)', replacement: '${}'}`, ``, `!the replacement has ${ without a name`},
		{
			"long replacement", `{field: a, pattern: x, replacement: '` + strings.Repeat("x", 4097) + `'}`, ``,
			`!the replacement has 4097 bytes, at most 4096 are allowed`,
		},
		{"no field", `{pattern: x, replacement: y}`, ``, `!"field" or "fields" is required`},
	})
}

// FuzzGsub compares the result with that of package regexp.
func FuzzGsub(f *testing.F) {
	f.Add(`(\w+)@(?<h>\w*)`, "$h-${1}$$", "me@here é")
	f.Add("bc", "$$x", "abcbc")
	f.Add("", "-", "\xffé")
	f.Fuzz(func(t *testing.T, pattern, template, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		r, err := newReplacement(re, template)
		if err != nil {
			return
		}
		var names Names
		v, err := r.apply(NewRecord(&names), text)
		if err != nil {
			return
		}
		if want := re.ReplaceAllString(text, template); v.Str() != want || v.Kind() != value.String {
			t.Errorf("%q of %q by %q: %s, want %q", pattern, text, template, v, want)
		}
	})
}

func BenchmarkGsub(b *testing.B) {
	b.Run("regex", func(b *testing.B) {
		bench(b, "gsub", `{field: path, pattern: '\d+', replacement: '#'}`, `{"path":"/api/v1/orders/1234/items/17"}`)
	})
	b.Run("fixed", func(b *testing.B) {
		bench(b, "gsub", `{field: path, pattern: '/', replacement: '.'}`, `{"path":"/api/v1/orders/1234/items/17"}`)
	})
}
