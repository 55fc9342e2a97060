package ingest

import (
	"strings"
	"testing"
)

// Records that the pipeline drops are counted in the last line; without them it is as ever.
func TestDroppedRecordsAreCounted(t *testing.T) {
	s, _ := ingestServer(t)
	for _, tt := range []struct{ in, want string }{
		{"drop\nkeep\ndrop\n", "1 row written, 0 skipped, 2 dropped by the pipeline, "},
		{"keep\n", "1 row written, 0 skipped, 5 B in "},
	} {
		stdout, stderr, err := execute(t, tt.in, "ingest", "--server", s.URL, "--table", "t", "--format", "text", "-")
		if err != nil || !strings.HasPrefix(stdout+stderr, tt.want) {
			t.Errorf("%q: %q, %q, %v; want %q", tt.in, stdout, stderr, err, tt.want)
		}
	}
}
