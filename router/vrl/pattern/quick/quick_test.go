package quick

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	accessPattern = `^(?<client>\S+) \S+ (?<user>\S+) \[(?<time>[^\]]+)\] "(?<method>\S+) (?<path>\S+) ` +
		`(?<protocol>[^"]*)" (?<status>\d+) (?<bytes>\S+) "(?<referer>[^"]*)" "(?<user_agent>[^"]*)"$`
	accessLine = `203.0.113.7 - - [25/May/2024:20:16:37 +0000] "GET /api/v1/orders/1234 HTTP/1.1" 200 5316 ` +
		`"https://www.example.com/landing" "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, ` +
		`like Gecko) Chrome/120.0.4321.7 Safari/537.36"`
	errorPattern = `^(?<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d) \[(?<level>\w+)\] (?<pid>\d+)#(?<tid>\d+): ` +
		`(?:\*(?<cid>\d+) )?(?<text>.*?)(?:, client: (?<client>[^,]+))?(?:, server: (?<server>[^,]*))?(?:, request: ` +
		`"(?<request>[^"]*)")?$`
)

// compare compares the match of a Program with that of package regexp.
func compare(t *testing.T, pattern, text string) (decided bool) {
	t.Helper()
	re, err := regexp.Compile(pattern)
	p := Compile(pattern)
	if err != nil {
		if p != nil {
			t.Errorf("%q compiles although it is invalid: %v", pattern, err)
		}
		return false
	}
	if p == nil {
		return false
	}
	if p.Groups() != re.NumSubexp()+1 {
		t.Fatalf("%q: %d groups, want %d", pattern, p.Groups(), re.NumSubexp()+1)
	}
	places := make([]int, 2*p.Groups())
	matched, decided := p.Match(text, places)
	if !decided {
		return false
	}
	want := re.FindStringSubmatchIndex(text)
	if matched != (want != nil) || matched && !slices.Equal(places, want) {
		t.Errorf("%q of %q: %v %v, want %v", pattern, text, matched, places, want)
	}
	return true
}

func TestMatch(t *testing.T) {
	texts := []string{
		"", "a", "b", "ab", "abc", "aab", "aaabbb", "abab", "xaby", "a\nb", "\n", "a,b,,c", `"a" "b"`, "foo bar",
		"foo-bar_1 2", "FOO", "  x ", "aé", "éa", "é", "日本", "a日b本c", "\xff", "a\xffb", "\x80", "é\x80", "Kk\u212a", "sſ",
		"12:34", "x=1 y=2", "a - b - c", accessLine, strings.Repeat("a", 100), strings.Repeat("ab ", 50) + "c",
	}
	patterns := []string{
		``, `a`, `ab`, `^`, `$`, `^$`, `^a`, `a$`, `\Aa\z`, `a*`, `a+`, `a?`, `a*?`, `a+?`, `a??`, `a{2}`, `a{2,}`, `a{1,2}`,
		`a{0,1}?`, `(a)(b)?`, `(a|b)*`, `(a|ab)(c|bcd)?`, `(?:a|b)+c`, `(ab)*`, `(ab){2}`, `(ab){1,2}`,
		`(a+)(a+)`, `(a+?)(a*)`, `(.*)b`, `(.*?)b`, `(.+)-(.+)`, `(.*) - (.*)`, `(.*?) - (.*)`, `(\w+)\s+(\w+)`, `\bfoo\b`,
		`\Bo`, `(?m)^b$`, `(?m)a$`, `(?s)a.b`, `a.b`, `[^,]*,([^,]*)`, `([^,]*),([^,]*),([^,]*)`, `"([^"]*)" "([^"]*)"$`,
		`(\d+):(\d+)`, `x=(\d)(?: y=(\d))?(?: z=(\d))?`, `(?i)foo`, `(?i)k`, `(?i)s+`, `é`, `é+`, `[é]`, `[^é]`, `[^a]`,
		`[^a]+`, `[^a]+b`, `.`, `.+`, `..`, `.{2}`, `.*`, `(.)(.)`, `.*?$`, `.+?`, `.+?b`, `\S+`, `\S+\b`, `\B[^a]+`,
		`[^a]+?[^b]`, `[^a]*[^b]*`, `日|本`, `(?:日|a)+`,
		`(a*)*`, `(a*)+`, `(a|b*)+`, `(?:a*)?`, `(a*)?`, `(|a)+`, `(a|)b`, `x*$`, `(a+)+$`, `(a+)+b`, `(?:.*)*c`, `\pL+`,
		`[[:alpha:]]+`, `\x{FFFD}`, `[a-z]+[a-c]b`, `a(?:b(?:c)?)?`, `(?U)a+`, `(?U)a+?`, accessPattern, errorPattern,
		`[^\x00-\x7f]`, `(?:[^a]|a)b`, `\w*\B\w`, `(\w*)$`,
	}
	decided := 0
	for _, p := range patterns {
		for _, s := range texts {
			if compare(t, p, s) {
				decided++
			}
		}
	}
	if n := len(patterns) * len(texts); decided < n*3/4 {
		t.Errorf("%d of %d were decided", decided, n)
	}
}

