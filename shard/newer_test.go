package shard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/shard/rules"
)

// TestNewerVersions reads files of an imagined future version, and checks that they are refused as
// newer. The manifest, batches, logs, the metadata and the identity have tests of their own.
func TestNewerVersions(t *testing.T) {
	t.Parallel()
	f, err := os.Open(filepath.Join("testdata", "future.snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := CheckSnapshot(f); err == nil || !strings.Contains(err.Error(), "written by a newer version") {
		t.Errorf("a snapshot gives %v", err)
	}
	for _, entry := range [][]byte{
		append([]byte{9}, rules.AppendEntry(nil, &rules.Entry{Kind: rules.KindDropTable})[1:]...),
		rules.AppendEntry(nil, &rules.Entry{Kind: 200}),
	} {
		if err := rules.CheckEntry(entry); err == nil || !strings.Contains(err.Error(), "written by a newer version") {
			t.Errorf("an entry gives %v", err)
		}
	}
}
