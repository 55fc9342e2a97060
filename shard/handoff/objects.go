package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/words"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/object"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// This file reads rows that are only in object storage. An object is fetched as a whole, past the cache, to a file
// that is removed when its rows were sent. A shard has one such file at a time, except for rows of a former merge
// mode: these have to be merged before they are sent, since the copy does not merge them. That is done for a range of
// times after the other (spans.go).

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
	}
	return t.Objects, nil
}

// step is a part of a round: rows that are merged with each other before they are sent.
type step struct {
	objects []store.ColdObject
	inputs  []compaction.Input
	// span has the times of the rows that are sent.
	span span
}

// steps divides the segments of a job, and objects, both in the order of the writes. If the table keeps every row, no
// rows are compared, so that the memory does not grow with the number of segments. The rows of tables that merge are
// sent in the order of the writes, and merge once more when they arrive. Rows of former merge modes are divided so that
// about merged bytes of objects are fetched for a step.
func steps(job *compaction.Job, t *compaction.Table, objects []store.ColdObject, merged int64) (list []step) {
	inputs := job.Inputs
	switch {
	case t.Modes != nil:
		var merging []store.ColdObject
		for i := range objects {
			if t.Modes(objects[i].Order) == query.Append {
				list = append(list, step{objects: objects[i : i+1], span: always})
			} else {
				merging = append(merging, objects[i])
			}
		}
		for _, s := range divide(merging, merged) {
			list = append(list, s.within(t.Def.ID, merging, inputs))
		}
		return list
	case t.Merge != query.Append:
		for i := range objects {
			n := 0
			for n < len(inputs) && inputs[n].Meta.Order <= objects[i].Order {
				n++
			}
			list = append(list, step{inputs: inputs[:n], span: always}, step{objects: objects[i : i+1], span: always})
			inputs = inputs[n:]
		}
		return append(list, step{inputs: inputs, span: always})
	}
	for i := range objects {
		list = append(list, step{objects: objects[i : i+1], span: always})
	}
	for i := range inputs {
		list = append(list, step{inputs: inputs[i : i+1], span: always})
	}
	return list
}

// take sends the rows of a step.
func (h *tableCopy) take(ctx context.Context, job compaction.Job, s *step, send rowsFunc) (err error) {
	job.Inputs = s.inputs
	if len(s.objects) > 0 {
		var done func() error
		if done, err = h.fetch(ctx, s.objects, &job.Inputs); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, done()) }()
	}
	if len(job.Inputs) == 0 {
		return nil
	}
	if s.span == always {
		return compaction.Rows(ctx, job, send)
	}
	return compaction.Rows(ctx, job, func(batches []*column.Batch, refs []segment.RowRef) error {
		// A clone, because the list is used again.
		return send(batches, slices.DeleteFunc(slices.Clone(refs), func(r segment.RowRef) bool {
			return r.Time < s.span.from || r.Time > s.span.to
		}))
	})
}

// fetch reads objects to files, and adds them to the inputs, which are in the order of the writes. done removes the
// files. Until then, no other table of the shard has such files.
func (h *tableCopy) fetch(ctx context.Context, objects []store.ColdObject, inputs *[]compaction.Input) (
	done func() error, err error,
) {
	x := h.of
	select {
	case x.object <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var files []compaction.Input
	done = func() (err error) {
		for i := range files {
			err = errors.Join(err, x.cfg.Segments.FS.Remove(files[i].Path))
		}
		<-x.object
		return err
	}
	for i := range objects {
		if i > 0 && x.cfg.Room != nil && !x.cfg.Room() {
			return nil, errors.Join(noRoom(h.table, objects), done())
		}
		m := objects[i].Meta
		m.ID, m.Order = uint64(i), objects[i].Order
		path, err := h.fetchOne(ctx, &objects[i], m.FileName())
		if err != nil {
			return nil, errors.Join(err, done())
		}
		files = append(files, compaction.Input{Meta: &m, Path: path})
	}
	*inputs = slices.Concat(files, *inputs)
	slices.SortStableFunc(*inputs, func(a, b compaction.Input) int { return cmp.Compare(a.Meta.Order, b.Meta.Order) })
	return done, nil
}

// noRoom is the error if several objects do not fit on the local disk.
func noRoom(table uint64, objects []store.ColdObject) error {
	bytes := int64(0)
	for i := range objects {
		bytes += objects[i].Meta.Bytes
	}
	return fmt.Errorf("rows of table %d from before its merge mode changed are in %s of object storage that have to be "+
		"on the local disk at once (%d bytes), and the disk has little space", table, words.Count(len(objects), "object"),
		bytes)
}

// fetchOne reads an object to a file. While object storage does not answer or refuses access, it waits.
func (h *tableCopy) fetchOne(ctx context.Context, o *store.ColdObject, name string) (path string, err error) {
	fsys, dir := h.of.cfg.Segments.FS, filepath.Join(h.of.cfg.Dir, DirName)
	if err := fsys.MkdirAll(dir); err != nil {
		return "", err
	}
	path = filepath.Join(dir, name)
	for pause := objectPause; ; pause = min(2*pause, maxObjectPause) {
		err := h.tryFetch(ctx, fsys, path, o)
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

// tryFetch reads an object to a file, and removes the file after an error.
func (h *tableCopy) tryFetch(ctx context.Context, fsys vfs.FS, path string, o *store.ColdObject) (err error) {
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
