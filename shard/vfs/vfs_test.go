package vfs_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/vfs"
)

// each runs a test on every implementation, in an empty directory.
func each(t *testing.T, run func(t *testing.T, fsys vfs.FS, dir string)) {
	t.Run("os", func(t *testing.T) { run(t, vfs.OS, t.TempDir()) })
	t.Run("mem", func(t *testing.T) {
		m := vfs.NewMem()
		if err := m.MkdirAll("/data"); err != nil {
			t.Fatal(err)
		}
		run(t, m, "/data")
	})
	t.Run("hook", func(t *testing.T) {
		var r vfs.Recorder
		run(t, vfs.Hook(vfs.OS, r.Record), t.TempDir())
	})
}

func write(t *testing.T, fsys vfs.FS, name, text string, sync bool) {
	t.Helper()
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if sync {
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	b, err := vfs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "(missing)"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFS(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		sub := filepath.Join(dir, "a", "b")
		for range 2 {
			if err := fsys.MkdirAll(sub); err != nil {
				t.Fatal(err)
			}
		}
		one, two := filepath.Join(sub, "one"), filepath.Join(sub, "two")
		write(t, fsys, one, "first", true)
		write(t, fsys, two, "second", true)
		if err := fsys.Rename(one, two); err != nil {
			t.Fatal(err)
		}
		if err := fsys.SyncDir(sub); err != nil {
			t.Fatal(err)
		}
		names, err := fsys.ReadDir(sub)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"two"}, names); diff != "" {
			t.Error(diff)
		}
		if size, err := fsys.Stat(two); err != nil || size != 5 {
			t.Errorf("Stat = %d, %v", size, err)
		}
		if got := read(t, fsys, two); got != "first" {
			t.Errorf("read %q", got)
		}
		if err := fsys.Remove(two); err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{
			"open":   second(fsys.Open(two)),
			"stat":   second(fsys.Stat(two)),
			"remove": fsys.Remove(two),
			"rename": fsys.Rename(two, one),
			"create": second(fsys.Create(filepath.Join(dir, "none", "x"))),
		} {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s of a missing file: %v", what, err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestRemoveFiles empties a folder, and one that does not exist.
func TestRemoveFiles(t *testing.T) {
	each(t, func(t *testing.T, fsys vfs.FS, dir string) {
		folder := filepath.Join(dir, "x")
		if err := vfs.RemoveFiles(fsys, folder); err != nil {
			t.Errorf("without a folder: %v", err)
		}
		if err := fsys.MkdirAll(folder); err != nil {
			t.Fatal(err)
		}
		write(t, fsys, filepath.Join(folder, "a"), "1", false)
		write(t, fsys, filepath.Join(folder, "b"), "2", true)
		if err := vfs.RemoveFiles(fsys, folder); err != nil {
			t.Error(err)
		}
		if names, err := fsys.ReadDir(folder); err != nil || len(names) > 0 {
			t.Errorf("left: %q, %v", names, err)
		}
	})
}

// TestMemCrash lists what survives a power loss at each step of publishing a file.
func TestMemCrash(t *testing.T) {
	const tmp, name = "/d/x.tmp", "/d/x"
	steps := []struct {
		name string
		do   func(m *vfs.Mem, f vfs.File) error
		want string // contents of the final name after a crash at this point, with a tail of 0 and 2
		torn string
	}{
		{
			"written", func(_ *vfs.Mem, f vfs.File) error { _, err := f.Write([]byte("text")); return err }, "(missing)",
			"(missing)",
		},
		{"synced", func(_ *vfs.Mem, f vfs.File) error { return f.Sync() }, "(missing)", "(missing)"},
		{"renamed", func(m *vfs.Mem, _ vfs.File) error { return m.Rename(tmp, name) }, "(missing)", "(missing)"},
		{"dir synced", func(m *vfs.Mem, _ vfs.File) error { return m.SyncDir("/d") }, "text", "text"},
		{
			"more written", func(_ *vfs.Mem, f vfs.File) error { _, err := f.Write([]byte(" more")); return err }, "text",
			"text m",
		},
		{"removed", func(m *vfs.Mem, _ vfs.File) error { return m.Remove(name) }, "text", "text m"},
		{"removal synced", func(m *vfs.Mem, _ vfs.File) error { return m.SyncDir("/d") }, "(missing)", "(missing)"},
	}
	for last := range steps {
		for tail, want := range map[int]string{0: steps[last].want, 2: steps[last].torn} {
			m := vfs.NewMem()
			if err := m.MkdirAll("/d"); err != nil {
				t.Fatal(err)
			}
			f, err := m.Create(tmp)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range steps[:last+1] {
				if err := s.do(m, f); err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
			m.Crash(tail)
			if got := read(t, m, name); got != want {
				t.Errorf("crash after %q, tail %d: read %q, want %q", steps[last].name, tail, got, want)
			}
			if _, err := f.Write([]byte("late")); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("write to a file opened before the crash: %v", err)
			}
		}
	}
}

func TestHook(t *testing.T) {
	m := vfs.NewMem()
	if err := m.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	publish := func(fsys vfs.FS) error {
		f, err := fsys.Create("/d/x.tmp")
		if err != nil {
			return err
		}
		for range 3 {
			if _, err := f.Write([]byte("abc")); err != nil {
				return errors.Join(err, f.Close())
			}
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
		if err := fsys.Rename("/d/x.tmp", "/d/x"); err != nil {
			return err
		}
		return fsys.SyncDir("/d")
	}
	var r vfs.Recorder
	if err := publish(vfs.Hook(m, r.Record)); err != nil {
		t.Fatal(err)
	}
	want := []string{"create x.tmp", "write x.tmp", "sync x.tmp", "rename x.tmp -> x", "sync-dir d"}
	if diff := cmp.Diff(want, r.Transcript()); diff != "" {
		t.Error(diff)
	}
	n := 1
	for ; ; n++ {
		fail := vfs.FailNth{N: n, Err: boom}
		err := publish(vfs.Hook(m, fail.Fail))
		if !fail.Hit() {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !errors.Is(err, boom) {
			t.Errorf("operation %d: got %v", n, err)
		}
	}
	if n != 8 { // create, 3 writes, sync, rename, sync-dir
		t.Errorf("%d operations, want 7", n-1)
	}
}
