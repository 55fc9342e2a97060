package sqlhttp

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestWarningsAreBounded checks that a text of many statements produces a limited number of headers.
func TestWarningsAreBounded(t *testing.T) {
	w := httptest.NewRecorder()
	for range 1000 {
		setWarningHeaders(w, []string{"one", "two"})
	}
	warnings := w.Header().Values("X-Svc-Warnings")
	if len(warnings) != maxWarnings+1 || !strings.HasPrefix(warnings[maxWarnings], "there are more warnings") ||
		slices.Index(warnings, "two") != 1 {
		t.Errorf("%d warnings: %q", len(warnings), warnings)
	}
}
