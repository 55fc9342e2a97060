package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cordwood/shard/vfs"
)

// dir keeps objects as files below a directory.
type dir struct{ root string }

// tempDir is the folder, in the repository, of files that are being written. Files that an
// interrupted backup leaves there are removed by a later backup once they are old.
const tempDir = "tmp"

const (
	dirMode  = 0o750
	fileMode = 0o640
)

func (d *dir) Location() string { return d.root }

func (d *dir) file(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d *dir) Path(name string) (string, bool) {
	if checkName(name) != nil {
		return "", false
	}
	return d.file(name), true
}

func (d *dir) Create(context.Context) (Upload, error) {
	folder := filepath.Join(d.root, tempDir)
	if err := os.MkdirAll(folder, dirMode); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(folder, rand.Text()), os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return nil, err
	}
	return &dirUpload{d: d, f: f}, nil
}

type dirUpload struct {
	d *dir
	f *os.File // nil after Commit or Abort
}

func (u *dirUpload) Write(p []byte) (int, error) { return u.f.Write(p) }

// Commit syncs the file, renames it, and syncs the folders of its path.
func (u *dirUpload) Commit(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := u.f.Sync(); err != nil {
		return err
	}
	to := u.d.file(name)
	made, err := u.d.makeFolders(filepath.Dir(to))
	if err != nil {
		return err
	}
	if err := os.Rename(u.f.Name(), to); err != nil {
		return err
	}
	for _, folder := range append([]string{filepath.Dir(to)}, made...) {
		if err := vfs.OS.SyncDir(folder); err != nil {
			return err
		}
	}
	u.f.Close()
	u.f = nil
	return nil
}

func (u *dirUpload) Abort() {
	if u.f == nil {
		return
	}
	u.f.Close()
	_ = os.Remove(u.f.Name()) // if the file stays, it is removed later as too old
	u.f = nil
}

// makeFolders makes a folder and its parents, and returns the parents of new folders.
func (d *dir) makeFolders(folder string) (parents []string, err error) {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	return parents, os.MkdirAll(folder, dirMode)
}

func (d *dir) Open(_ context.Context, name string, offset int64) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f, err := os.Open(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", d.file(name), ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

func (d *dir) List(ctx context.Context, prefix string, f func(Object) error) error {
	folder := d.root
	if at := strings.LastIndexByte(prefix, '/'); at >= 0 {
		folder = d.file(prefix[:at])
	}
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the object did not exist, or was removed in the meantime
		}
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		rel, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if !strings.HasPrefix(name, prefix) {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return f(Object{Name: name, Size: info.Size(), Modified: info.ModTime()})
	})
}

func (d *dir) Remove(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := os.Remove(d.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Also remove folders that are now empty. Remove fails for the others.
	for folder := filepath.Dir(d.file(name)); folder != filepath.Clean(d.root); folder = filepath.Dir(folder) {
		if os.Remove(folder) != nil {
			break
		}
	}
	return nil
}
