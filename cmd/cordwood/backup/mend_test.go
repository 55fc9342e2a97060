package backup

import (
	"errors"
	"strings"
	"testing"

	"cordwood/node/backup"
)

// TestMendBackup checks that the advice about an incomplete repository contains the commands that
// complete it.
func TestMendBackup(t *testing.T) {
	const id = "20260704T020000123Z-k3v9xw"
	manifest := backup.Finding{Kind: backup.Damaged, Object: "backups/" + id + ".manifest"}
	damaged := backup.Finding{Kind: backup.Damaged, Object: "data/a"}
	missing := backup.Finding{Kind: backup.Missing, Object: "data/b"}
	lacks := backup.Finding{Kind: backup.Missing, Object: "data/b", Backups: []string{id, id}}
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
			"/mnt/b",
			[]backup.Finding{lacks, {Kind: backup.Unused, Object: "data/c", Backups: []string{"other"}}},
			[]string{
				"data that is still missing after that is lost", "give the backups up ('cordwood backup delete /mnt/b " + id + "')",
			},
			"other'",
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

// TestVerifiedWords checks that a repository is called sound only if its files were read.
func TestVerifiedWords(t *testing.T) {
	for want, quick := range map[string]bool{": sound\n": false, "their content was not read\n": true} {
		var out strings.Builder
		printVerified(&out, &backup.Verified{}, quick)
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("quick %v: %q, want %q", quick, out.String(), want)
		}
	}
}

// TestUnchanged checks that the error for a backup that cannot be read says that nothing was changed, and suggests
// another backup.
func TestUnchanged(t *testing.T) {
	const advice = "; nothing was changed: restore another backup (--backup; 'cordwood backup list ./b' lists them)"
	for text, want := range map[string]string{
		"backup b1: manifest b1.manifest: it is damaged: SHA-256 is 0, want 1":  advice,
		"backup b1: metadata/m.records is damaged: SHA-256 is 0, 1 was written": advice,
		"backup b1 has no database web":                                         "",
	} {
		if got := unchanged(errors.New(text), "./b").Error(); got != text+want {
			t.Errorf("%q, want %q", got, text+want)
		}
	}
}
