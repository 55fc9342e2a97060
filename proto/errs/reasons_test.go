package errs

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestReasonsAreAll checks that Reasons lists every reason, because other tests rely on it.
func TestReasonsAreAll(t *testing.T) {
	source, err := os.ReadFile("errs.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\t\w+ Reason = "(\w+)"`).FindAllSubmatch(source, -1)
	if len(found) != len(Reasons()) {
		t.Errorf("errs.go has %d reasons, Reasons lists %d", len(found), len(Reasons()))
	}
	for _, m := range found {
		if !slices.Contains(Reasons(), Reason(m[1])) {
			t.Errorf("Reasons lacks %s", m[1])
		}
	}
}
