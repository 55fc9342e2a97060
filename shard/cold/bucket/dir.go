package bucket

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"cordwood/shard/vfs"
)

// Dir keeps objects as files below a directory. See Mark for a directory that may be another one later.
type Dir struct {
	root string
	// marker is the content of the file that the directory has to have; nil if Mark was not called.
	marker atomic.Pointer[[]byte]
}

// TempDir is the folder, in a directory, of files that are being written. After a crash they stay there.
const TempDir = "tmp"

const (
	dirMode  = 0o750
	fileMode = 0o640
)

// NewDir returns the bucket in a directory, which need not exist.
func NewDir(root string) *Dir { return &Dir{root: root} }

// Location returns the directory.
func (d *Dir) Location() string { return d.root }

// Exists returns an error if the directory does not exist. Put would create it, also where a file system should be
// mounted.
func (d *Dir) Exists() error {
	if _, err := os.Stat(d.root); err != nil {
		return fmt.Errorf("%w; create the directory first", err)
	}
	return nil
}

func (d *Dir) file(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

// Path returns the path of an object's file. ok is false if the key is not valid.
func (d *Dir) Path(key string) (file string, ok bool) {
	if CheckKey(key) != nil {
		return "", false
	}
	return d.file(key), true
}

// fail classifies an error of the file system.
func (d *Dir) fail(op, key string, err error) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	kind := Unavailable
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if other := d.present(); other != nil {
			return other
		}
		kind, err = NotFound, ErrNotFound
	case errors.Is(err, fs.ErrExist):
		kind, err = Exists, ErrExists
	case errors.Is(err, fs.ErrPermission):
		kind = Forbidden
	}
	return &Error{Kind: kind, Op: op, At: d.file(key), Err: err}
}

// Stage creates a file that Commit can give a key.
func (d *Dir) Stage() (*os.File, error) {
	folder := filepath.Join(d.root, TempDir)
	if err := d.makeTemp(folder); err != nil {
		return nil, d.fail("create", TempDir, err)
	}
	f, err := os.OpenFile(filepath.Join(folder, rand.Text()), os.O_CREATE|os.O_EXCL|os.O_RDWR, fileMode)
	if err != nil {
		return nil, d.fail("create", TempDir, err)
	}
	return f, nil
}

// makeTemp makes the folder of files that are being written. It does not make a directory that was marked.
func (d *Dir) makeTemp(folder string) error {
	if d.marker.Load() == nil {
		return os.MkdirAll(folder, dirMode)
	}
	if err := d.present(); err != nil {
		return err
	}
	if err := os.Mkdir(folder, dirMode); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Commit syncs a file of Stage, gives it a key, and syncs the folders of its path. It closes f if it returns nil.
func (d *Dir) Commit(f *os.File, key string, replace bool) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	return d.fail("write", key, d.commit(f, key, replace))
}

func (d *Dir) commit(f *os.File, key string, replace bool) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := d.present(); err != nil {
		return err
	}
	to := d.file(key)
	made, err := d.makeFolders(filepath.Dir(to))
	if err != nil {
		return err
	}
	if replace {
		err = os.Rename(f.Name(), to)
	} else if err = os.Link(f.Name(), to); err == nil { // unlike a rename, it fails if the file exists
		err = os.Remove(f.Name())
	}
	if err != nil {
		return err
	}
	for _, folder := range append([]string{filepath.Dir(to)}, made...) {
		if err := vfs.OS.SyncDir(folder); err != nil {
			return err
		}
	}
	f.Close() // it was synced, so nothing depends on this
	return nil
}

// Discard removes a file of Stage.
func (d *Dir) Discard(f *os.File) {
	f.Close()
	_ = os.Remove(f.Name()) // a file that stays is in the folder of temporary files
}

// makeFolders makes a folder and its parents, and returns the parents of new folders.
func (d *Dir) makeFolders(folder string) (parents []string, err error) {
	for at := folder; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	return parents, os.MkdirAll(folder, dirMode)
}

