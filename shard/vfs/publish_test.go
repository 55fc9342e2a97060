package vfs_test

import (
	"errors"
	"testing"

	"cordwood/shard/vfs"
)

// TestPublishFails makes each operation of Publish fail in turn, and crashes after it. The file
// must have the old contents or the new ones, and the new ones if Publish returned nil.
func TestPublishFails(t *testing.T) {
	refused := errors.New("refused")
	for n := 1; ; n++ {
		mem := vfs.NewMem()
		if err := mem.MkdirAll("/d"); err != nil {
			t.Fatal(err)
		}
		if err := vfs.Publish(mem, "/d/f", []byte("old")); err != nil {
			t.Fatal(err)
		}
		done := 0
		err := vfs.Publish(vfs.Hook(mem, func(vfs.Op) error {
			if done++; done == n {
				return refused
			}
			return nil
		}), "/d/f", []byte("new"))
		if done < n {
			if err != nil || n != 7 {
				t.Errorf("after %d operations: %v; want create, write, sync, close, rename, sync-dir", done, err)
			}
			return
		}
		if !errors.Is(err, refused) {
			t.Errorf("operation %d refused: %v", n, err)
		}
		if names, _ := mem.ReadDir("/d"); len(names) != 1 {
			t.Errorf("operation %d refused: %q are left", n, names)
		}
		mem.Crash(1)
		if b, err := vfs.ReadFile(mem, "/d/f"); err != nil || string(b) != "old" && string(b) != "new" {
			t.Errorf("operation %d refused, then a crash: %q, %v", n, b, err)
		}
	}
}

// TestPublishCrash crashes after Publish has returned, and checks that the new contents are there.
func TestPublishCrash(t *testing.T) {
	mem := vfs.NewMem()
	if err := mem.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second, longer", ""} {
		if err := vfs.Publish(mem, "/d/f", []byte(want)); err != nil {
			t.Fatal(err)
		}
		mem.Crash(0)
		if b, err := vfs.ReadFile(mem, "/d/f"); err != nil || string(b) != want {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
	}
}
