package logql

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestLinePattern checks |> with the answers of Loki: each literal counts at its first occurrence.
func TestLinePattern(t *testing.T) {
	for _, tt := range []struct {
		pattern, line string
		want          bool
	}{
		{"<_>", "", false},
		{"<_>", "a", true},
		{"a", "a", true},
		{"a", "ba", true},
		{"a", "aa", false}, // the first a does not end the line
		{"a", "ab", false},
		{"", "", true},
		{"", "a", false},
		{"a<_>", "xab", true},
		{"a<_>", "xa", false},
		{"<_>a", "ba", true},
		{"<_>a", "a", false},
		{"<_>a", "aba", false}, // nothing is before the first a
		{"<_>a<_>", "baa", true},
		{"<_>a<_>", "aba", false},
		{"a<_>b", "a1b", true},
		{"a<_>b", "ab1b", false}, // nothing is between a and the first b
		{"a<_>b", "a1b1b", false},
		{"a<_>b<_>c", "x a 1 b 2 c", true},
		{"a<_>b<_>c", "a1bc", false},
		{"a<_>b<_>c", "a1b2c3", false},
		{"<_> level=<_> status=<_>", "t1 level=info status=200", true},
		{"<_> level=<_> status=<_>", "t1 level= status=200", false},
		{"level=<_> msg=<_>", "level= msg=x msg=y", false},
		{"<_><_>a", "12a", true},
		{"<_> <_> <_>", "1 2 3", true},
		{"<_> <_> <_>", "1  3", false},
		{"<_>\n<_>", "1\n2", true},
		{"<_>.*<_>", "1.*2", true},
		{"<_>.*<_>", "1..2", false},
	} {
		checkPattern(t, tt.pattern, tt.line, tt.want)
	}
}

// checkPattern checks whether a line matches a pattern, by Match and by the expressions for the engine.
func checkPattern(t *testing.T, pattern, line string, want bool) {
	t.Helper()
	p, err := ParseLinePattern(pattern)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	if got := p.Match(line); got != want {
		t.Errorf("%q matches %q: %v", pattern, line, got)
	}
	loose, exact := p.Expressions()
	got := regexp.MustCompile("^(?s:" + loose + ")$").MatchString(line)
	if want && !got {
		t.Errorf("%q: %s does not match %q", pattern, loose, line)
	}
	if exact != "" {
		m := regexp.MustCompile(exact).FindStringSubmatch(line)
		got = m != nil && m[1] != ""
	}
	if got != want {
		t.Errorf("%q: the expressions %s and %s match %q: %v", pattern, loose, exact, line, got)
	}
}

// TestLinePatternExpressions compares the expressions for the engine with Match, for random patterns and lines.
func TestLinePatternExpressions(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	matched := 0
	for range 20_000 {
		var pattern, line strings.Builder
		for range 1 + r.IntN(6) {
			pattern.WriteString([]string{"a", "b", "ab", hole, hole}[r.IntN(5)])
		}
		for range r.IntN(10) {
			line.WriteByte("abc"[r.IntN(3)])
		}
		p, err := ParseLinePattern(pattern.String())
		if err != nil {
			t.Fatal(err)
		}
		want := p.Match(line.String())
		if want {
			matched++
		}
		if checkPattern(t, pattern.String(), line.String(), want); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if matched < 500 {
		t.Errorf("only %d of the lines match", matched)
	}
}

func TestLinePatternRefusals(t *testing.T) {
	for pattern, want := range map[string]string{
		"<ip> - <_>":                     "named captures are not allowed",
		strings.Repeat("<_> ", maxHoles): "more than 99 placeholders",
	} {
		if _, err := ParseLinePattern(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", pattern, err, want)
		}
	}
	if _, err := Parse("{a=\"b\"} |> `" + strings.Repeat("x<_>", maxHoles-1) + "`"); err != nil {
		t.Errorf("%d placeholders: %v", maxHoles-1, err)
	}
}
