package iceberg

import (
	"context"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/segment"
)

// This file decides which objects of a table a commit shows.

// chosen are the objects that a commit shows.
type chosen struct {
	files []iceberg.File
	// more means that there are further ones to be added.
	more bool
	// reason is why the present definition cannot be shown. Then files are only those of the last commit, and those into
	// which objects were joined.
	reason string
	left   int64 // rows of objects that cannot be shown
}

// choose decides which objects a commit after prev shows.
func (c *Committer) choose(ctx context.Context, t *schema.Table, version iceberg.Format, prev *iceberg.State,
	f *found,
) (ch chosen, err error) {
	had := map[string]*iceberg.File{}
	if prev != nil {
		had = prev.Shown()
	}
	ch.left = f.shared
	daily := iceberg.Daily(t)
	verdicts := map[*segment.Column]iceberg.Verdict{} // by columns, which objects share
	var fresh, joined []*cold.Object                  // joined are all new ones that were made from others
	for _, o := range f.objects {
		if len(o.Meta.Columns) == 0 {
			return ch, fmt.Errorf("object %s has no columns", o.Key)
		}
		if daily && o.Kind != cold.Day {
			if o.Kind != cold.Merging { // others are waiting for the join of their day
				ch.left += o.Meta.Rows
			}
			continue
		}
		if !daily && o.Kind == cold.Merging { // it may have rows that were replaced
			ch.left += o.Meta.Rows
			continue
		}
		v, ok := verdicts[&o.Meta.Columns[0]]
		if !ok {
			// Nulls of objects were judged by their footers before they were shown.
			v = iceberg.Judge(t, version, o.Meta.Columns, func(uint32) int64 { return 0 })
			verdicts[&o.Meta.Columns[0]] = v
		}
		shown := had[c.location(o.Key)]
		if shown == nil && !v.Left && iceberg.Joined(o) {
			joined = append(joined, o)
		}
		switch {
		case shown == nil && o.Meta.SchemaVersion > t.Version:
			if daily { // it may have come in the place of one that is shown
				ch.reason = "this node does not know the definition of an object yet"
			}
			continue // it waits until this node knows the definition
		case v.Left:
			ch.left += o.Meta.Rows
		case v.Reason != "":
			ch.reason = v.Reason
		case shown == nil:
			fresh = append(fresh, o)
		}
		if shown != nil {
			ch.files = append(ch.files, *shown)
		}
	}
	if ch.reason == "" {
		now := fresh
		if !daily {
			now = c.first(prev, fresh)
		}
		ch.more = len(now) < len(fresh)
		files, reason, err := c.describe(ctx, now, t, version)
		if err != nil {
			return ch, err
		}
		if ch.reason = reason; reason == "" {
			ch.files = append(ch.files, files...)
			return ch, nil
		}
	}
	ch.more = false
	if prev == nil || daily {
		return ch, nil
	}
	files, err := c.held(ctx, t, prev, joined, len(ch.files) < len(had))
	ch.files = append(ch.files, files...)
	return ch, err
}

// first returns the objects that the next commit adds. Those that were joined from others come first, all in one
// commit: the former ones are gone. Readers of changes need not read their rows again.
func (c *Committer) first(prev *iceberg.State, fresh []*cold.Object) []*cold.Object {
	if prev != nil {
		var joined []*cold.Object
		for _, o := range fresh {
			if iceberg.Joined(o) {
				joined = append(joined, o)
			}
		}
		if len(joined) > 0 {
			return joined
		}
	}
	return fresh[:min(len(fresh), c.maxNew)]
}

// held returns those of the joined objects that a table shows which keeps its schema. They fit it if the former objects
// did. gone means that committed objects are gone: then one that does not fit is an error, because rows may be missing
// without it.
func (c *Committer) held(ctx context.Context, t *schema.Table, prev *iceberg.State, joined []*cold.Object,
	gone bool,
) (files []iceberg.File, err error) {
	h := prev.Held()
	if h == nil {
		return nil, nil
	}
	var known []*cold.Object
	for _, o := range joined {
		if h.Knows(o) {
			known = append(known, o)
		}
	}
	files = make([]iceberg.File, len(known))
	err = c.footers(ctx, known, func(i int, md *format.FileMetaData) error {
		o := known[i]
		if h.Fits(o.Meta.Columns, iceberg.Nulls(md)) {
			files[i] = iceberg.NewFile(o, c.location(o.Key), md, h.Schema, t.TimeIndex().Type)
		} else if gone {
			return fmt.Errorf("object %s, into which others were joined, does not fit the schema %d that was committed; "+
				"unset the table option iceberg, wait for --object-storage-iceberg-every, and set it again", o.Key, h.Schema.ID)
		}
		return nil
	})
	return slices.DeleteFunc(files, func(f iceberg.File) bool { return f.Path == "" }), err
}

// describe reads the footers of objects. reason is why the table cannot be shown with one of them.
func (c *Committer) describe(ctx context.Context, objects []*cold.Object, t *schema.Table, version iceberg.Format) (
	files []iceberg.File, reason string, err error,
) {
	s := iceberg.NewSchema(t, version, nil)
	files = make([]iceberg.File, len(objects))
	reasons := make([]string, len(objects))
	err = c.footers(ctx, objects, func(i int, md *format.FileMetaData) error {
		o := objects[i]
		reasons[i] = iceberg.Judge(t, version, o.Meta.Columns, iceberg.Nulls(md)).Reason
		files[i] = iceberg.NewFile(o, c.location(o.Key), md, s, t.TimeIndex().Type)
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	for _, r := range reasons {
		if r != "" {
			return nil, r, nil
		}
	}
	return files, "", nil
}

// footers reads the footers of objects, and calls take concurrently with the index of each.
func (c *Committer) footers(ctx context.Context, objects []*cold.Object,
	take func(i int, md *format.FileMetaData) error,
) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(filesAtOnce)
	for i, o := range objects {
		g.Go(func() error {
			length := o.Meta.Bytes - o.TailOffset
			tail, err := c.cfg.Bucket.Range(ctx, o.Key, bucket.Range{
				Offset: o.TailOffset, Length: length, ObjectSize: o.Meta.Bytes,
				Parts: []bucket.Part{{Offset: o.TailOffset, Length: length, CRC: o.TailCRC}},
			})
			if err != nil {
				return err
			}
			md, err := iceberg.Footer(o, tail)
			if err != nil {
				return fmt.Errorf("object %s: %w", o.Key, err)
			}
			return take(i, md)
		})
	}
	return g.Wait()
}
