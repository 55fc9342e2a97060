package vrl_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// outcome returns the result or the error of a program.
func outcome(t *testing.T, source, event string) string {
	t.Helper()
	p, _, err := vrl.Compile(source, vrl.Options{})
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	e, err := value.ParseJSON(event, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Run(&e, nil)
	if err != nil {
		return err.Error()
	}
	return string(value.AppendJSON(nil, v))
}

// TestPartsOfCalls compares a part of a call's result, which the function may make alone, with the same part of a
// variable.
func TestPartsOfCalls(t *testing.T) {
	var calls []string
	for _, sep := range []string{`"/"`, `"aa"`, `"?"`, `""`, `r'/'`} {
		for _, limit := range []string{"", ", limit: -1", ", limit: 0", ", limit: 1", ", limit: 2", ", limit: 3"} {
			for _, index := range []string{"[0]", "[1]", "[-1]", "[2]", "[-2]", ".x", "[0].x", "[1][0]"} {
				calls = append(calls, fmt.Sprintf(`split!(.s, %s%s) %s`, sep, limit, index))
			}
		}
	}
	for _, re := range []string{`r'(?P<a>a+)(?P<b>/)?'`, `r'(?P<a>\?)'`, `r'.'`} {
		for _, more := range []string{"", ", numeric_groups: true"} {
			for _, name := range []string{".a", ".b", ".c", "[0]", ".a.x", `."0"`} {
				calls = append(calls, fmt.Sprintf(`parse_regex!(.s, %s%s) %s`, re, more, name))
			}
		}
	}
	for _, call := range calls {
		whole, part, _ := strings.Cut(call, ") ")
		whole += ")"
		for _, s := range []string{
			`""`, `"/"`, `"a/b/c"`, `"aaa"`, `"aaaaa/"`, `"x?y=1?z"`, `"?"`, `"é"`, `7`, `null`,
			"\"\xe2/\xff?\xe2\x82/b\"",
		} {
			event := `{"s":` + s + `}`
			want := outcome(t, "x = "+whole+"\nx"+part, event)
			got := outcome(t, "    "+whole+part, event) // the places of the calls in errors are the same
			if got != want {
				t.Errorf("%s%s of %s: %s, want %s", whole, part, s, got, want)
			}
		}
	}
}

// TestPartsWithoutContainers checks that the usual parts are made without the other parts of the result.
func TestPartsWithoutContainers(t *testing.T) {
	e, err := value.ParseJSON(`{"s":"a/b/c"}`, value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	meta := value.NewObject(value.MakeFields(0))
	for _, source := range []string{
		`split!(.s, "/")[0]`, `split!(.s, "/", limit: 2)[1]`, `split!(.s, "/")[-1]`, `replace!(.s, "a/", "", count: 1)`,
	} {
		p, _, err := vrl.Compile(source, vrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := func() {
			if _, err := p.Run(&e, &meta); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations", source, n)
		}
	}
}

// TestReplaceFirst compares the replacement of the first occurrence with that of the first one of all.
func TestReplaceFirst(t *testing.T) {
	for _, s := range []string{"", "a", "aa", "ba", "ab", "xaax", "é"} {
		for _, old := range []string{"", "a", "aa", "ab", "é", "z"} {
			for _, with := range []string{"", "a", "long"} {
				source := fmt.Sprintf("replace!(.s, %q, %q, count: 1)", old, with)
				got := outcome(t, source, fmt.Sprintf(`{"s":%q}`, s))
				if want := fmt.Sprintf("%q", strings.Replace(s, old, with, 1)); got != want {
					t.Errorf("%s of %q: %s, want %s", source, s, got, want)
				}
			}
		}
	}
}

// TestWholeFloatsAsText compares texts of floats with those of the general way.
func TestWholeFloatsAsText(t *testing.T) {
	for _, f := range []float64{
		0, math.Copysign(0, -1), 1, -1, 0.5, 1e15, -1e15, 1<<53 - 1, 1 << 53, 1<<53 + 2, -1 << 53, 1 << 63, -1 << 63, 1e300,
	} {
		got, want := string(value.AppendPlainFloat(nil, f)), strconv.FormatFloat(f, 'f', -1, 64)
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
