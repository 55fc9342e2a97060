package fault

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// KindOf returns the kind of a file of a data folder, or "" for files without content.
func KindOf(file string) string {
	base := filepath.Base(file)
	for _, k := range []struct{ suffix, kind string }{
		{"IDENTITY", "identity"},
		{"state.db", "metadata state"},
		{"raft.db", "metadata log"},
		{"MANIFEST", "manifest"},
		{".parquet", "segment"},
		{".wal", "log"},
		{"wal-meta.db", "stable store"},
		{"state.bin", "snapshot"},
		{"meta.json", "snapshot head"},
	} {
		if strings.HasSuffix(base, k.suffix) {
			return k.kind
		}
	}
	return ""
}

// slack lists the kinds of files with unused bytes, such as free pages.
var slack = map[string]bool{
	"metadata state": true, "metadata log": true, "stable store": true, "log": true, "snapshot head": true,
}

// Slack reports whether files of a kind have unused bytes.
func Slack(kind string) bool { return slack[kind] }

// FilesByKind lists the files of a data folder, relative to it.
func FilesByKind(t testing.TB, dir string) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if kind := KindOf(rel); kind != "" {
			files[kind] = append(files[kind], rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Damage changes a byte of a file or truncates it, and returns a description of the change.
func Damage(t testing.TB, rng *rand.Rand, dir, file string) string {
	t.Helper()
	path := filepath.Join(dir, file)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	used := len(bytes.TrimRight(b, "\x00"))
	if rng.IntN(5) == 0 {
		to := rng.IntN(used)
		if err := os.Truncate(path, int64(to)); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s cut from %d to %d bytes", file, len(b), to)
	}
	at := rng.IntN(used)
	for slack[KindOf(file)] && b[at] == 0 { // most zeros in such a file are unused
		at = rng.IntN(used)
	}
	was := b[at]
	b[at] ^= byte(1 + rng.IntN(255))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s: byte %d of %d changed from %02x to %02x", file, at, len(b), was, b[at])
}

var named = regexp.MustCompile(`damaged|corrupt|newer version|lost|missing|belongs|gone|restore|cannot`)

// SaysWhy reports whether the error of a failed start describes the damage.
func SaysWhy(err error) bool { return named.MatchString(err.Error()) }
