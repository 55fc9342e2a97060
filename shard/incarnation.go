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
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// These files in the folder of a replica contain the group of the replica: see FORMAT.md.
const (
	incarnationFileName = "INCARNATION"
	recoveredFileName   = "RECOVERED"
	// recoveringFileName exists while Recover works. Recover must complete before the folder is
	// used.
	recoveringFileName = "RECOVERING"
)

// errRecovering is the error for a folder whose recovery was interrupted.
var errRecovering = errors.New("'cordwood recover' was interrupted in this folder: run it again for this shard; " +
	"until then the replica is not opened, since other replicas may continue without it")

// FolderIncarnation returns the incarnation of the group to which the replica in a shard's folder
// belongs, or 0 if there is no replica. recovered reports whether Recover made it the only replica
// of that group.
func FolderIncarnation(dir string) (incarnation uint32, recovered bool, err error) {
	if _, err := os.Stat(filepath.Join(dir, recoveringFileName)); err == nil {
		return 0, false, fmt.Errorf("%s: %w", dir, errRecovering)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, false, err
	}
	incarnation, recovered, err = readIncarnation(dir)
	if err == nil && incarnation > 0 && !recovered && replica.Fenced(filepath.Join(dir, store.RaftDirName)) {
		// The folder was written by an older version, which had no such file.
		return 0, false, fmt.Errorf("%s: %w", dir, errRecovering)
	}
	return incarnation, recovered, err
}

// readIncarnation is like FolderIncarnation, but accepts a folder whose recovery was interrupted.
func readIncarnation(dir string) (incarnation uint32, recovered bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, incarnationFileName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// Folders of older versions have no file, since there was only one incarnation.
		if _, err := os.Stat(filepath.Join(dir, store.RaftDirName)); err != nil {
			return 0, false, nil
		}
		return 1, false, nil
	case err != nil:
		return 0, false, err
	}
	if n, err := fmt.Sscanf(string(b), "incarnation %d\n", &incarnation); n != 1 || err != nil || incarnation == 0 {
		return 0, false, fmt.Errorf("read the incarnation of the shard from %s: the file has %q instead of a number; "+
			"restore the folder from another replica or a backup",
			filepath.Join(dir, incarnationFileName), b)
	}
	_, err = os.Stat(filepath.Join(dir, recoveredFileName))
	return incarnation, err == nil, nil
}

func setIncarnation(dir string, incarnation uint32) error {
	return putText(dir, incarnationFileName, fmt.Sprintf("incarnation %d\n", incarnation))
}

// putText writes a small file durably and replaces an old one.
func putText(dir, name, text string) error {
	return vfs.Publish(vfs.OS, filepath.Join(dir, name), []byte(text))
}

// checkIncarnation makes sure that the folder holds a replica of the wanted group, or none. The folder of a replica
// of an earlier group is renamed: its rows no longer belong to the shard, but only the operator can decide that they
// are not needed.
func (c *Config) checkIncarnation() error {
	have, _, err := FolderIncarnation(c.Dir)
	switch {
	case err != nil:
		return err
	case have == c.Incarnation:
		return nil
	case have > c.Incarnation:
		return fmt.Errorf("the folder holds a replica of incarnation %d of the shard, the cluster knows incarnation %d: "+
			"if it was recovered on purpose, wait until this node can report it to the cluster",
			have, c.Incarnation)
	case have > 0:
		aside := fmt.Sprintf("%s.incarnation-%d", strings.TrimRight(c.Dir, "/"), have)
		c.Logger.Warn("the folder holds a replica of an earlier incarnation of the shard, whose group was abandoned: "+
			"it is moved aside, and a new replica is created",
			"folder", c.Dir, "to", aside, "incarnation", have, "want", c.Incarnation)
		if err := os.Rename(c.Dir, aside); err != nil {
			return fmt.Errorf("move the replica of incarnation %d aside: %w", have, err)
		}
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	return setIncarnation(c.Dir, c.Incarnation)
}

// Recovery is the result of Recover.
type Recovery struct {
	replica.Copy
	// StateIndex is the last entry whose rows are in the segments.
	StateIndex uint64
	// Before and Incarnation are the old and the new incarnation of the shard.
	Before, Incarnation uint32
	// Unfinished reports whether an earlier Recover of the folder was interrupted.
	Unfinished bool
}

// PeekCopy returns the last log entry and the incarnation of the replica in a shard's folder. It
// changes nothing.
func PeekCopy(dir string, id uint32) (Recovery, error) {
	var r Recovery
	var err error
	if r.Before, _, err = readIncarnation(dir); err != nil {
		return r, err
	}
	// An interrupted Recover may already have written the new number.
	if b, err := os.ReadFile(filepath.Join(dir, recoveringFileName)); err == nil {
		wanted := uint32(0)
		if n, err := fmt.Sscanf(string(b), "incarnation %d\n", &wanted); n != 1 || err != nil || wanted == 0 {
			return r, fmt.Errorf("read the incarnation that recover was creating from %s: the file has %q instead of a number",
				filepath.Join(dir, recoveringFileName), b)
		}
		r.Before, r.Unfinished = wanted-1, true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if r.Before == 0 {
		return r, fmt.Errorf("%s does not hold a replica of a shard; give the folder of a shard", dir)
	}
	st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: dir, ShardID: id})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	if st != nil {
		r.StateIndex = st.AppliedIndex
	}
	r.Copy, err = replica.Peek(filepath.Join(dir, store.RaftDirName), raftlog.WAL)
	return r, err
}

// Recover makes the replica in a shard's folder the only one of a new incarnation of the shard. It
// is for a shard that has lost a majority of its replicas. Rows that only the lost replicas have
// are lost. The folder must not be in use. If Recover is interrupted, the folder cannot be opened
// until it has been called again. See replica.Recover.
func Recover(dir string, id uint32, nodeID string) (Recovery, error) {
	r, err := PeekCopy(dir, id)
	if err == nil {
		err = r.run(dir, id, nodeID, recoverSteps)
	}
	if err != nil {
		return r, fmt.Errorf("shard %d: recover: %w", id, err)
	}
	return r, nil
}

// recoverSteps is the number of steps of Recover.
const recoverSteps = 5

// run carries out the given number of steps of Recover. Tests interrupt Recover by a smaller number.
func (r *Recovery) run(dir string, id uint32, nodeID string, steps int) error {
	cfg := replica.RecoverConfig{Dir: filepath.Join(dir, store.RaftDirName), NodeID: nodeID}
	st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: dir, ShardID: id})
	if err == nil {
		cfg.StateIndex, cfg.StateTerm = st.AppliedIndex, st.AppliedTerm
		cfg.State = func(w io.Writer) error { return writeSnapshot(w, id, st) }
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.Incarnation = r.Before + 1
	text := fmt.Sprintf("made the only replica of incarnation %d by 'cordwood recover' on node %s, "+
		"at entry %d of term %d\n", r.Incarnation, nodeID, max(r.LastIndex, r.StateIndex), r.LastTerm)
	for i, step := range [recoverSteps]func() error{
		func() error { return putText(dir, recoveringFileName, fmt.Sprintf("incarnation %d\n", r.Incarnation)) },
		func() error { _, err := replica.Recover(cfg); return err },
		func() error { return putText(dir, recoveredFileName, text) },
		func() error { return setIncarnation(dir, r.Incarnation) },
		func() error {
			return errors.Join(os.Remove(filepath.Join(dir, recoveringFileName)), vfs.OS.SyncDir(dir))
		},
	} {
		if i == steps {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
