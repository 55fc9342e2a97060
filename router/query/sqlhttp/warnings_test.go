package sqlhttp

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestWarningsAreBounded: a text of many statements produces a limited number of headers.
func TestWarningsAreBounded(t *testing.T) {
	w := httptest.NewRecorder()
	for range 1000 {
		setWarningHeaders(w, []string{"one", "two"})
	}
	told := w.Header().Values("X-Svc-Warnings")
	if len(told) != maxWarnings+1 || !strings.HasPrefix(told[maxWarnings], "there are more warnings") ||
		slices.Index(told, "two") != 1 {
		t.Errorf("%d warnings: %q", len(told), told)
	}
}
