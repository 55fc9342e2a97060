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

// flushSpace is a flush that is made because there is little room: segments take
// less of it than the log that they replace.
const flushSpace = "space"

// checkDisk refuses a batch of rows while the disk is full. Deletes are let through, because they
// are how room is made, unless the log waits for room already.
func (wr *writer) checkDisk(b *column.Batch) error {
	if wr.replica.LogWaits() {
		wr.metrics.Busy.Inc()
		return errs.New(errs.StorageUnavailable,
			"shard %d: the disk of node %s has no room left, and its log waits for some: nothing can be written; "+
				"remove other files from it, or make it larger",
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
		"shard %d: the disk of node %s is full up to its reserve: no rows are taken until there is room; "+
			"delete or expire data, or make the disk larger",
		wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.Busy).WithRetryAfter(5 * time.Second)
}

// guarded is fsys with a watch over the manifest and the directories: see DESIGN.md.
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
