package install

import (
	"errors"
	"io/fs"
	"path/filepath"

	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// This file contains the steps by which a shard adopts a fetched state.

// Open checks the files that an earlier process fetched, so that the ids that it assigned are not
// reused. base is the applied index of the manifest. Open returns the index up to which the
// manifest may be ahead of the log.
func (n *Installer) Open(base uint64) (ahead uint64, err error) {
	st, err := n.folder.state()
	if err != nil {
		return 0, err
	}
	if st != nil {
		n.cfg.IDs.Raise(st.NextSegmentID)
		if st.AppliedIndex <= base { // the state was adopted, or is no longer useful
			if err := n.folder.clear(); err != nil {
				return 0, err
			}
		}
	}
	return n.folder.ahead()
}

// Arrived returns the complete fetched state, or nil if there is none.
func (n *Installer) Arrived() (*manifest.State, error) { return n.folder.state() }

// SetAhead records on disk the index up to which the manifest may be ahead of the log.
func (n *Installer) SetAhead(index uint64) error { return n.folder.setAhead(index) }

// MoveIn moves the files of fetched segments to the folder of the segments in use, except those
// that were moved before a crash, and makes the names durable.
func (n *Installer) MoveIn(segments []segment.Meta, dir string) error {
	for i := range segments {
		m := &segments[i]
		err := n.cfg.FS.Rename(n.folder.path(m.FileName()), filepath.Join(dir, m.FileName()))
		if errors.Is(err, fs.ErrNotExist) {
			err = segment.Check(n.cfg.FS, dir, m, false)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range []string{dir, n.folder.dir} {
		if err := n.cfg.FS.SyncDir(d); err != nil {
			return err
		}
	}
	return nil
}

// Clear empties the folder after its state was adopted.
func (n *Installer) Clear() {
	if err := n.folder.clear(); err != nil {
		n.cfg.Logger.Warn("could not remove the fetched files of another replica; the next start removes them", "error", err)
	}
}

// Forget removes a fetched state that was never adopted because the replica caught up by the log
// alone.
func (n *Installer) Forget(caughtUp func() bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.job != nil || !n.folder.hasFiles() || !caughtUp() {
		return
	}
	if err := n.folder.clear(); err != nil {
		n.cfg.Logger.Warn("could not remove unneeded files fetched from another replica", "error", err)
	}
}