// Put implements Bucket.
func (d *Dir) Put(ctx context.Context, key string, c Content) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return &Error{Kind: Refused, Op: "write", At: d.file(key), Err: err}
	}
	f, err := d.Stage()
	if err != nil {
		return err
	}
	h := crc32.New(Castagnoli)
	body := &source{r: io.NewSectionReader(c.Body, 0, c.Size)}
	_, err = io.Copy(io.MultiWriter(f, h), &obeys{ctx, body})
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case body.failure() != nil:
		err = &Error{Kind: Local, Op: "write", At: d.file(key), Err: body.failure()}
	case err != nil:
		err = d.fail("write", key, err)
	case c.Checked && h.Sum32() != c.CRC:
		err = &Error{
			Kind: Damaged, Op: "write", At: d.file(key),
			Err: fmt.Errorf("the file has the checksum %08x, want %08x", h.Sum32(), c.CRC),
		}
	default:
		err = d.Commit(f, key, c.Replace)
	}
	if err != nil {
		d.Discard(f)
	}
	return err
}

// obeys is a reader that fails when a context ends.
type obeys struct {
	ctx context.Context
	r   io.Reader
}

func (o *obeys) Read(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	return o.r.Read(p)
}

// Range implements Bucket.
func (d *Dir) Range(ctx context.Context, key string, r Range) ([]byte, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	fail := func(kind Kind, err error) ([]byte, error) {
		return nil, &Error{Kind: kind, Op: "read", At: d.file(key), Err: err}
	}
	if err := r.check(); err != nil {
		return fail(Refused, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(d.file(key))
	if err != nil {
		return nil, d.fail("read", key, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, d.fail("read", key, err)
	}
	if size := info.Size(); r.ObjectSize > 0 && size != r.ObjectSize || size < r.Offset || size-r.Offset < r.Length {
		return fail(Damaged, r.otherSize(size))
	}
	b := make([]byte, r.Length)
	if _, err := f.ReadAt(b, r.Offset); err != nil {
		return nil, d.fail("read", key, err)
	}
	if err := r.verify(b); err != nil {
		return fail(Damaged, err)
	}
	return b, nil
}

// otherSize returns the error for an object that does not have the expected size.
func (r *Range) otherSize(size int64) error {
	if r.ObjectSize > 0 {
		return fmt.Errorf("the object has %d bytes, want %d", size, r.ObjectSize)
	}
	return fmt.Errorf("the object has %d bytes, want at least %d", size, r.Offset+r.Length)
}

// Open implements Bucket.
func (d *Dir) Open(_ context.Context, key string, offset int64) (io.ReadCloser, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	f, err := os.Open(d.file(key))
	if err != nil {
		return nil, d.fail("read", key, err)
	}
	if offset > 0 {
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return nil, errors.Join(d.fail("read", key, err), f.Close())
		}
	}
	return f, nil
}

// Head implements Bucket. It does not read the file, so there is no checksum.
func (d *Dir) Head(_ context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	info, err := os.Stat(d.file(key))
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Info{}, d.fail("describe", key, err)
	}
	return Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// List implements Bucket.
func (d *Dir) List(ctx context.Context, prefix string, f func(Info) error) error {
	if err := d.present(); err != nil {
		return err
	}
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
		key := filepath.ToSlash(rel)
		if !strings.HasPrefix(key, prefix) || key == MarkerName {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return f(Info{Key: key, Size: info.Size(), Modified: info.ModTime()})
	})
}

// Delete implements Bucket. It also removes folders that are empty afterwards.
func (d *Dir) Delete(_ context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := d.present(); err != nil {
		return err
	}
	if err := os.Remove(d.file(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.fail("remove", key, err)
	}
	for folder := filepath.Dir(d.file(key)); folder != filepath.Clean(d.root); folder = filepath.Dir(folder) {
		if os.Remove(folder) != nil {
			break // it is not empty
		}
	}
	return nil
}

// Copy implements Bucket. The copy has bytes of its own.
func (d *Dir) Copy(ctx context.Context, key string, to Bucket, toKey string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	other, ok := to.(*Dir)
	if !ok {
		return &Error{Kind: Refused, Op: "copy", At: d.file(key), Err: ErrOtherService}
	}
	f, err := os.Open(d.file(key))
	if err != nil {
		return d.fail("copy", key, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return d.fail("copy", key, err)
	}
	return other.Put(ctx, toKey, Content{Body: f, Size: info.Size(), Replace: true})
}
