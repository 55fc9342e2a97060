package shard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"cordwood/shard/manifest"
	"cordwood/shard/replica"
	"cordwood/shard/vfs"
)

// The folder of a replica says in these files which group it belongs to: FORMAT.md.
const (
	incarnationFileName = "INCARNATION"
	recoveredFileName   = "RECOVERED"
)

// FolderIncarnation is the incarnation of the group that the replica in a shard's folder
// belongs to; 0 if there is no replica in it. recovered tells that the folder was made the
// only replica of that group by Recover.
func FolderIncarnation(dir string) (incarnation uint32, recovered bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, incarnationFileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Folders of before had none: there was one incarnation only.
		if _, err := os.Stat(filepath.Join(dir, raftDirName)); err != nil {
			return 0, false, nil
		}
		return 1, false, nil
	case err != nil:
		return 0, false, err
	}
	if n, err := fmt.Sscanf(string(b), "incarnation %d\n", &incarnation); n != 1 || err != nil || incarnation == 0 {
		return 0, false, fmt.Errorf("%s does not say which incarnation of the shard it is: %q", filepath.Join(dir, incarnationFileName), b)
	}
	_, err = os.Stat(filepath.Join(dir, recoveredFileName))
	return incarnation, err == nil, nil
}

func setIncarnation(dir string, incarnation uint32) error {
	return putText(dir, incarnationFileName, fmt.Sprintf("incarnation %d\n", incarnation))
}

// putText makes a small file durable, in the place of any old one.
func putText(dir, name, text string) error {
	temp := filepath.Join(dir, name+".tmp")
	f, err := os.Create(temp)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		return err
	}
	return vfs.OS.SyncDir(dir)
}

// checkIncarnation sees to it that the folder holds a replica of the wanted group, or
// none. One of an earlier group is kept beside it: its rows are no longer part of the
// shard, and nobody but the operator can say that they are not needed.
func (c *Config) checkIncarnation() error {
	have, _, err := FolderIncarnation(c.Dir)
	switch {
	case err != nil:
		return err
	case have == c.Incarnation:
		return nil
	case have > c.Incarnation:
		return fmt.Errorf("the folder holds a replica of incarnation %d of the shard, the cluster knows incarnation %d: if it was recovered on purpose, this node tells the cluster as soon as that can be reached",
			have, c.Incarnation)
	case have > 0:
		aside := fmt.Sprintf("%s.incarnation-%d", strings.TrimRight(c.Dir, "/"), have)
		c.Logger.Warn("the folder holds a replica of an earlier incarnation of the shard, whose group was given up: it is set aside, and a new replica begins",
			"folder", c.Dir, "to", aside, "incarnation", have, "want", c.Incarnation)
		if err := os.Rename(c.Dir, aside); err != nil {
			return fmt.Errorf("set aside the replica of incarnation %d: %w", have, err)
		}
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	return setIncarnation(c.Dir, c.Incarnation)
}

// Recovery is what Recover did.
type Recovery struct {
	replica.Copy
	// StateIndex is the last entry in the segments.
	StateIndex uint64
	// Before and Incarnation are the incarnations of the shard.
	Before, Incarnation uint32
}

// PeekCopy reads how far the replica in a shard's folder is. Nothing is changed.
func PeekCopy(dir string, id uint32) (Recovery, error) {
	var r Recovery
	var err error
	if r.Before, _, err = FolderIncarnation(dir); err != nil {
		return r, err
	}
	if r.Before == 0 {
		return r, fmt.Errorf("%s holds no replica of a shard", dir)
	}
	st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: dir, ShardID: id})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if st != nil {
		r.StateIndex = st.AppliedIndex
	}
	r.Copy, err = replica.Peek(filepath.Join(dir, raftDirName), replica.WAL)
	return r, err
}

// Recover makes the replica in a shard's folder the only one of a new incarnation of the
// shard: for a shard that has lost most of its replicas for good. What only they have is
// lost. The folder must not be in use. See replica.Recover.
func Recover(dir string, id uint32, nodeID string) (Recovery, error) {
	r, err := PeekCopy(dir, id)
	if err != nil {
		return r, fmt.Errorf("shard %d: recover: %w", id, err)
	}
	cfg := replica.RecoverConfig{Dir: filepath.Join(dir, raftDirName), NodeID: nodeID}
	st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: dir, ShardID: id})
	if err == nil {
		cfg.StateIndex, cfg.StateTerm = st.AppliedIndex, st.AppliedTerm
		cfg.State = func(w io.Writer) error { return writeSnapshot(w, id, st) }
	} else if !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("shard %d: recover: %w", id, err)
	}
	if _, err := replica.Recover(cfg); err != nil {
		return r, fmt.Errorf("shard %d: %w", id, err)
	}
	r.Incarnation = r.Before + 1
	text := fmt.Sprintf("made the only replica of incarnation %d by 'cordwood recover' on node %s, at entry %d of term %d\n", r.Incarnation, nodeID, max(r.LastIndex, r.StateIndex), r.LastTerm)
	if err := putText(dir, recoveredFileName, text); err != nil {
		return r, fmt.Errorf("shard %d: recover: %w", id, err)
	}
	if err := setIncarnation(dir, r.Incarnation); err != nil {
		return r, fmt.Errorf("shard %d: recover: %w", id, err)
	}
	return r, nil
}
