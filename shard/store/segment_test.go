package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"cordwood/shard/vfs"
)

// opens is a file system that counts how often files are opened, and refuses to open them while the
// test wants that.
type opens struct {
	vfs.FS
	count  int
	refuse error
}

func (o *opens) Open(name string) (vfs.File, error) {
	if o.count++; o.refuse != nil {
		return nil, o.refuse
	}
	return o.FS.Open(name)
}

// TestLayoutsOfDamagedFile checks that the footer of a damaged file is read once, and that a file
// that could not be opened is read again.
func TestLayoutsOfDamagedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.parquet")
	if err := os.WriteFile(path, []byte("PAR1 this is no footer of a segment PAR2"), 0o600); err != nil {
		t.Fatal(err)
	}
	fsys := &opens{FS: vfs.OS, refuse: errors.New("too many open files")}
	l := &LiveSegment{Path: path}
	for range 2 {
		if got := l.layoutsOf(fsys); got != nil {
			t.Errorf("the layouts of a file that cannot be opened are %v", got)
		}
	}
	fsys.refuse = nil
	for range 3 {
		if got := l.layoutsOf(fsys); got != nil {
			t.Errorf("the layouts of a damaged file are %v", got)
		}
	}
	if fsys.count != 3 {
		t.Errorf("the file was opened %d times, want 3: two failed attempts, and one that found the damage", fsys.count)
	}
}
