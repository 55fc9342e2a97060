package vfs

import (
	"fmt"
	"path/filepath"
	"sync"
)

// The kinds of operations that a hook receives. Reads are included so that a test can make them
// fail too.
const (
	OpCreate  = "create"
	OpOpen    = "open"
	OpWrite   = "write"
	OpRead    = "read"
	OpSync    = "sync"
	OpClose   = "close"
	OpRename  = "rename"
	OpRemove  = "remove"
	OpMkdir   = "mkdir"
	OpReadDir = "readdir"
	OpStat    = "stat"
	OpSyncDir = "sync-dir"
)

// Op is an operation that is about to be executed.
type Op struct {
	Kind string
	// Path is the file or directory; To is the new name of a rename.
	Path, To string
	// Bytes is the length of a write.
	Bytes int
}

// Changes reports whether the operation publishes or removes a file. The order of such operations
// matters.
func (o Op) Changes() bool {
	switch o.Kind {
	case OpCreate, OpWrite, OpSync, OpRename, OpRemove, OpSyncDir:
		return true
	}
	return false
}

// String returns the operation as a line of a transcript, with base names only.
func (o Op) String() string {
	if o.Kind == OpRename {
		return fmt.Sprintf("%s %s -> %s", o.Kind, filepath.Base(o.Path), filepath.Base(o.To))
	}
	return o.Kind + " " + filepath.Base(o.Path)
}

// Hook returns fsys with before called before every operation. If it returns an error, the
// operation is not executed and fails with that error. before may be called concurrently.
func Hook(fsys FS, before func(Op) error) FS { return &hookFS{fsys, before} }

// Recorder collects operations for a transcript.
type Recorder struct {
	mu  sync.Mutex
	ops []Op
}

// Record records an operation. It is a hook that never fails.
func (r *Recorder) Record(op Op) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
	return nil
}

// Transcript returns the changing operations recorded so far as lines, and clears them. Repeated
// writes to one file are one line.
func (r *Recorder) Transcript() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, op := range r.ops {
		if !op.Changes() {
			continue
		}
		line := op.String()
		if op.Kind == OpWrite && len(lines) > 0 && lines[len(lines)-1] == line {
			continue
		}
		lines = append(lines, line)
	}
	r.ops = nil
	return lines
}

// FailNth makes the nth changing operation, counted from 1, fail with Err, and if Sticky is set,
// every later one too. Its hook is Fail.
type FailNth struct {
	N      int
	Err    error
	Sticky bool

	mu   sync.Mutex
	seen int
	hit  bool
}

// Fail returns the hook.
func (f *FailNth) Fail(op Op) error {
	if !op.Changes() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	if f.seen == f.N || f.Sticky && f.seen > f.N {
		f.hit = true
		return fmt.Errorf("%s: %w", op, f.Err)
	}
	return nil
}

// Hit reports whether an operation was made to fail.
func (f *FailNth) Hit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

type hookFS struct {
	fs     FS
	before func(Op) error
}

func (h *hookFS) Create(name string) (File, error) {
	if err := h.before(Op{Kind: OpCreate, Path: name}); err != nil {
		return nil, err
	}
	return h.file(name)(h.fs.Create(name))
}

func (h *hookFS) Open(name string) (File, error) {
	if err := h.before(Op{Kind: OpOpen, Path: name}); err != nil {
		return nil, err
	}
	return h.file(name)(h.fs.Open(name))
}

func (h *hookFS) file(name string) func(File, error) (File, error) {
	return func(f File, err error) (File, error) {
		if err != nil {
			return nil, err
		}
		return &hookFile{h: h, f: f, name: name}, nil
	}
}

func (h *hookFS) Rename(from, to string) error {
	if err := h.before(Op{Kind: OpRename, Path: from, To: to}); err != nil {
		return err
	}
	return h.fs.Rename(from, to)
}

func (h *hookFS) Remove(name string) error {
	if err := h.before(Op{Kind: OpRemove, Path: name}); err != nil {
		return err
	}
	return h.fs.Remove(name)
}

func (h *hookFS) MkdirAll(dir string) error {
	if err := h.before(Op{Kind: OpMkdir, Path: dir}); err != nil {
		return err
	}
	return h.fs.MkdirAll(dir)
}

func (h *hookFS) ReadDir(dir string) ([]string, error) {
	if err := h.before(Op{Kind: OpReadDir, Path: dir}); err != nil {
		return nil, err
	}
	return h.fs.ReadDir(dir)
}

func (h *hookFS) Stat(name string) (int64, error) {
	if err := h.before(Op{Kind: OpStat, Path: name}); err != nil {
		return 0, err
	}
	return h.fs.Stat(name)
}

func (h *hookFS) SyncDir(dir string) error {
	if err := h.before(Op{Kind: OpSyncDir, Path: dir}); err != nil {
		return err
	}
	return h.fs.SyncDir(dir)
}

type hookFile struct {
	h    *hookFS
	f    File
	name string
}

func (f *hookFile) Write(p []byte) (int, error) {
	if err := f.h.before(Op{Kind: OpWrite, Path: f.name, Bytes: len(p)}); err != nil {
		return 0, err
	}
	return f.f.Write(p)
}

func (f *hookFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.h.before(Op{Kind: OpRead, Path: f.name}); err != nil {
		return 0, err
	}
	return f.f.ReadAt(p, off)
}

func (f *hookFile) Sync() error {
	if err := f.h.before(Op{Kind: OpSync, Path: f.name}); err != nil {
		return err
	}
	return f.f.Sync()
}

// Close closes the file even if the hook makes it fail, so that no test leaks one.
func (f *hookFile) Close() error {
	herr := f.h.before(Op{Kind: OpClose, Path: f.name})
	if err := f.f.Close(); err != nil {
		return err
	}
	return herr
}
