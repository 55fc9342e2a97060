// Package vfs is the file system of the shard engine: the few operations that publish a file
// durably and find it again. It is an interface so that tests can lose unsynced data (Mem), and
// make operations fail or record them (Hook).
//
// It is not a general file system. Files are written once, sequentially, and are read at offsets
// afterwards; nothing is appended to an existing file.
//
// To publish a file: Create a temporary name, Write, Sync, Close, Rename to the final name, SyncDir
// on the directory. Only after these steps is the file certain to survive. Publish does this for a
// small file. The writers of files that are written in pieces do it themselves.
//
// A FS may be used concurrently; a File may be read concurrently, and written by one goroutine.
package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FS is a file system. Errors for missing and existing files satisfy errors.Is
// with fs.ErrNotExist and fs.ErrExist.
type FS interface {
	// Create creates an empty file for writing and reading, and replaces an old one. Neither the
	// file nor its name is durable when it returns.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Rename renames a file, and replaces a file with the new name. It is atomic. It is durable
	// after SyncDir of the directory.
	Rename(from, to string) error
	// Remove removes a file. It is durable after SyncDir of the directory.
	Remove(name string) error
	// MkdirAll creates a directory and every missing parent, and makes their names durable.
	MkdirAll(dir string) error
	// ReadDir lists the names in a directory, sorted.
	ReadDir(dir string) ([]string, error)
	// Stat returns the size of a file in bytes.
	Stat(name string) (size int64, err error)
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error
}

// File is an open file.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Sync makes all written data durable. After an error it is unknown which data since the last
	// success was written: do not sync again, but write a new file.
	Sync() error
}

// ReadFile returns the contents of a file that is known to be small.
func ReadFile(fsys FS, name string) ([]byte, error) {
	size, err := fsys.Stat(name)
	if err != nil {
		return nil, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], errors.Join(err, f.Close())
}

// Publish writes a small file and replaces an old one with the same name. It is durable when
// Publish returns nil. After an error or a crash, the file has the old contents or the new ones,
// never a part of them. The temporary file, name + ".tmp", is removed if possible.
func Publish(fsys FS, name string, b []byte) error {
	temp := name + tempSuffix
	f, err := fsys.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(temp, name)
	}
	if err != nil {
		_ = fsys.Remove(temp) // the next Publish replaces it
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// tempSuffix is the suffix of files that are not published yet.
const tempSuffix = ".tmp"

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) Create(name string) (File, error) {
	return osFile(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644))
}

func (osFS) Open(name string) (File, error) { return osFile(os.Open(name)) }
func (osFS) Rename(from, to string) error   { return os.Rename(from, to) }
func (osFS) Remove(name string) error       { return os.Remove(name) }
func (osFS) SyncDir(dir string) (err error) { return syncDir(dir) }
func osFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err // a nil *os.File must not become a File
	}
	return f, nil
}

func (osFS) MkdirAll(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if info.IsDir() {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := (osFS{}).MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func (osFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (osFS) Stat(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RemoveFiles removes all files of a folder, which need not exist. It does not sync the folder.
func RemoveFiles(fsys FS, dir string) error {
	names, err := fsys.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if gone := fsys.Remove(filepath.Join(dir, name)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
