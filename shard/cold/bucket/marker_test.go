package bucket

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMark marks a directory, and looks at what happens when another one is in its place, as after a file system was
// unmounted. Nothing may be written to it, and no object may be missing.
func TestMark(t *testing.T) {
	root := filepath.Join(t.TempDir(), "mount")
	d := NewDir(root)
	if _, err := d.Mark(""); !errors.Is(err, ErrOtherDirectory) {
		t.Errorf("a directory that does not exist: %v", err)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("it was made: %v", err)
	}
	if err := os.Mkdir(root, 0o750); err != nil {
		t.Fatal(err)
	}
	id, err := d.Mark("")
	if err != nil || id == "" {
		t.Fatalf("mark: %q, %v", id, err)
	}
	if again, err := NewDir(root).Mark(""); again != id || err != nil {
		t.Errorf("another process gets the marker %q, %v; want %q", again, err, id)
	}
	contract(t, d, NewDir(t.TempDir()))
	if err := d.Put(wait(t), "a/o", content([]byte("hello"))); err != nil {
		t.Fatal(err)
	}
	if got := list(t, d, ""); strings.Contains(got, MarkerName) {
		t.Errorf("the marker is an object: %s", got)
	}
	away := root + "-away"
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what string) {
		t.Helper()
		for name, do := range map[string]func() error{
			"put":    func() error { return d.Put(wait(t), "a/p", content([]byte("x"))) },
			"delete": func() error { return d.Delete(wait(t), "a/o") },
			"list":   func() error { return d.List(wait(t), "a/", func(Info) error { return nil }) },
			"head":   func() error { _, err := d.Head(wait(t), "a/q"); return err },
			"range":  func() error { _, err := d.Range(wait(t), "a/q", Range{Length: 1}); return err },
			"open":   func() error { _, err := d.Open(wait(t), "a/q", 0); return err },
		} {
			err := do()
			wantKind(t, what+": "+name, err, Unavailable)
			if !errors.Is(err, ErrOtherDirectory) {
				t.Errorf("%s: %s: %v", what, name, err)
			}
		}
		if _, err := NewDir(root).Mark(id); !errors.Is(err, ErrOtherDirectory) {
			t.Errorf("%s: a process that knows the marker: %v", what, err)
		}
	}
	move(root, away)
	refused("no directory")
	if err := os.Mkdir(root, 0o750); err != nil {
		t.Fatal(err)
	}
	refused("an empty directory")
	if files, err := os.ReadDir(root); len(files) > 0 || err != nil {
		t.Errorf("the empty directory has %v, %v", files, err)
	}
	if _, err := NewDir(root).Mark(""); err != nil {
		t.Error(err)
	}
	refused("a directory that another process uses")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	move(away, root)
	if got, err := read(t, d, "a/o", 0); err != nil || string(got) != "hello" {
		t.Errorf("the directory is back: %q, %v", got, err)
	}
	if err := d.Put(wait(t), "a/p", content([]byte("x"))); err != nil {
		t.Errorf("the directory is back: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, MarkerName), []byte(`{"format":2,"id":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewDir(root).Mark(""); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a marker of a newer version: %v", err)
	}
}
