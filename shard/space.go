package shard

import (
	"path/filepath"
	"strings"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/manifest"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// flushSpace is the reason of a flush that is made because the disk is almost full: segments need
// less space than the log that they replace.
const flushSpace = "space"

// checkDisk refuses a batch of rows while the disk is full. It admits deletes, because they free
// space, unless the log already waits for space.
func (wr *writer) checkDisk(b *column.Batch) error {
	if wr.replica.LogWaits() {
		wr.metrics.Busy.Inc()
		return errs.New(errs.StorageUnavailable,
			"shard %d: write: the disk of node %s is full, and its log waits for space; "+
				"remove other files from the disk, or enlarge it",
			wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.Busy).WithRetryAfter(5 * time.Second)
	}
	if wr.cfg.Space() != store.SpaceFull {
		return nil
	}
	for i := range b.Cols {
		if b.Cols[i].ID == schema.DeletedColumnID {
			return nil
		}
	}
	wr.metrics.Busy.Inc()
	return errs.New(errs.StorageUnavailable,
		"shard %d: write: the disk of node %s is full up to its reserve, and it takes no rows until there is space; "+
			"delete data, shorten the ttl of tables, or enlarge the disk",
		wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.Busy).WithRetryAfter(5 * time.Second)
}

// guarded returns fsys with a watchdog for the manifest and the directories: see DESIGN.md.
func (c Config) guarded(fsys vfs.FS) vfs.FS {
	return vfs.Guard(fsys, vfs.GuardConfig{
		Fatal:    func(name string) bool { return strings.HasPrefix(filepath.Base(name), manifest.FileName) },
		Deadline: c.LogDeadline,
		Fail: func(err error) {
			if c.FailStop != nil {
				c.FailStop(err)
			}
		},
	})
}
