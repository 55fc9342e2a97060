package simulation

import (
	"sync/atomic"

	"cordwood/shard/vfs"
)

// life is a file system for one run of a process. After the process has crashed, its remaining goroutines cannot
// change a file.
type life struct {
	vfs.FS
	dead *atomic.Bool
}

func (l life) check() error {
	if l.dead.Load() {
		return errDead
	}
	return nil
}

func (l life) Create(name string) (vfs.File, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.FS.Create(name)
}

func (l life) Open(name string) (vfs.File, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.FS.Open(name)
}

func (l life) Rename(from, to string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.FS.Rename(from, to)
}

func (l life) Remove(name string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.FS.Remove(name)
}

func (l life) MkdirAll(dir string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.FS.MkdirAll(dir)
}

func (l life) SyncDir(dir string) error {
	if err := l.check(); err != nil {
		return err
	}
	return l.FS.SyncDir(dir)
}
