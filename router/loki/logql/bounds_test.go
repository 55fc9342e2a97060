package logql

import (
	"runtime"
	"strings"
	"testing"

	"cordwood/proto/errs"
)

// A long pattern is read in one pass, and takes little more memory than it has bytes.
func TestLongPatterns(t *testing.T) {
	for _, literal := range []string{"x", "<", "<a", "<a "} {
		pattern := "<a>" + strings.Repeat(literal, 100_000/len(literal))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		parts, err := patternParts(pattern)
		runtime.ReadMemStats(&after)
		if err != nil || len(parts) != 2 || parts[1].Literal != pattern[3:] {
			t.Errorf("%s…: %d parts, %v", literal, len(parts), err)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 8<<20 {
			t.Errorf("%s…: a pattern of %d bytes takes %d bytes of memory", literal, len(pattern), bytes)
		}
	}
}

// Short expressions that become large programs are refused.
func TestLargeExpressions(t *testing.T) {
	for _, query := range []string{
		"{app=\"x\"} |~ \"a\"" + strings.Repeat(" or \"(a{1000})\"", 1000),
		"{app=\"x\"} |~ \"" + strings.Repeat("a{1000}", 1000) + "\"",
		"{app=~\"" + strings.Repeat("a{1000}", 1000) + "\"}",
	} {
		_, err := Parse(query)
		if errs.CodeOf(err) != errs.InvalidArguments || !strings.Contains(err.Error(), "expressions of the query up to") {
			t.Errorf("%.60s…: %v", query, err)
		}
	}
	for _, query := range []string{`{app=~"a{1000}"}`, `{app="x"} |~ "[[:alpha:]]{200}\\pL{20}"`} {
		if _, err := Parse(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
