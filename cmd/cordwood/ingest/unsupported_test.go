package ingest

import (
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli/clitest"
)

// TestUnsupportedForms checks that the error for a known but unsupported format contains the command
// that converts it to text.
func TestUnsupportedForms(t *testing.T) {
	s, sent := ingestServer(t)
	for in, want := range map[string]string{
		"\xfd7zXZ\x00\x00\x04": "xz is not supported, and nothing of it was sent: decompress it first: xz -dc FILE |",
		"BZh91AY&SY\x12\x00":   "bzip2 is not supported, and nothing of it was sent: decompress it first: bzip2 -dc FILE |",
		"\xff\xfea\x00\n\x00":  "UTF-16 is not supported, and nothing of it was sent: convert it first: iconv -f UTF-16",
		"\xfe\xff\x00a\x00\n":  "UTF-16 is not supported, and nothing of it was sent: convert it first: iconv -f UTF-16",
	} {
		file := clitest.WriteFile(t, "in.log", []byte(in))
		_, _, err := execute(t, "", "ingest", "--server", s.URL, "--table", "t", file)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "--force") {
			t.Errorf("%q: %v", in, err)
		}
	}
	if n := len(sent()); n != 0 {
		t.Errorf("sent %d batches", n)
	}
}
