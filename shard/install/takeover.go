package install

import (
	"errors"
	"io/fs"
	"path/filepath"

	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// This file has the steps by which a shard takes over the state that was fetched.

// Open looks at what an earlier process fetched, so that ids that it gave are not given again. base
// is the applied index of the manifest. It returns up to which index the manifest may be ahead of
// the log.
func (n *Installer) Open(base uint64) (ahead uint64, err error) {
	st, err := n.folder.state()
	if err != nil {
		return 0, err
	}
	if st != nil {
		n.cfg.IDs.Raise(st.NextSegmentID)
		if st.AppliedIndex <= base { // it was taken over, or is of no use any more
			if err := n.folder.clear(); err != nil {
				return 0, err
			}
		}
	}
	return n.folder.ahead()
}

// Arrived returns the complete state that was fetched; nil if there is none.
func (n *Installer) Arrived() (*manifest.State, error) { return n.folder.state() }

// SetAhead notes on disk that the manifest may be ahead of the log up to an index.
func (n *Installer) SetAhead(index uint64) error { return n.folder.setAhead(index) }

// MoveIn moves the files of fetched segments into the folder of the segments in use, except those
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

// Clear empties the folder after its state was taken over.
func (n *Installer) Clear() {
	if err := n.folder.clear(); err != nil {
		n.cfg.Logger.Warn("what was fetched from another replica stays behind until the next start", "error", err)
	}
}

// Forget removes what was fetched and never taken over, if the replica has caught up by the log
// alone.
func (n *Installer) Forget(caughtUp func() bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.job != nil || !n.folder.leftover() || !caughtUp() {
		return
	}
	if err := n.folder.clear(); err != nil {
		n.cfg.Logger.Warn("what was fetched from another replica and is not needed stays behind", "error", err)
	}
}
