package compaction

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// cursor reads one input.
type cursor struct {
	in   Input
	meta *segment.Meta
	// rank is the position among the inputs. Of equal rows, the one with the higher rank is later.
	rank int
	r    *segment.Reader // nil before the first row is read and after the last
	// lazy means that reading may be delayed: all rows of its file belong to one table and are
	// compared with other rows only by their times, or there are no other rows.
	lazy bool
	// waits means that the cursor's next row, which has the time from, has not been read, and that
	// nothing has to be read before its turn comes. next is the row group that starts with that
	// row, if it is known.
	waits bool
	from  int64
	next  *segment.Group
	chunk int // number of rows to read at once
	b     *column.Batch
	times *column.View
	row   int
	at    uint32 // index of b in the run's batches
}

func (r *run) open() error {
	for i, in := range r.job.Inputs {
		c := &cursor{in: in, meta: in.Meta, rank: i}
		r.cursors = append(r.cursors, c)
		row := max(in.Meta.Bytes*inflated/max(in.Meta.Rows, 1), 1)
		c.chunk = int(min(max(readBytes/int64(len(r.job.Inputs))/row, minReadRows), maxReadRows))
		r.res.BytesIn += in.Meta.Bytes
		r.res.RowsIn += in.Meta.Rows
		for _, id := range tableIDs(in.Meta) {
			if _, known := r.tables[id]; !known {
				r.tables[id] = r.job.Table(id)
			}
		}
		t := r.tables[in.Meta.TableID]
		if c.lazy = r.job.emit == nil && !in.Meta.Shared() && t != nil &&
			(len(t.Def.Tags()) == 0 || len(r.job.Inputs) == 1); c.lazy {
			c.waits, c.from = true, in.Meta.MinTime
			continue
		}
		if err := r.openChecked(c); err != nil {
			return err
		}
		if err := r.load(c); err != nil {
			return err
		}
	}
	return nil
}

// openChecked opens an input after checking the whole file. Copied row groups are not checked again, and filters
// and indexes are never read. The file is removed afterwards, so damage could not be found later.
func (r *run) openChecked(c *cursor) (err error) {
	if err := segment.Check(r.job.Config.FS, filepath.Dir(c.in.Path), c.meta, true); err != nil {
		return err
	}
	c.r, err = segment.Open(r.job.Config.FS, c.in.Path, c.meta)
	return err
}

// close releases the reader's memory and file.
func (c *cursor) close() error {
	if c.r == nil {
		return nil
	}
	err := c.r.Close()
	c.r = nil
	return err
}

// advance continues a waiting cursor whose turn has come. It determines the next row group and
// skips it, copies it, or reads its first rows. second is the other cursor with the smallest row,
// or nil. If the cursor neither waits nor has rows afterwards, it is done.
func (r *run) advance(c, second *cursor, t *Table, list []*cursor, o *output) error {
	if c.next == nil {
		if c.r == nil {
			if err := r.openChecked(c); err != nil {
				return err
			}
		}
		if g, ok := c.r.NextGroup(); ok && g.Timed {
			c.next, c.from = &g, g.MinTime
			return nil // it may no longer be its turn
		}
	} else {
		g := c.next
		c.next = nil
		if c.meta.Order < t.Order && g.MaxTime < t.Before || !t.Within.some(g.MinTime, g.MaxTime) {
			c.r.SkipGroup()
			return r.ctx.Err()
		}
		if r.mayCopy(c, second, g, t, o) {
			if copied, err := r.copyOrDivide(c, g, t, list, o); copied || err != nil {
				return err
			}
		}
	}
	c.waits = false
	if err := r.load(c); err != nil || c.b == nil || c.waits {
		return err
	}
	r.point(t, c)
	return nil
}

