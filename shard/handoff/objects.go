package handoff

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/object"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// This file reads rows that are only in object storage. An object is fetched as a whole, past the cache, to a file that
// is removed when its rows were sent. A shard has one such file at a time.

// DirName is the folder of fetched objects, below the folder of the shard. A start of the shard empties it.
const DirName = "copying"

// objectPause is the first pause after object storage did not answer. The pauses grow up to maxObjectPause.
const objectPause, maxObjectPause = time.Second, 30 * time.Second

// objectsFor returns the objects to read in a round. The first round reads all. Later rounds read none: since the copy
// began, segments stay although their rows are in objects.
func (h *tableCopy) objectsFor(t *store.CopiedTable, first bool) ([]store.ColdObject, error) {
	if !first {
		for i := range t.Objects {
			if t.Objects[i].Cut > h.cut {
				return nil, fmt.Errorf("segments of table %d went while they were copied: begin again", h.table)
			}
		}
		return nil, nil
	}
	h.cut = t.Cut
	switch {
	case len(t.Objects) == 0:
		return nil, nil
	case h.of.cfg.Bucket == nil:
		return nil, fmt.Errorf("rows of table %d are only in object storage, and this server has none: start it with the "+
			"settings of object storage that the other servers have", h.table)
	case t.Def == nil || t.Def.Merge != query.Append:
		return nil, fmt.Errorf("rows of table %d are in object storage, although it merges rows", h.table)
	}
	return t.Objects, nil
}

// copyObject sends the rows that an object has of the table. job is a job of the table without inputs.
func (h *tableCopy) copyObject(ctx context.Context, job compaction.Job, o *store.ColdObject, send rowsFunc) (
	err error,
) {
	x := h.of
	select {
	case x.object <- struct{}{}:
		defer func() { <-x.object }()
	case <-ctx.Done():
		return ctx.Err()
	}
	path, err := h.fetch(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.cfg.Segments.FS.Remove(path)) }()
	m := o.Meta
	m.Order = o.Order
	job.Inputs = []compaction.Input{{Meta: &m, Path: path}}
	return compaction.Rows(ctx, job, send)
}

// fetch reads an object to a file. While object storage does not answer or refuses access, it waits.
func (h *tableCopy) fetch(ctx context.Context, o *store.ColdObject) (path string, err error) {
	fsys, dir := h.of.cfg.Segments.FS, filepath.Join(h.of.cfg.Dir, DirName)
	if err := fsys.MkdirAll(dir); err != nil {
		return "", err
	}
	path = filepath.Join(dir, o.Meta.FileName()) // a check looks for this name
	for pause := objectPause; ; pause = min(2*pause, maxObjectPause) {
		err := h.fetchOnce(ctx, fsys, path, o)
		if err == nil {
			h.setWaits("")
			return path, nil
		}
		kind, known := bucket.KindOf(err)
		if !known || kind != bucket.Unavailable && kind != bucket.Throttled && kind != bucket.Forbidden || ctx.Err() != nil {
			return "", fmt.Errorf("read an object of table %d: %w", h.table, err)
		}
		h.setWaits(fmt.Sprintf("object storage: %s", err))
		if h.orphan() {
			return "", errOrphan
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// fetchOnce reads an object to a file, and removes the file after an error.
func (h *tableCopy) fetchOnce(ctx context.Context, fsys vfs.FS, path string, o *store.ColdObject) (err error) {
	f, err := fsys.Create(path)
	if err != nil {
		return err
	}
	err = object.Copy(ctx, h.of.cfg.Bucket, o.Object, 0, func(b []byte) error {
		if err := h.of.cfg.Rate.Wait(ctx, len(b)); err != nil {
			return err
		}
		_, err := f.Write(b)
		return err
	})
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, fsys.Remove(path))
	}
	return nil
}
