package grok

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// match returns the fields of the first match, or nil.
func match(t *testing.T, source, text string) map[string]string {
	t.Helper()
	p, err := Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	list, ok, err := p.Match(nil, text)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return nil
	}
	out := map[string]string{}
	for _, c := range list {
		out[p.Fields()[c.Index]] = c.Text
	}
	return out
}

func TestLibraryIsLinear(t *testing.T) {
	for name := range library() {
		p, err := Compile("%{" + name + ":x}")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.slow != nil {
			t.Errorf("%s needs the backtracking engine", name)
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name, pattern, text string
		want                map[string]string
	}{
		{
			"access line", "%{COMBINEDAPACHELOG}",
			`10.1.1.1 - mia [10/Oct/2024:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "-" "curl/8"`,
			map[string]string{
				"clientip": "10.1.1.1", "ident": "-", "auth": "mia", "timestamp": "10/Oct/2024:13:55:36 -0700", "verb": "GET",
				"request":     "/a",
				"httpversion": "1.1", "response": "200", "bytes": "2326", "referrer": `"-"`, "agent": `"curl/8"`,
			},
		},
		{"syslog", "%{SYSLOGLINE}", "Mar  3 01:49:58 web1 sshd[17]: session closed", map[string]string{
			"timestamp": "Mar  3 01:49:58", "logsource": "web1", "program": "sshd", "pid": "17", "message": "session closed",
		}},
		{
			"addresses", `^%{IP:a} %{IP:b} %{IP:c}$`, "10.0.0.1 2001:db8::17 ::ffff:10.0.0.1",
			map[string]string{"a": "10.0.0.1", "b": "2001:db8::17", "c": "::ffff:10.0.0.1"},
		},
		{
			"URL", `%{URI:u}`, "see https://mia@example.org:8080/a?b=c now",
			map[string]string{"u": "https://mia@example.org:8080/a?b=c"},
		},
		{"quoted", `%{QS:q}`, `say "a \"b\" c" or 'd'`, map[string]string{"q": `"a \"b\" c"`}},
		{"a type means nothing", `%{INT:n:int}`, "n=-7", map[string]string{"n": "-7"}},
		{"own group", `(?<k>\w+)=%{INT:n}`, "a=1", map[string]string{"k": "a", "n": "1"}},
		{"unmatched", `%{INT:n}|%{WORD:w}`, "7", map[string]string{"n": "7"}},
		{"look-behind", `(?<!a)%{INT:n}`, "a1 b2", map[string]string{"n": "2"}},
		{"atomic", `(?>a|ab)%{DATA:x}c$`, "abc", map[string]string{"x": "b"}},
		{"no match", `%{INT:n}`, "none", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, match(t, tt.pattern, tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"%{NOSUCH}":                              `"NOSUCH" could not be found`,
		"%{INT":                                  "closing brace",
		"(?<=a":                                  "invalid regular expression",
		strings.Repeat("%{SYSLOG5424LINE}", 200): "longer than",
	} {
		if _, err := Compile(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: got %v, want %q", pattern, err, want)
		}
	}
}

// TestBounded checks that a match that would take very long is aborted.
func TestBounded(t *testing.T) {
	p, err := Compile(`^(?=a)(a+)+$`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Match(nil, strings.Repeat("a", 40)+"b"); !errors.Is(err, ErrTime) {
		t.Errorf("got %v, want ErrTime", err)
	}
	if _, _, err := p.Match(nil, strings.Repeat("a", MaxText+1)); !errors.Is(err, ErrText) {
		t.Errorf("got %v, want ErrText", err)
	}
}
