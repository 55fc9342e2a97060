package pattern

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnginesAgree checks that patterns have the same matches with and without package quick.
func TestEnginesAgree(t *testing.T) {
	texts := []string{"", "a", "ab ab", "a1 b22 c333", "aaa", "x=1,y=2", "\n\na\nb", "GET /a?b=c 200", "a\u00e9b"}
	for _, source := range []string{
		"", "a", "a*", "a|b|", `\b`, `\w+`, `(\w)(\d)?`, `(?m)^.*$`, `^a`, `a$`, `(a)|(b)`, `(\w+)=(\d+)`, `[^ ]*`,
		`(?i)GET (\S+)`, `a{2}`, `(a+?)`, `\B`,
	} {
		re, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		slow := *re
		slow.fast = nil
		for _, s := range texts {
			if diff := cmp.Diff(slow.Groups(s), re.Groups(s)); diff != "" {
				t.Errorf("%q on %q: groups: %s", source, s, diff)
			}
			for _, n := range []int{-1, 1, 2} {
				if diff := cmp.Diff(slow.All(s, n), re.All(s, n)); diff != "" {
					t.Errorf("%q on %q: %d matches: %s", source, s, n, diff)
				}
			}
		}
	}
}

// Patterns that would compile to more than the limit are refused quickly.
func TestCompiledSize(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fits    bool
	}{
		{`(a{100}){100}`, true},
		{`\p{L}{900}`, true},
		{`(a{1000}){1000}`, false},
		{`((ab?){900}){900}`, false},
		{`(((x{50}){50}){50}){50}`, false},
	} {
		_, err := Compile(c.pattern)
		if (err == nil) != c.fits || err != nil && !strings.Contains(err.Error(), "exceeds the size limit") {
			t.Errorf("%s: error %v, want it to fit: %v", c.pattern, err, c.fits)
		}
	}
}

// The estimated size of a compiled pattern is about its actual memory.
func TestSize(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		low, high int
	}{
		{`^(?P<a>\S+) (?P<b>\S+) \[(?P<t>[^\]]+)\] "(?P<m>\w+) (?P<p>[^"]*)" (?P<s>\d{3}) (?P<n>\d+)$`, 10 << 10, 120 << 10},
		{strings.Repeat(`\w`, 2000), 16 << 20, 32 << 20},
		{strings.Repeat(`\pL`, 2000), 5 << 20, 20 << 20},
		{`(a{100}){100}`, 1 << 20, 12 << 20},
	} {
		re, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if n := re.Size(); n < c.low || n > c.high {
			t.Errorf("%.30s: %d bytes, want %d to %d", c.pattern, n, c.low, c.high)
		}
	}
}
