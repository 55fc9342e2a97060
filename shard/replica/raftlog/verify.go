package raftlog

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/boltfile"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/replica/raftlog/walfile"
)

// Verified is the result of Verify.
type Verified struct {
	Kind Kind
	// First and Last are the indexes of the first and the last entry; 0 if the log is empty.
	First, Last uint64
	// Torn is the length in bytes of an unfinished append, which is cut off when the log is opened.
	Torn int64
	// Snapshot is the index that the newest snapshot covers, and SnapshotCommand the index of the
	// last command in it. They may differ, because raft's own entries take indexes too.
	Snapshot, SnapshotCommand uint64
}

// Verify reads the log and the snapshots of the member in dir completely, without changing
// anything, and checks that there is no gap between them. It calls command with the data of each
// command in the log, and content with the content of the newest snapshot; both may be nil. No
// process may have the member open.
func Verify(dir string, command func(index uint64, data []byte) error,
	content func(io.Reader) error,
) (v Verified, err error) {
	newest, err := snapshot.VerifyAll(dir)
	if err != nil {
		return v, err
	}
	if newest != nil {
		v.Snapshot, v.SnapshotCommand = newest.Index, newest.Command
		if content != nil {
			if err := newest.Content(content); err != nil {
				return v, err
			}
		}
	}
	if err := v.verifyLog(dir, command); err != nil {
		return v, err
	}
	if v.Last > 0 && v.First > v.Snapshot+1 {
		return v, fmt.Errorf("log %s begins with entry %d, and the newest snapshot ends with %d: the entries between are "+
			"lost",
			logDir(dir), v.First, v.Snapshot)
	}
	return v, nil
}

// verifyLog reads the log, whatever its kind.
func (v *Verified) verifyLog(dir string, command func(uint64, []byte) error) (err error) {
	entry := func(l *raft.Log) error {
		if v.First == 0 {
			v.First = l.Index
		}
		v.Last = l.Index
		if l.Type != raft.LogCommand || command == nil {
			return nil
		}
		return command(l.Index, l.Data)
	}
	if path := filepath.Join(logDir(dir), boltfile.LogName); exists(path) {
		v.Kind = Bolt
		v.First, v.Last, err = boltfile.VerifyLog(path, entry)
		return err
	}
	v.Torn, err = walfile.Verify(logDir(dir), entry)
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Unneeded returns the index up to which entries of a log are not needed, so that damage in them
// may be cut off. It returns 0 if all are needed. Entries are not needed if three conditions hold:
// the newest snapshot covers them; the state has everything that the snapshot covers (applied is
// its last command); and node is the only member, because another member might need these entries,
// and could also replace this one.
func Unneeded(newest *snapshot.Verified, node string, applied uint64) uint64 {
	if newest == nil || applied < newest.Command {
		return 0
	}
	if servers := newest.Configuration.Servers; len(servers) != 1 || string(servers[0].ID) != node {
		return 0
	}
	return newest.Index
}

// WillCut reports whether opening a member would cut off the damage that Verify found in its log,
// and not fail. applied is the last command that the state machine has. It changes nothing.
func WillCut(dir, node string, applied uint64, damage error) bool {
	newest, err := snapshot.VerifyAll(dir)
	if err != nil {
		return false
	}
	return walfile.CanCut(logDir(dir), Unneeded(newest, node, applied), damage)
}
