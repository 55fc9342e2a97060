package ingest

import (
	"strings"
	"testing"
)

// TestAllRecordsSkipped checks that the command fails if it stored nothing because every record was
// invalid.
func TestAllRecordsSkipped(t *testing.T) {
	s, _ := ingestServer(t)
	for in, want := range map[string]string{
		"skip\nskip\n": "nothing was stored: the server skipped 2 records",
		"skip\nkeep\n": "", // the valid record is stored
		"drop\n":       "", // the pipeline drops it, which is not an error
	} {
		stdout, stderr, err := execute(t, in, "ingest", "--server", s.URL, "--table", "t", "--format", "text",
			"--skip-error", "-")
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q; %s%s", in, err, want, stdout, stderr)
		}
	}
}

// TestDroppedRecordsAreCounted checks that the last line counts the records that the pipeline dropped,
// and does not mention them if there are none.
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
