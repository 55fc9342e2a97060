package shard

import (
	"errors"
	"path/filepath"

	"cordwood/shard/manifest"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/store"
)

// IsDamaged reports whether err, of Open, says that files of the replica are damaged or
// gone: trying again does not help, the other replicas or a backup do.
func IsDamaged(err error) bool {
	state := (*manifest.ErrCorrupt)(nil)
	return errors.As(err, &state) || errors.Is(err, raftlog.ErrDamaged) || errors.Is(err, errOldManifest)
}

// Diverged says why the replica in a shard's folder has another past than the others of its
// group; it is empty if no such difference was found. See raftlog.Diverged.
func Diverged(dir string) (why string, err error) {
	return raftlog.Diverged(filepath.Join(dir, store.RaftDirName))
}

// MarkDiverged has the replica in a shard's folder made anew; see raftlog.MarkDiverged.
func MarkDiverged(dir, why string) error {
	return raftlog.MarkDiverged(filepath.Join(dir, store.RaftDirName), why)
}

// errOldManifest is why a manifest is taken for damaged although each of its records is
// sound: the log says that there was more.
var errOldManifest = errors.New("the manifest is damaged or was replaced by an older one")
