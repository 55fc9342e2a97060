package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"

	"cordwood/shard/vfs"
)

// walFS is the file system of a WAL. The library writes some of its files in the
// background and only logs what fails there; here every failed fsync ends the
// replica, and a full disk makes the write wait.
type walFS struct {
	*fs.FS
	guard *guard
	meta  *walMeta
}

var _ types.VFS = (*walFS)(nil)

// Create makes and preallocates a segment file.
func (w *walFS) Create(dir, name string, size uint64) (f types.WritableFile, err error) {
	err = w.guard.whileFull("make log file "+name, anyFull, func() error {
		f, err = w.FS.Create(dir, name, size)
		if err != nil && anyFull(err) {
			// It may be there, shorter than it should be.
			err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(dir, name))))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &walFile{WritableFile: f, fs: w, name: name}, nil
}

// OpenWriter opens a segment file to go on writing it.
func (w *walFS) OpenWriter(dir, name string) (types.WritableFile, error) {
	f, err := w.FS.OpenWriter(dir, name)
	if err != nil {
		return nil, err
	}
	return &walFile{WritableFile: f, fs: w, name: name}, nil
}

// Delete removes a segment file.
func (w *walFS) Delete(dir, name string) error {
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		return err
	}
	if err := vfs.OS.SyncDir(dir); err != nil {
		w.guard.latch(fmt.Errorf("log: sync directory %s: %w", dir, err))
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

// walFile is a segment file that is written.
type walFile struct {
	types.WritableFile
	fs    *walFS
	name  string
	noted bool // the list says that the file was written
}

// WriteAt writes all of b. After a partial write the same bytes are written again.
func (f *walFile) WriteAt(b []byte, off int64) (n int, err error) {
	err = f.fs.guard.whileFull("write log file "+f.name, anyFull, func() error {
		n, err = f.WritableFile.WriteAt(b, off)
		return err
	})
	return n, err
}

// Sync makes what was written durable. The first one notes in the list that the file
// must be there from now on.
func (f *walFile) Sync() error {
	start := time.Now()
	if err := f.WritableFile.Sync(); err != nil {
		f.fs.guard.latch(fmt.Errorf("log: sync %s: %w", f.name, err))
		return err
	}
	if f.fs.guard.synced != nil {
		f.fs.guard.synced(time.Since(start))
	}
	if f.noted {
		return nil
	}
	if err := f.fs.meta.SetStable([]byte(keyWritten), appendValueSum([]byte(keyWritten), []byte(f.name))); err != nil {
		return err
	}
	f.noted = true
	return nil
}

// keyWritten is the key of raft's values under which the newest file that was
// written is named; part of the format.
const keyWritten = "cordwood-written"

// walMeta is the file in which a WAL keeps its list of segments and raft's values.
type walMeta struct {
	metadb.BoltMetaDB
	guard *guard
	// filer makes files of the log.
	filer types.SegmentFiler
	// needless is the index up to which damaged entries may be cut off, and cut is told of it
	// if that was done.
	needless uint64
	cut      func()
	// sealed are the finished files as they were when the list was read: the last entry and
	// the bytes of the entries of each.
	sealed []mark
}

var _ types.MetaStore = (*walMeta)(nil)

// Load reads the list of segments, and vouches for the files before the library
// cuts or removes any of them.
func (m *walMeta) Load(dir string) (types.PersistentState, error) {
	state, err := m.load(dir)
	for i := range state.Segments {
		if si := &state.Segments[i]; err == nil && !si.SealTime.IsZero() {
			m.sealed = append(m.sealed, mark{si.MaxIndex, int64(si.IndexStart)}) //nolint:gosec // an offset in a file
		}
	}
	return state, err
}

func (m *walMeta) load(dir string) (types.PersistentState, error) {
	if err := checkWALMeta(dir); err != nil {
		return types.PersistentState{}, err
	}
	if _, _, err := readWALMeta(dir); err != nil {
		return types.PersistentState{}, err
	}
	state, err := m.BoltMetaDB.Load(dir)
	if err != nil {
		return state, err
	}
	written, err := m.written()
	if err != nil {
		return state, err
	}
	tail, err := checkWAL(dir, state, written)
	if err != nil {
		if state, err = m.cutDamage(dir, state, written, err); err != nil {
			return state, err
		}
		if tail, err = checkWAL(dir, state, written); err != nil {
			return state, err
		}
	}
	if tail == nil {
		return state, nil
	}
	if err := tail.clearTorn(); err != nil {
		return state, err
	}
	if !tail.sealed {
		return state, nil
	}
	return state, m.seal(&state, tail)
}

// written is the name of the newest file that entries were written to, or empty.
func (m *walMeta) written() (string, error) {
	stored, err := m.GetStable([]byte(keyWritten))
	if err != nil || stored == nil {
		return "", err
	}
	name, err := cutValueSum([]byte(keyWritten), stored)
	return string(name), err
}

// seal finishes a change of the tail that a crash interrupted: the file was ended,
// but the list does not say so, and the library would refuse every append to it.
func (m *walMeta) seal(state *types.PersistentState, tail *walScan) error {
	last := &state.Segments[len(state.Segments)-1]
	last.SealTime = last.CreateTime
	last.MaxIndex = last.BaseIndex + uint64(tail.entries) - 1
	last.IndexStart = tail.indexStart
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: last.MaxIndex + 1, MinIndex: last.MaxIndex + 1,
		Codec: last.Codec, CreateTime: last.CreateTime, SizeLimit: last.SizeLimit,
	})
	state.NextSegmentID++
	return m.CommitState(*state)
}

// CommitState replaces the list of segments. The library also calls it in the
// background.
func (m *walMeta) CommitState(state types.PersistentState) error {
	return m.guard.write("write the list of log files", func() error {
		return m.guard.whileFull("write the list of log files", writeFull, func() error { return m.BoltMetaDB.CommitState(state) })
	})
}

// SetStable stores one of raft's values.
func (m *walMeta) SetStable(key, value []byte) error {
	return m.guard.whileFull("write "+string(key), writeFull, func() error { return m.BoltMetaDB.SetStable(key, value) })
}
