package lazyregexp

import (
	"regexp"
	"sync"
	"testing"
)

func TestCompiledOnUse(t *testing.T) {
	inTest = false
	defer func() { inTest = true }()
	wrong := New(`(`)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a wrong expression can be used")
			}
		}()
		wrong.MatchString("")
	}()
	inTest = true
	defer func() {
		if recover() == nil {
			t.Error("a test does not compile its expressions")
		}
	}()
	New(`(`)
}

func TestMethods(t *testing.T) {
	const expr, text = `([a-z])([0-9]+)`, "a1 b22 c"
	lazy, eager := New(expr), regexp.MustCompile(expr)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if !lazy.MatchString(text) || lazy.MatchString("a") || lazy.FindString(text) != "a1" {
				t.Error("wrong match")
			}
		})
	}
	wg.Wait()
	if got := lazy.FindStringSubmatch(text); len(got) != 3 || got[2] != "1" {
		t.Errorf("groups %q", got)
	}
	if got := lazy.FindAllStringSubmatch(text, -1); len(got) != 2 || got[1][2] != "22" {
		t.Errorf("all groups %q", got)
	}
	if got := lazy.FindAllString(text, 1); len(got) != 1 || got[0] != "a1" {
		t.Errorf("the first match %q", got)
	}
	if a, b := lazy.FindStringIndex(text), lazy.FindStringSubmatchIndex(text); a[1] != 2 || len(b) != 6 || b[4] != 1 {
		t.Errorf("places %v %v", a, b)
	}
	if got := lazy.FindAllStringSubmatchIndex(text, -1); len(got) != 2 || got[1][0] != 3 {
		t.Errorf("all places %v", got)
	}
	if got := lazy.ReplaceAllString(text, "$2"); got != eager.ReplaceAllString(text, "$2") {
		t.Errorf("replaced %q", got)
	}
	if got := lazy.ReplaceAllLiteralString(text, "$2"); got != "$2 $2 c" {
		t.Errorf("replaced %q", got)
	}
	double := func(s string) string { return s + s }
	if got := lazy.ReplaceAllStringFunc(text, double); got != "a1a1 b22b22 c" {
		t.Errorf("replaced %q", got)
	}
}
