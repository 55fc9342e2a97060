package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cordwood/shard/manifest"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// Creation describes a replica that Create makes. All fields but Log are required.
type Creation struct {
	// Dir is the folder of the shard. It must not exist.
	Dir         string
	ID          uint32
	Incarnation uint32
	NodeID      string
	// State has no segments: all rows are in object storage.
	State *manifest.State
	// Log, if set, calls f with the entries that are in the log behind the state, in order.
	Log func(f func(entry []byte) error) error
}

// Create makes the only replica of a shard from a state. If it is interrupted, remove the folder.
func Create(c Creation) error {
	if err := c.create(); err != nil {
		return fmt.Errorf("shard %d: create it from a state: %w", c.ID, err)
	}
	return nil
}

func (c *Creation) create() error {
	if n := len(c.State.Segments); n > 0 {
		return fmt.Errorf("the state has %d segments, whose files are not there", n)
	}
	if _, err := os.Stat(c.Dir); err == nil {
		return fmt.Errorf("folder %s exists", c.Dir)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	if err := setIncarnation(c.Dir, c.Incarnation); err != nil {
		return err
	}
	m, err := manifest.Open(manifest.Config{FS: vfs.OS, Dir: c.Dir, ShardID: c.ID})
	if err != nil {
		return err
	}
	if err := errors.Join(m.Replace(c.State), m.Close()); err != nil {
		return err
	}
	return replica.Create(replica.CreateConfig{
		Dir: filepath.Join(c.Dir, store.RaftDirName), Log: raftlog.WAL, NodeID: c.NodeID,
		Index: c.State.AppliedIndex, Term: c.State.AppliedTerm,
		State:    func(w io.Writer) error { return writeSnapshot(w, c.ID, c.State) },
		Commands: c.Log,
	})
}
