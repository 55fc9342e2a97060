// Package snapshot stores the snapshots of a raft group on disk, and checks and prints them.
//
// It uses raft's FileSnapshotStore. It adds a header before the content, with the index of the last
// command and a checksum of raft's metadata of the snapshot, which raft's own checksum does not
// cover. The content is sent to other members unchanged, including the header; their metadata of
// the snapshot are the same.
//
// The life of a snapshot: Create creates a directory that ends in .tmp; Close of the sink syncs and
// renames it, and removes old snapshots (see reap). If a crash comes before the rename, Sweep
// removes the directory at the next start.
package snapshot

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"cordwood/shard/vfs"
)

// Kept is the number of snapshots that are kept: the previous one is needed while the newest is
// sent.
const Kept = 2

// unfinished is the suffix of directories that are not yet, or no longer, snapshots.
const unfinished = ".tmp"

// Store is the snapshot store that raft uses. Its methods may be called concurrently.
type Store struct {
	raft.SnapshotStore
	// BeforeCreate, if not nil, is called before raft creates a snapshot, with its index and
	// term; an error refuses it. Set it before raft runs.
	BeforeCreate func(index, term uint64) error

	dir    string
	remove func(dir string) error // os.RemoveAll
}

// Dir returns the directory of the snapshots of the member in dir.
func Dir(dir string) string { return filepath.Join(dir, "snapshots") }

// Open opens the snapshots of the member in a directory. It creates Dir(dir) if it is missing.
func Open(dir string, logger hclog.Logger) (*Store, error) {
	// Raft would remove old snapshots file by file without renaming them first: see reap.
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, math.MaxInt, logger)
	return &Store{SnapshotStore: files, dir: Dir(dir), remove: os.RemoveAll}, err
}

// Newest returns raft's metadata of the newest snapshot, or nil if there is none.
func (s *Store) Newest() (*raft.SnapshotMeta, error) {
	list, err := s.List()
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// Create begins a snapshot, unless BeforeCreate refuses it. Raft's main goroutine calls it before
// it installs a snapshot of another member; nothing is appended or committed at that time.
func (s *Store) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration,
	membersIndex uint64, trans raft.Transport,
) (raft.SnapshotSink, error) {
	if s.BeforeCreate != nil {
		if err := s.BeforeCreate(index, term); err != nil {
			return nil, err
		}
	}
	sink, err := s.SnapshotStore.Create(version, index, term, members, membersIndex, trans)
	if err != nil {
		return nil, err
	}
	notes := raft.SnapshotMeta{
		Version:            version,
		Index:              index,
		Term:               term,
		Configuration:      members,
		ConfigurationIndex: membersIndex,
	}
	return &Sink{sink, s, notesSum(&notes)}, nil
}

// Sink is a snapshot that is being written. A Header with its Sum must come first.
type Sink struct {
	raft.SnapshotSink
	store *Store
	// Sum is the checksum of raft's metadata of the snapshot.
	Sum uint32
}

// Close makes the snapshot durable, and removes old snapshots.
func (s *Sink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	return s.store.reap()
}

// reap removes old snapshots. It first renames each to an unfinished one. Otherwise a crash during
// the removal would leave a snapshot with missing files, which counts as damage, and the replica
// would not open.
func (s *Store) reap() error {
	list, err := s.List()
	if err != nil || len(list) <= Kept {
		return err
	}
	for _, old := range list[Kept:] {
		from := filepath.Join(s.dir, old.ID)
		to := from + unfinished
		if err := os.Rename(from, to); err != nil {
			return err
		}
		if err := vfs.OS.SyncDir(s.dir); err != nil {
			return err
		}
		if err := s.remove(to); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes unfinished snapshots that crashes left behind; raft does not remove them. dir is
// the directory of the member.
func Sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(Dir(dir), "*"+unfinished))
	for _, path := range left {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
