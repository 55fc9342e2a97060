package vfs

import (
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"strings"
	"sync"
)

// Mem is a file system in memory. Crash simulates a power loss: it drops data that was not synced,
// and names that were not made durable by SyncDir. Directories themselves always survive. The zero
// value is not usable; see NewMem.
type Mem struct {
	mu   sync.Mutex
	dirs map[string]*memDir
	gen  int // incremented by every Crash; files opened before are unusable
}

type memDir struct {
	names   map[string]*memFile // as a running process sees them
	durable map[string]*memFile // as they are after a crash
}

type memFile struct {
	data   []byte
	synced int // length of data that survives a crash
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{dirs: map[string]*memDir{}}
}

// Crash drops everything that is not durable, and makes every open File unusable. For each file,
// tail bytes after the synced ones survive if they were written: the torn tail that a power loss
// may leave.
func (m *Mem) Crash(tail int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gen++
	for _, d := range m.dirs {
		d.names = make(map[string]*memFile, len(d.durable))
		for name, f := range d.durable {
			f.data = f.data[:min(len(f.data), f.synced+tail)]
			f.synced = len(f.data)
			d.names[name] = f
		}
	}
}

// Copy returns a file system with the content that would survive a crash now.
func (m *Mem) Copy() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := NewMem()
	for name, d := range m.dirs {
		to := &memDir{names: map[string]*memFile{}, durable: map[string]*memFile{}}
		for name, f := range d.durable {
			c := &memFile{data: append([]byte(nil), f.data[:f.synced]...), synced: f.synced}
			to.names[name], to.durable[name] = c, c
		}
		out.dirs[name] = to
	}
	return out
}

// SetBack replaces the content with a copy, like returning to a snapshot of a disk. Every open File
// is unusable afterwards.
func (m *Mem) SetBack(to *Mem) {
	to = to.Copy()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gen++
	m.dirs = to.dirs
}

// Flip inverts the lowest bit of a byte of a file, as a bad disk may do.
func (m *Mem) Flip(name string, offset int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.file("flip", name)
	if err != nil {
		return err
	}
	if offset < 0 || offset >= int64(len(f.data)) {
		return &fs.PathError{Op: "flip", Path: name, Err: fs.ErrInvalid}
	}
	f.data[offset] ^= 1
	return nil
}

// Truncate cuts a file to size bytes, durably.
func (m *Mem) Truncate(name string, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.file("truncate", name)
	if err != nil {
		return err
	}
	if size < 0 || size > int64(len(f.data)) {
		return &fs.PathError{Op: "truncate", Path: name, Err: fs.ErrInvalid}
	}
	f.data = f.data[:size]
	f.synced = min(f.synced, len(f.data))
	return nil
}

// RemoveAll removes a directory and all that is below it, durably.
func (m *Mem) RemoveAll(dir string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	for d := range m.dirs {
		if d == dir || strings.HasPrefix(d, dir+string(filepath.Separator)) {
			delete(m.dirs, d)
		}
	}
}

// Files lists every file below a directory, sorted.
func (m *Mem) Files(dir string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	var out []string
	for d, in := range m.dirs {
		if d != dir && !strings.HasPrefix(d, dir+string(filepath.Separator)) {
			continue
		}
		for name := range in.names {
			out = append(out, filepath.Join(d, name))
		}
	}
	sort.Strings(out)
	return out
}

// dir returns the directory that contains name; m.mu must be held.
func (m *Mem) dir(op, name string) (*memDir, string, error) {
	name = filepath.Clean(name)
	d := m.dirs[filepath.Dir(name)]
	if d == nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return d, filepath.Base(name), nil
}

// file returns the file with this name; m.mu must be held.
func (m *Mem) file(op, name string) (*memFile, error) {
	d, base, err := m.dir(op, name)
	if err != nil {
		return nil, err
	}
	f := d.names[base]
	if f == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.dir("create", name)
	if err != nil {
		return nil, err
	}
	f := &memFile{}
	d.names[base] = f
	return &memHandle{m: m, f: f, name: name, gen: m.gen, write: true}, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.file("open", name)
	if err != nil {
		return nil, err
	}
	return &memHandle{m: m, f: f, name: name, gen: m.gen}, nil
}

// Rename implements FS. Both names must be in the same directory.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.file("rename", from)
	if err != nil {
		return err
	}
	src, srcBase, _ := m.dir("rename", from)
	dst, dstBase, err := m.dir("rename", to)
	if err != nil {
		return err
	}
	delete(src.names, srcBase)
	dst.names[dstBase] = f
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.file("remove", name); err != nil {
		return err
	}
	d, base, _ := m.dir("remove", name)
	delete(d.names, base)
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir = filepath.Clean(dir); m.dirs[dir] == nil; dir = filepath.Dir(dir) {
		m.dirs[dir] = &memDir{names: map[string]*memFile{}, durable: map[string]*memFile{}}
	}
	return nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	d := m.dirs[dir]
	if d == nil {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
	}
	var names []string
	for name := range d.names {
		names = append(names, name)
	}
	for sub := range m.dirs {
		if sub != dir && filepath.Dir(sub) == dir {
			names = append(names, filepath.Base(sub))
		}
	}
	sort.Strings(names)
	return names, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.file("stat", name)
	if err != nil {
		return 0, err
	}
	return int64(len(f.data)), nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.dirs[filepath.Clean(dir)]
	if d == nil {
		return &fs.PathError{Op: "syncdir", Path: dir, Err: fs.ErrNotExist}
	}
	d.durable = make(map[string]*memFile, len(d.names))
	for name, f := range d.names {
		d.durable[name] = f
	}
	return nil
}

type memHandle struct {
	m      *Mem
	f      *memFile
	name   string
	gen    int
	write  bool
	closed bool
}

// check reports whether the handle may be used; m.mu must be held.
func (h *memHandle) check(op string) error {
	if h.closed || h.gen != h.m.gen {
		return &fs.PathError{Op: op, Path: h.name, Err: fs.ErrClosed}
	}
	return nil
}

func (h *memHandle) Write(p []byte) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.check("write"); err != nil {
		return 0, err
	}
	if !h.write {
		return 0, &fs.PathError{Op: "write", Path: h.name, Err: fs.ErrPermission}
	}
	h.f.data = append(h.f.data, p...)
	return len(p), nil
}

func (h *memHandle) ReadAt(p []byte, off int64) (int, error) {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.check("read"); err != nil {
		return 0, err
	}
	if off < 0 || off >= int64(len(h.f.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *memHandle) Sync() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.check("sync"); err != nil {
		return err
	}
	h.f.synced = len(h.f.data)
	return nil
}

func (h *memHandle) Close() error {
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if err := h.check("close"); err != nil {
		return err
	}
	h.closed = true
	return nil
}
