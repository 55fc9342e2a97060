package token

import (
	"regexp"
	"strings"
	"testing"
)

// TestForm checks the form of new tokens, and that texts with any other sign are refused.
func TestForm(t *testing.T) {
	form := regexp.MustCompile(`^cw_[0-9A-Za-z]{10}_[0-9A-Za-z]{36}$`)
	seen := map[string]bool{}
	for range 200 {
		text, id := New()
		got, ok := Parse(text)
		if !form.MatchString(text) || !ok || got != id || seen[text] || Join(id, text[len("cw_")+11:]) != text {
			t.Fatalf("%s: %s %t", text, got, ok)
		}
		seen[text] = true
	}
	text, _ := New()
	for i := range text {
		for _, other := range []string{"!", "é", "7", "q"} {
			if bad := text[:i] + other + text[i+1:]; bad != text {
				if _, ok := Parse(bad); ok {
					t.Errorf("%q is accepted", bad)
				}
			}
		}
		if _, ok := Parse(text[:i]); ok {
			t.Errorf("%q is accepted", text[:i])
		}
	}
	if _, ok := Parse(text + "0"); ok {
		t.Error("a longer text is accepted")
	}
}

// TestKnownToken keeps the form as it is: stored hashes belong to it.
func TestKnownToken(t *testing.T) {
	const body = "cw_AbCdEfGhIj_012345678901234567890123456789"
	if got := sum(body); got != "2YSG0Y" {
		t.Errorf("the checksum is %s", got)
	}
}

// TestHide checks that secrets do not stay in texts.
func TestHide(t *testing.T) {
	text, id := New()
	for in, want := range map[string]string{
		"SELECT '" + text + "', '" + text + "'": "SELECT 'cw_" + id + "_…', 'cw_" + id + "_…'",
		"cut " + text[:30]:                      "cut cw_" + id + "_…",
		"SELECT cw_row FROM t":                  "SELECT cw_row FROM t",
	} {
		if got := Hide(in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if long := strings.Repeat("cw_", 10_000); Hide(long) != long {
		t.Error("a text without a token is changed")
	}
}

func BenchmarkParse(b *testing.B) {
	text, _ := New()
	for b.Loop() {
		if _, ok := Parse(text); !ok {
			b.Fatal("refused")
		}
		_ = Hash(text)
	}
}

// TestRanges checks the normal form of address ranges.
func TestRanges(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.9/24": "192.0.2.0/24", "192.0.2.9": "192.0.2.9/32", "2001:db8::1/32": "2001:db8::/32",
		"2001:db8::1": "2001:db8::1/128", "::ffff:192.0.2.9/120": "192.0.2.0/24", "::ffff:192.0.2.9": "192.0.2.9/32",
		"::ffff:0:0/96": "0.0.0.0/0", "::ffff:0:0/90": "", "fe80::1%eth0": "", "192.0.2.0/33": "", "here": "", "": "",
	} {
		p, err := ParseRange(text)
		if (err != nil) != (want == "") || err == nil && p.String() != want {
			t.Errorf("%s: %s %v, want %q", text, p, err, want)
		}
	}
}
