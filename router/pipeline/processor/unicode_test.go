package processor

import (
	"regexp"
	"strings"
	"testing"

	"cordwood/router/vrl/ascii"
)

func TestWiden(t *testing.T) {
	for _, c := range []struct{ pattern, text, want string }{
		{`\w+`, "-josé_٣x-", "josé_٣x"},
		{`\d+`, "x٣3y", "٣3"},
		{`\D+`, "٣éx3", "éx"},
		{`\W+`, "é…—é", "…—"},
		{`\s+`, "é\u00a0\u3000\v é", "\u00a0\u3000\v "},
		{`\S+`, "\u00a0é…\u2003", "é…"},
		{`[\w.]+`, "«é.à»", "é.à"},
		{`[\w-]+`, "«é-à»", "é-à"},
		{`[^\W\d_]+`, "_٣éàx_", "éàx"},
		{`[^\S\n]+`, "é\u3000\né", "\u3000"},
		{`[\D]+`, "٣é3", "é"},
		{`[]\w]+`, "«é]»", "é]"},
		{`[^]\w]+`, "é]«»é", "«»"},
		{`[[:digit:]\s]+`, "é1\u00a02é", "1\u00a02"},
		{`\Q\w\E\w`, `é\wé`, `\wé`},
		{`\\w`, `é\w`, `\w`},
		{`\[\w\]`, `[é]`, `[é]`},
		{`(?i)\w+É`, "àé", "àé"},
	} {
		wide := widen(regexp.MustCompile(c.pattern))
		if strings.HasPrefix(c.pattern, `\\`) {
			if wide != nil {
				t.Errorf("%s has another form: %s", c.pattern, wide)
			}
			continue
		}
		if wide == nil {
			t.Errorf("%s has no Unicode form", c.pattern)
			continue
		}
		if got := wide.FindString(c.text); got != c.want {
			t.Errorf("%s in %q: %q, want %q", c.pattern, c.text, got, c.want)
		}
	}
	for _, pattern := range []string{`[a-z]+`, `.`, `\.`, `\bx`, strings.Repeat(`\w`, maxWide+1)} {
		if wide := widen(regexp.MustCompile(pattern)); wide != nil {
			t.Errorf("%s has another form: %s", Cut(pattern), Cut(wide.String()))
		}
	}
}

func FuzzWiden(f *testing.F) {
	f.Add(`[^\W\d_]+|[]\s]`, "x_1 ]")
	f.Add(`(?<a>\w)\Q[\d\E[[:alpha:]\D]`, "a[1")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(pattern) > 1000 || !ascii.Only(text) || strings.ContainsAny(text, "\v") {
			return
		}
		wide := widen(re)
		if wide == nil {
			return
		}
		if a, b := re.FindStringSubmatchIndex(text), wide.FindStringSubmatchIndex(text); len(a) != len(b) ||
			len(a) > 0 && (a[0] != b[0] || a[1] != b[1]) {
			t.Fatalf("%q in %q: %v, the Unicode form %q has %v", pattern, text, a, wide, b)
		}
	})
}
