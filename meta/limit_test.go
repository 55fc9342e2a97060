package meta

import (
	"strings"
	"testing"
)

// TestTableLimit checks that the limit on tables is part of the command, so that members with other
// settings decide alike.
func TestTableLimit(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	r.maxTables = 2
	const full = "there are 2 tables, the maximum"
	for _, step := range []struct {
		line    string
		refused bool
	}{
		{"ensure a time:ts9! | b time:ts9! | c time:ts9!", true},
		{"ensure a time:ts9! | b time:ts9!", false},
		{"ensure a time:ts9! n:int64", false},
		{"create c time:ts9!", true},
	} {
		if got := r.do(step.line); strings.Contains(got, full) != step.refused {
			t.Errorf("%s: %s", step.line, got)
		}
	}
	r.maxTables = 0
	if got := r.do("create c time:ts9!"); !strings.HasPrefix(got, "c=3") {
		t.Errorf("without a bound of its own: %s", got)
	}
}
