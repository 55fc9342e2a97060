package processor

import (
	"regexp"
	"testing"
)

func TestDigest(t *testing.T) {
	const uuid = `123e4567-e89b-12d3-A456-426614174000`
	run(t, "digest", []runCase{
		{
			"numbers", `{field: m, presets: [numbers]}`, `{"m":"took 12.5 ms, ٣ tries"}`,
			`{"m":"took 12.5 ms, ٣ tries","m_digest":"took . ms,  tries"}`,
		},
		{
			"quoted", `{field: m, presets: [quoted]}`, `{"m":"say \"a b\" or 'c\" or “x’ y\""}`,
			`{"m":"say \"a b\" or 'c\" or “x’ y\"","m_digest":"say  or  or  y\""}`,
		},
		{"quotes that do not pair up", `{field: m, presets: [quoted]}`, `{"m":"don't"}`, `{"m":"don't","m_digest":"don't"}`},
		{"empty quotes", `{field: m, presets: [quoted]}`, `{"m":"a''b"}`, `{"m":"a''b","m_digest":"ab"}`},
		{
			"bracketed", `{field: m, presets: [bracketed]}`, `{"m":"a (b) [c} <d> 「e」（f）z"}`,
			`{"m":"a (b) [c} <d> 「e」（f）z","m_digest":"a    z"}`,
		},
		{
			"innermost brackets", `{field: m, presets: [bracketed]}`, `{"m":"(a [b] c) ] x ( ("}`,
			`{"m":"(a [b] c) ] x ( (","m_digest":"(a  c) ] x ( ("}`,
		},
		{
			"uuid", `{field: m, presets: [uuid]}`, `{"m":"id=` + uuid + `, ` + uuid + `."}`,
			`{"m":"id=` + uuid + `, ` + uuid + `.","m_digest":"id=, ."}`,
		},
		{
			"uuid inside a word", `{field: m, presets: [uuid]}`, `{"m":"x` + uuid + ` ` + uuid + `_ ä` + uuid + `"}`,
			`{"m":"x` + uuid + ` ` + uuid + `_ ä` + uuid + `","m_digest":"x` + uuid + ` ` + uuid + `_ ä` + uuid + `"}`,
		},
		{
			"ip", `{field: m, presets: [ip]}`, `{"m":"from 10.0.0.1:8080 to [fe80::1]:53, [::1] 1.2.3 [dead] 1.2.3.4:"}`,
			`{"m":"from 10.0.0.1:8080 to [fe80::1]:53, [::1] 1.2.3 [dead] 1.2.3.4:","m_digest":"from  to ,  1.2.3 [dead] :"}`,
		},
		{
			"in the order of the list", `{field: m, presets: [numbers, ip]}`, `{"m":"10.0.0.1 x"}`,
			`{"m":"10.0.0.1 x","m_digest":"... x"}`,
		},
		{
			"in the other order", `{field: m, presets: [ip, numbers]}`, `{"m":"10.0.0.1 x 7"}`,
			`{"m":"10.0.0.1 x 7","m_digest":" x "}`,
		},
		{
			"regex", `{field: m, regex: ['user \w+', '\s+$']}`, `{"m":"login of user bob, user eve  "}`,
			`{"m":"login of user bob, user eve  ","m_digest":"login of ,"}`,
		},
		{
			"regex before presets", `{field: m, regex: ['\d\d'], presets: [numbers]}`, `{"m":"123-4"}`,
			`{"m":"123-4","m_digest":"-"}`,
		},
		{"empty matches", `{field: m, regex: ['x*']}`, `{"m":"axxb"}`, `{"m":"axxb","m_digest":"ab"}`},
		{"presets in any case", `{field: m, presets: [Numbers]}`, `{"m":"a1"}`, `{"m":"a1","m_digest":"a"}`},
		{"a rename has no effect", `{field: "m, n", presets: [numbers]}`, `{"m":"a1"}`, `{"m":"a1","m_digest":"a"}`},
		{
			"several fields", `{fields: [m, {key: n, rename_to: o}], presets: [numbers]}`, `{"m":"a1","n":"2"}`,
			`{"m":"a1","m_digest":"a","n":"2","n_digest":""}`,
		},
		{"missing", `{field: m, presets: [ip]}`, `{}`, `!missing field (field "m", processors[0])`},
		{"missing ignored", `{field: m, presets: [ip], ignore_missing: true}`, `{"m":null}`, `{"m":null}`},
		{"wrong type", `{field: m, presets: [ip]}`, `{"m":7}`, `!expected a string, found an integer: 7 (field "m"`},
		{
			"unknown preset", `{field: m, presets: [ip, number]}`, ``,
			`!digest.presets[1]: unknown preset "number", expected one of numbers, quoted, bracketed, uuid, ip, did you mean ` +
				`"numbers"?`,
		},
		{"bad regex", `{field: m, regex: ["a", "("]}`, ``, `!digest.regex[1]: invalid regular expression`},
		{"empty regex", `{field: m, regex: [""]}`, ``, `!the pattern is empty`},
		{"neither", `field: m`, ``, `!give "presets" or "regex"`},
		{"both empty", `{field: m, presets: [], regex: []}`, ``, `!give "presets" or "regex"`},
		{"presets no list", `{field: m, presets: ip}`, ``, `!digest.presets: expected a list, found the string "ip"`},
		{"unknown option", `{field: m, preset: [ip]}`, ``, `!did you mean "presets"?`},
		{"no field", `presets: [ip]`, ``, `!"field" or "fields" is required`},
	})
}

// The presets are implemented by hand. These are the equivalent patterns.
func FuzzDigest(f *testing.F) {
	models := map[string]*regexp.Regexp{
		"numbers":   regexp.MustCompile(`\p{Nd}+`),
		"quoted":    regexp.MustCompile(`["'“”‘’][^"'“”‘’]*["'“”‘’]`),
		"bracketed": regexp.MustCompile(`[({\[<「『【〔〖〘〈《（［｛＜｢][^(){}\[\]<>「」『』【】〔〕〖〗〘〙〈〉《》（）［］｛｝＜＞｢｣]*[)}\]>」』】〕〗〙〉》）］｝＞｣]`),
		"uuid":      regexp.MustCompile(`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`),
		"ip":        regexp.MustCompile(`(?:(?:\d{1,3}\.){3}\d{1,3}|\[(?:[0-9a-fA-F.]*:){2}[0-9a-fA-F:.]*\])(?::\d+)?`),
	}
	f.Add("took 12 ms 'a\" ٣ “b’ [x (y] z) <")
	f.Add("123e4567-e89b-12d3-a456-426614174000 1.2.3.4:5 [::1]:7 1234.5.6.789")
	f.Add("00000000-0000-0000-0000-0000-00000000-0000-0000-0000-000000000000")
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range presetRemovers {
			got := string(p.remove([]byte(s)))
			want := string(models[p.name].ReplaceAll([]byte(s), nil))
			// The pattern knows only ASCII word borders, and does not limit the length of addresses.
			if p.name == "uuid" && !isASCII(s) || p.name == "ip" && len(s) >= maxIPv6 {
				continue
			}
			if got != want {
				t.Errorf("%s of %q: %q, want %q", p.name, s, got, want)
			}
		}
	})
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func BenchmarkDigest(b *testing.B) {
	bench(b, "digest", `{field: m, presets: [numbers, quoted, bracketed, uuid, ip]}`,
		`{"m":"[worker 7] request \"GET /a\" from 10.2.3.4:5566 took 35 ms (cached) id `+
			`123e4567-e89b-12d3-a456-426614174000"}`)
}
