package backup

import (
	"strings"
	"testing"

	"cordwood/node/backup"
)

// TestMendBackup: the advice about a repository that is not whole has the commands for it.
func TestMendBackup(t *testing.T) {
	const id = "20260704T020000123Z-k3v9xw"
	manifest := backup.Finding{Kind: backup.Damaged, Object: "backups/" + id + ".manifest"}
	damaged := backup.Finding{Kind: backup.Damaged, Object: "data/a"}
	missing := backup.Finding{Kind: backup.Missing, Object: "data/b"}
	for _, c := range []struct {
		repository string
		findings   []backup.Finding
		want       []string
		not        string
	}{
		{"/mnt/b", []backup.Finding{missing}, []string{"'cordwood backup /mnt/b'"}, "remove"},
		{
			"/mnt/b",
			[]backup.Finding{damaged, missing},
			[]string{"remove the damaged file (rm '/mnt/b/data/a'), then make a backup", "'cordwood backup /mnt/b'"},
			"each",
		},
		{
			"s3://b/p/",
			[]backup.Finding{damaged, damaged},
			[]string{"each of the 2 damaged files (aws s3 rm 's3://b/p/data/a')"},
			"rm '/",
		},
		{
			"/mnt/b",
			[]backup.Finding{manifest, damaged},
			[]string{"'cordwood backup delete /mnt/b " + id + "'", "then remove the damaged file", "then make a backup"},
			"each",
		},
	} {
		got := mendBackup(c.repository, c.findings)
		for _, want := range c.want {
			if !strings.Contains(got, want) || strings.Contains(got, c.not) {
				t.Errorf("%v: %q, want %q, without %q", c.findings, got, want, c.not)
			}
		}
	}
}