// mayCopy reports whether no row of the next row group of an input has to be merged with other rows, left out or
// changed.
func (r *run) mayCopy(c, second *cursor, g *segment.Group, t *Table, o *output) bool {
	if c.meta.Order < t.Order && g.MinTime < t.Before || len(t.Fill) > 0 || !t.Within.all(g.MinTime, g.MaxTime) ||
		!o.w.CanCopy(c.r) {
		return false
	}
	if len(r.job.Inputs) == 1 {
		// The rows of the group are merged already, but some marks of deletions may be dropped.
		return t.Merge == query.Append || !t.DropDeleted ||
			!slices.ContainsFunc(c.meta.Columns, func(c segment.Column) bool { return c.ID == schema.DeletedColumnID })
	}
	return t.Merge == query.Append && t.Modes == nil && (second == nil || g.MaxTime < second.ref().Time)
}

// copyOrDivide copies a row group after the merged rows, unless the output would get a small row group. If the merged
// rows would be the small one, the output divides them and this row group, which will be decoded, into two row groups
// of the same size, so that the row groups after it can be copied. Each row group adds to the cost of queries.
func (r *run) copyOrDivide(c *cursor, g *segment.Group, t *Table, list []*cursor, o *output) (copied bool, err error) {
	if err := r.flush(o.table(t), t, o); err != nil {
		return false, err
	}
	r.begin(t, list)
	staged, most := o.w.Staged(), o.w.GroupRows()
	switch {
	case len(r.job.Inputs) == 1: // nothing can be joined with a small row group
	case g.Rows < int64(most/2):
		return false, nil
	case staged > 0 && staged < most/4:
		o.w.EndGroupAt((staged + int(g.Rows) + 1) / 2)
		return false, nil
	}
	if err := r.cut(o); err != nil {
		return false, err
	}
	if err := o.w.CopyGroup(c.r); err != nil {
		return false, err
	}
	o.rows += g.Rows
	r.res.RowsCopied += g.Rows
	return true, r.pacer.pause(r.ctx, g.Rows*r.res.BytesIn/max(r.res.RowsIn, 1))
}

// load reads the next rows of an input. At the start of the next row group, the cursor may wait
// instead.
func (r *run) load(c *cursor) error {
	for {
		if c.lazy && c.b != nil {
			if g, ok := c.r.NextGroup(); ok && g.Timed {
				c.b, c.times, c.waits, c.next, c.from = nil, nil, true, &g, g.MinTime
				return nil
			}
		}
		b, err := c.r.Next(c.chunk)
		if errors.Is(err, io.EOF) {
			c.b, c.times = nil, nil
			return c.close()
		}
		if err != nil {
			return err
		}
		t := r.tables[b.TableID]
		if t == nil || b.Rows == 0 {
			continue
		}
		times := b.Column(t.Def.TimeIndex().ID)
		if times == nil {
			return fmt.Errorf("compact segment %s: rows of table %d have no time index", segment.FileName(c.meta.ID), b.TableID)
		}
		if !t.merges() {
			if b, err = filled(b, t.Fill); err != nil {
				return fmt.Errorf("compact segment %s: defaults of columns: %w", segment.FileName(c.meta.ID), err)
			}
		}
		c.b, c.row, c.times = b, 0, times
		if !r.expired(c, t) {
			return nil
		}
		if err := r.skip(c, t); err != nil || c.b == nil || c.row < c.b.Rows {
			return err
		}
	}
}

// expired reports whether the row of a cursor has expired, or is left out because of its time.
func (r *run) expired(c *cursor, t *Table) bool {
	at := c.times.Int(c.row)
	return c.meta.Order < t.Order && at < t.Before || !t.Within.all(at, at)
}

// all reports whether all times from min to max are in a range.
func (w *Within) all(low, high int64) bool { return w == nil || w.From <= low && high <= w.Last }

// some reports whether some of the times from min to max are in a range.
func (w *Within) some(low, high int64) bool { return w == nil || w.From <= high && low <= w.Last }

// skip moves to the next row of the batch that has not expired, or to the end of the batch.
func (r *run) skip(c *cursor, t *Table) error {
	for c.row < c.b.Rows && r.expired(c, t) {
		c.row++
	}
	return r.ctx.Err()
}

// ref returns the next row. For a cursor that waits only the time is set.
func (c *cursor) ref() segment.RowRef {
	if c.waits {
		return segment.RowRef{Time: c.from}
	}
	return segment.RowRef{Time: c.times.Int(c.row), Batch: c.at, Row: uint32(c.row)}
}
