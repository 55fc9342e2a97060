// Package raftlog implements the log of a member of a raft group, as hashicorp/raft uses it:
// entries and raft's few values (term, vote), in one of two formats (Kind).
//
// It encapsulates the libraries of both formats and their private file layouts. walfile and
// boltfile check every byte before the library reads it, guard ends the log at the first write that
// fails, and damage contains the checksums that the libraries lack. snapshot stores the snapshots.
// This package adds what raft needs and no library has: the number of bytes in the log, which
// entries are commands, a cache of the last entries, and the protection of applied entries
// (History).
//
// It does not know the meaning of entries, other members, or the running raft.
package raftlog

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/boltfile"
	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/replica/raftlog/guard"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/replica/raftlog/walfile"
	"cordwood/shard/vfs"
)

// Store is a log and the few values that raft stores with it. An append or a Set is durable when it
// returns.
type Store interface {
	raft.LogStore
	raft.StableStore
	io.Closer
}

// ErrDamaged is damage.ErrDamaged. It matches every error about damaged or missing files of a
// member, for callers that need not know the files of a log.
var ErrDamaged = damage.ErrDamaged

// Kind is the format of the log on disk.
type Kind int

const (
	// WAL is hashicorp/raft-wal: append-only segment files, for shards.
	WAL Kind = iota
	// Bolt is raft-boltdb: one B+tree file, for the metadata group.
	Bolt
)

// String returns the kind's name in messages.
func (k Kind) String() string {
	if k == Bolt {
		return "bolt"
	}
	return "wal"
}

// Config describes the log that Open opens. Dir, AppendDeadline and Fail are required.
type Config struct {
	// Dir is the directory of the member; the log is in Dir/log.
	Dir string
	// Kind is the format of the log.
	Kind Kind
	// Store, if set, opens the log instead, for tests.
	Store func() (Store, error)
	// SegmentBytes is the size of a segment file of a WAL. The default value is 2 MiB.
	SegmentBytes int
	// AppendDeadline is how long one append with its fsync may take before the log counts as
	// failed. Waiting for disk space does not count.
	AppendDeadline time.Duration
	// Fail is called once, with the error that ended the log. It must not block.
	Fail func(error)
	// DiskFull is called repeatedly while a write waits for disk space. It must not block. The
	// default value does nothing.
	DiskFull func(error)
	// Unneeded is the index up to which damaged entries of a WAL may be cut off; 0 means that none
	// may. See Unneeded.
	Unneeded uint64
	// Logger gets messages for operators, Library the messages of the libraries. The default values
	// discard them.
	Logger  *slog.Logger
	Library hclog.Logger
	// Appended is called with the duration and the bytes of each append, Synced with the duration
	// of each fsync of a WAL, and Cut when damage was cut off. The default values do nothing.
	Appended func(took time.Duration, bytes int64)
	Synced   func(took time.Duration)
	Cut      func()
}

// DefaultSegmentBytes is the default value of Config.SegmentBytes.
const DefaultSegmentBytes = 2 << 20

// logDir returns the directory of the log of the member in dir.
func logDir(dir string) string { return filepath.Join(dir, "log") }

// MakeDirs creates the directories of the log and the snapshots of the member in dir, and every
// missing parent, durably.
func MakeDirs(dir string) error {
	for _, sub := range []string{logDir(dir), snapshot.Dir(dir)} {
		if err := os.MkdirAll(sub, 0o755); err != nil {
			return err
		}
	}
	for _, d := range []string{logDir(dir), snapshot.Dir(dir), dir, filepath.Dir(dir)} {
		if err := vfs.OS.SyncDir(d); err != nil {
			return fmt.Errorf("sync directory: %w", err)
		}
	}
	return nil
}

// Open checks the log of a member and opens it, or creates a new one. If the log is damaged, it
// changes nothing and returns an error that matches damage.ErrDamaged.
func Open(cfg Config) (*Log, error) {
	g := guard.New(guard.Config{Deadline: cfg.AppendDeadline, Fail: cfg.Fail, Full: cfg.DiskFull, Logger: cfg.Logger})
	l := &Log{
		guard: g, appended: cfg.Appended, sealed: cfg.Kind == Bolt, loading: true, others: map[uint64]struct{}{},
	}
	if l.appended == nil {
		l.appended = func(time.Duration, int64) {}
	}
	if err := l.open(cfg); err != nil {
		return nil, err
	}
	return l, nil
}

func (s *Log) open(cfg Config) (err error) {
	switch {
	case cfg.Store != nil:
		s.backend, err = cfg.Store()
		return err
	case cfg.Kind == Bolt:
		s.backend, err = boltfile.OpenLog(filepath.Join(logDir(cfg.Dir), boltfile.LogName))
		return err
	}
	if cfg.SegmentBytes == 0 {
		cfg.SegmentBytes = DefaultSegmentBytes
	}
	log, err := walfile.Open(walfile.Config{
		Dir: logDir(cfg.Dir), SegmentBytes: cfg.SegmentBytes, Guard: s.guard, Unneeded: cfg.Unneeded, Cut: cfg.Cut,
		Synced: cfg.Synced,
		Logger: cfg.Logger, Library: cfg.Library,
	})
	if err != nil {
		return err
	}
	s.backend, s.finished = log, log.Finished()
	return nil
}

// EndWaits ends waits for disk space, so that raft can be shut down, and the deadline of a write
// that has not returned. Close must be called later, when raft no longer uses the log.
func (s *Log) EndWaits() { s.guard.Close() }

// Close closes the log's files.
func (s *Log) Close() error {
	s.guard.Close()
	return s.backend.Close()
}
