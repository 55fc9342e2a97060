package shard

import (
	"errors"
	"path/filepath"

	"cordwood/shard/manifest"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/store"
)

// IsDamaged reports whether err, from Open, means that files of the replica are damaged or missing.
// Opening again does not help; the files must come from other replicas or a backup.
func IsDamaged(err error) bool {
	state := (*manifest.ErrCorrupt)(nil)
	return errors.As(err, &state) || errors.Is(err, raftlog.ErrDamaged) || errors.Is(err, errOldManifest)
}

// Diverged returns why the log of the replica in a shard's folder contradicts the logs of the other
// replicas. It is empty if no contradiction was found. See raftlog.Diverged.
func Diverged(dir string) (why string, err error) {
	return raftlog.Diverged(filepath.Join(dir, store.RaftDirName))
}

// MarkDiverged records that the replica in a shard's folder must be replaced; see
// raftlog.MarkDiverged.
func MarkDiverged(dir, why string) error {
	return raftlog.MarkDiverged(filepath.Join(dir, store.RaftDirName), why)
}

// errOldManifest is the error for a manifest that counts as damaged although each of its records is
// intact: the log shows that records are missing.
var errOldManifest = errors.New("the manifest is damaged or was replaced by an older one")
