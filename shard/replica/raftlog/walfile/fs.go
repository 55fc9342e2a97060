package walfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/types"

	"cordwood/shard/replica/raftlog/guard"
	"cordwood/shard/vfs"
)

// guardedFS is the file system to which the library writes. The library writes some of its files in
// the background and only logs errors there. With guardedFS every failed fsync ends the log, and a
// full disk makes the write wait.
type guardedFS struct {
	*fs.FS
	cfg  *Config
	meta *meta
}

var _ types.VFS = (*guardedFS)(nil)

// Create creates and preallocates a segment file.
func (w *guardedFS) Create(dir, name string, size uint64) (f types.WritableFile, err error) {
	err = w.cfg.Guard.WhileFull("create log file "+name, guard.AnyFull, func() error {
		f, err = w.FS.Create(dir, name, size)
		if err != nil && guard.AnyFull(err) {
			// An interrupted attempt may have left the file with less than its full size.
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(dir, name))))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &guardedFile{WritableFile: f, fs: w, name: name}, nil
}

// OpenWriter opens a segment file for further writes.
func (w *guardedFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := w.FS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return &guardedFile{WritableFile: f, fs: w, name: name}, nil
}

// Delete removes a segment file.
func (w *guardedFS) Delete(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		return err
	}
	if err := vfs.OS.SyncDir(dir); err != nil {
		w.cfg.Guard.Latch(fmt.Errorf("log: sync directory %s: %w", dir, err))
		return err
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// guardedFile is a segment file that is being written.
type guardedFile struct {
	types.WritableFile
	fs    *guardedFS
	name  string
	noted bool // the list records that the file was written
}

// WriteAt writes all of b. After a partial write it writes the same bytes again.
func (f *guardedFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.fs.cfg.Guard.WhileFull("write log file "+f.name, guard.AnyFull, func() error {
		n, err = f.WritableFile.WriteAt(b, off)
		return err
	})
	return n, err
}

// Sync makes the written data durable. The first call also records, among raft's values, that the
// file must exist from now on.
func (f *guardedFile) Sync() error {
	start := time.Now()
	if err := f.WritableFile.Sync(); err != nil {
		f.fs.cfg.Guard.Latch(fmt.Errorf("log: sync %s: %w", f.name, err))
		return err
	}
	f.fs.cfg.Synced(time.Since(start))
	if f.noted {
		return nil
	}
	if err := f.fs.meta.noteWritten(f.name); err != nil {
		return err
	}
	f.noted = true
	return nil
}
