package vfs

import (
	"fmt"
	"path/filepath"
	"time"
)

// GuardConfig configures Guard.
type GuardConfig struct {
	// Fatal reports whether a failed Sync of a file ends the process. It should for files that are
	// appended to, because a later Sync may succeed although written data is lost. A failed SyncDir
	// always ends the process.
	Fatal func(name string) bool
	// Deadline is the time limit of a Write or a Sync of such a file, and of a SyncDir. Only time in which the process
	// runs counts.
	Deadline time.Duration
	// Fail is called, from any goroutine, with the error of an operation that failed or took too
	// long. It should end the process.
	Fail func(error)
}

// Guard returns fsys with a watchdog for operations that must not fail unnoticed. The operations
// themselves are unchanged.
//
// A file that is written once, and discarded if that fails, is not watched, because it is written
// again under another name.
func Guard(fsys FS, cfg GuardConfig) FS { return &guardFS{fsys, cfg} }

type guardFS struct {
	FS
	cfg GuardConfig
}

func (g *guardFS) Create(name string) (File, error) {
	f, err := g.FS.Create(name)
	if err != nil || !g.cfg.Fatal(name) {
		return f, err
	}
	return &guardFile{f, g, name}, nil
}

func (g *guardFS) SyncDir(dir string) error {
	return g.watch("sync directory "+dir, true, func() error { return g.FS.SyncDir(dir) })
}

// watch runs an operation within the deadline. If fatal is set, its error is fatal.
func (g *guardFS) watch(what string, fatal bool, do func() error) error {
	timer := AfterFunc(g.cfg.Deadline, func() {
		g.cfg.Fail(fmt.Errorf("%s: the disk did not answer within %s", what, g.cfg.Deadline))
	})
	err := do()
	timer.Stop()
	if err != nil && fatal {
		g.cfg.Fail(fmt.Errorf("%s: %w", what, err))
	}
	return err
}

type guardFile struct {
	File
	g    *guardFS
	name string
}

func (f *guardFile) Write(p []byte) (n int, err error) {
	err = f.g.watch("write "+filepath.Base(f.name), false, func() error {
		n, err = f.File.Write(p)
		return err
	})
	return n, err
}

func (f *guardFile) Sync() error {
	return f.g.watch("sync "+f.name, true, f.File.Sync)
}