func TestDecided(t *testing.T) {
	for _, tt := range []struct{ pattern, text string }{
		{accessPattern, accessLine},
		{accessPattern, strings.ReplaceAll(accessLine, "Mozilla", "Möżilla日本")},
		{accessPattern, "no such line"},
		{
			errorPattern,
			`2026/01/05 13:55:36 [error] 31#31: *17 open() failed, client: 192.0.2.7, server: localhost, request: ` +
				`"GET / HTTP/1.1"`,
		},
		{errorPattern, `2026/01/05 13:55:36 [error] 31#31: größer, client: é`},
		{`rhost=(?<host>\S+)\s+user=(?<user>\w+)`, "euid=0 rhost= rhost=é  user=root"},
		{`^\[(.*?)\] \[(\w+)\] (.*)$`, "[Mon Jän 5] [error] größer"},
	} {
		if !compare(t, tt.pattern, tt.text) {
			t.Errorf("%q of %q was not decided", tt.pattern, tt.text)
		}
	}
}

func TestGivesUp(t *testing.T) {
	for _, pattern := range []string{`(a+)+b`, `(?:a|aa)+b`, `a*a*a*a*b`, `\S+ x`} {
		p := Compile(pattern)
		if p == nil {
			t.Fatal(pattern)
		}
		if _, decided := p.Match(strings.Repeat("a", 5000), make([]int, 2*p.Groups())); decided {
			t.Errorf("%q was decided, in many steps", pattern)
		}
	}
}

// TestMatchFrom finds all matches and compares them with those of package regexp.
func TestMatchFrom(t *testing.T) {
	for _, tt := range []struct{ pattern, text string }{
		{`\b\w`, "ab cd é f"},
		{`a+`, "aabaaa"},
		{`^a`, "aaa"},
		{`(?m)^.`, "ab\ncd"},
		{`a$`, "aaa"},
		{`[^,]+`, "é,日,x"},
		{`,`, "a,b,,"},
	} {
		p, re := Compile(tt.pattern), regexp.MustCompile(tt.pattern)
		if !p.Suits(tt.text) {
			t.Errorf("%q does not suit %q", tt.pattern, tt.text)
			continue
		}
		var got [][]int
		for at := 0; at <= len(tt.text); {
			places := make([]int, 2*p.Groups())
			matched, decided := p.MatchFrom(tt.text, at, places)
			if !decided {
				t.Errorf("%q of %q: not decided", tt.pattern, tt.text)
			}
			if !matched {
				break
			}
			got = append(got, places)
			at = places[1]
		}
		if want := re.FindAllStringSubmatchIndex(tt.text, -1); !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("%q of %q: %v, want %v", tt.pattern, tt.text, got, want)
		}
	}
}

func TestMemory(t *testing.T) {
	p := Compile(`(?:ab|a)+c`)
	if _, decided := p.Match(strings.Repeat("a", 1<<20)+"c", make([]int, 2)); decided {
		t.Error("a match with a million alternatives to try was decided")
	}
}

func TestAllocations(t *testing.T) {
	p := Compile(accessPattern)
	places := make([]int, 2*p.Groups())
	if n := testing.AllocsPerRun(100, func() { p.Match(accessLine, places) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add(accessPattern, accessLine)
	f.Add(errorPattern, "2026/01/05")
	f.Add(`(?i)(k|s)+?\b[^é]*(?:日|.)`, "Kſ日\xff")
	f.Add(`(a|b(c|d)*){2,3}?$`, "abcda")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) < 1000 && len(text) < 10_000 {
			compare(t, pattern, text)
		}
	})
}

func BenchmarkAccess(b *testing.B) {
	p := Compile(accessPattern)
	places := make([]int, 2*p.Groups())
	b.ReportAllocs()
	for b.Loop() {
		p.Match(accessLine, places)
	}
}

func BenchmarkAccessRegexp(b *testing.B) {
	re := regexp.MustCompile(accessPattern)
	for b.Loop() {
		re.FindStringSubmatchIndex(accessLine)
	}
}

func BenchmarkError(b *testing.B) {
	p := Compile(errorPattern)
	places := make([]int, 2*p.Groups())
	text := `2026/01/05 13:55:36 [error] 31#31: *17 open() "/srv/favicon.ico" failed (2: No such file or directory), ` +
		`client: 192.0.2.7, server: localhost, request: "GET / HTTP/1.1"`
	for b.Loop() {
		p.Match(text, places)
	}
}
