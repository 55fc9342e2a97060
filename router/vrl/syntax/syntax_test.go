package syntax

import (
	"strings"
	"testing"

	"cordwood/router/vrl/diag"
)

// The span of every node covers its text.
func TestSpans(t *testing.T) {
	for source, want := range map[string]string{
		`  1 + 2 * x # c`:          `1 + 2 * x`,
		`.a."b c"[0]`:              `.a."b c"[0]`,
		`f!(x, k: 1) -> |v| { v }`: `f!(x, k: 1) -> |v| { v }`,
		`(1)`:                      `(1)`,
		`[1, 2].x`:                 `[1, 2].x`,
		`if a { b } else { c }`:    `if a { b } else { c }`,
		`x, err = f(y)`:            `x, err = f(y)`,
		"abort \"m\"\n":            `abort "m"`,
		`!x`:                       `!x`,
		`{ "k": 1 }`:               `{ "k": 1 }`,
		"{ x\ny }":                 "{ x\ny }",
		`"a{{ b }}"`:               `"a{{ b }}"`,
	} {
		nodes, list := Parse(source)
		if len(list) > 0 || len(nodes) != 1 {
			t.Errorf("%s: %v", source, list)
			continue
		}
		if s := nodes[0].Span(); source[s.Start:s.End] != want {
			t.Errorf("%s: got %q", source, source[s.Start:s.End])
		}
	}
}

// A fault does not hide the faults of other root expressions.
func TestAllFaults(t *testing.T) {
	source := "x = (1 + )\nok = 1\ny = [1, 2\nz = 3]\n\"\\q\"\nfor = 1\n1 2\nw = {\n  1 +\n}\nlast = )"
	_, list := Parse(source)
	var got []string
	for _, d := range list {
		line, _ := diag.Position(source, d.Labels[0].Span.Start)
		got = append(got, strings.Repeat("|", line))
	}
	if len(got) < 6 {
		t.Errorf("only %d faults: %v", len(got), list)
	}
	seen := map[string]bool{}
	for _, l := range got {
		seen[l] = true
	}
	for _, line := range []int{1, 4, 5, 6, 7, 11} {
		if !seen[strings.Repeat("|", line)] {
			t.Errorf("the fault in line %d is not reported: %v", line, list)
		}
	}
}

func TestBounds(t *testing.T) {
	for name, source := range map[string]string{
		"nesting":   strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000),
		"blocks":    strings.Repeat("{", 5000),
		"negations": strings.Repeat("!", 5000) + "true",
		"operators": "1" + strings.Repeat(" + 1", 5000),
		"length":    strings.Repeat("x = 1\n", MaxSource/5),
		"path":      "." + strings.Repeat("a.", 3000) + "b",
	} {
		if _, list := Parse(source); len(list) == 0 {
			t.Errorf("%s: accepted", name)
		}
	}
}
