// Package compaction rewrites segments: it merges small ones into large ones, leaves out dead rows,
// and joins rows of one identity in tables that merge rows.
//
// Pick chooses the segments by their sizes and times. Run merges the rows of segments, which are
// sorted, as a stream. Neither uses the manifest: the shard makes the output live and the inputs
// dead in one edit, and removes the files of inputs when they are no longer read.
//
// Run works in the goroutine of its caller and observes a Limiter. It may be called concurrently.
package compaction

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/merge"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// Input is a segment to be merged.
type Input struct {
	Meta *segment.Meta
	Path string
}

// Table describes a table whose rows are to be kept.
type Table struct {
	Def *schema.Table
	// Merge is the merge mode of the output's rows. The rows of the inputs are merged in the same
	// mode, unless Modes returns another mode for the order of an input. If Modes is set, the table
	// has no rows older than the inputs, and its rows are merged.
	Merge query.Merge
	Modes func(order uint64) query.Merge
	// Rows with a time index below Before have expired if they are in segments with an order below
	// Order.
	Before int64
	Order  uint64
	// Within, if not nil, is the time to which rows belong that are taken. All others are left out.
	Within *Within
	// DropDeleted leaves out marks of deletions, because there are no older rows.
	DropDeleted bool
	// NoMarks leaves out the hidden column too, which has been needed for older rows.
	NoMarks bool
	// Own gives the table its own segment although the inputs are shared.
	Own bool
	// Fill has the values that replace nulls of columns, if rows merge in the merged rows.
	Fill []segment.Fill
}

// merges reports whether rows are merged.
func (t *Table) merges() bool { return t.Merge != query.Append || t.Modes != nil }

// Within is a range of the time index, with its last time.
type Within struct{ From, Last int64 }

// Job is a compaction.
type Job struct {
	Config segment.Config
	// Inputs are in ascending order of Meta.Order. Of several with the same order, the first one has the earlier rows.
	// Either all belong to one table, or all are shared.
	Inputs []Input
	// Table returns nil for a table whose rows are dead.
	Table func(id uint64) *Table
	// Abandoned is called with ids from Config.NextID for which no file is written.
	Abandoned func(id uint64)
	// PieceRows, if not 0, is the maximum number of rows of a file of one table. The next row group
	// then goes into another file with the same order. The rows of an identity are in one file.
	PieceRows int64
	// Limiter may be nil.
	Limiter *Limiter
	// emit receives the rows instead of files: see Rows.
	emit func(batches []*column.Batch, rows []segment.RowRef) error
}

// Rows passes to emit the rows of one table, as Run would write them: sorted by tags and time, in
// pieces. job.Table must return nil for all other tables. emit may use its arguments until it
// returns. No file is written.
func Rows(ctx context.Context, job Job, emit func(batches []*column.Batch, rows []segment.RowRef) error) (err error) {
	job.emit = emit
	r := &run{job: job, ctx: ctx, pacer: job.Limiter.pacer(), res: &Result{}, tables: map[uint64]*Table{}}
	defer func() {
		for _, c := range r.cursors {
			err = errors.Join(err, c.close())
		}
	}()
	if err := r.open(); err != nil {
		return err
	}
	for _, t := range r.tables {
		if t == nil {
			continue
		}
		return r.table(t.Def, &output{Spec: segment.Spec{Tables: []segment.TableColumns{{Table: t.Def}}}})
	}
	return nil
}

// Result describes a completed compaction.
type Result struct {
	// Segments are the new segments. There are none if all rows are dead.
	Segments          []segment.Meta
	RowsIn, RowsOut   int64
	RowsCopied        int64 // rows of RowsOut in row groups that were copied without decoding
	BytesIn, BytesOut int64
}

// readBytes is the approximate number of bytes of the inputs that are in memory as batches.
const (
	readBytes   = 16 << 20
	minReadRows = 128
	maxReadRows = 8192
	// inflated is the assumed ratio of the size of rows in memory to their size in a file.
	inflated = 8
)

// Run writes the live rows of the inputs to new segments, whose names are not yet durable. After an
// error it removes its files.
func Run(ctx context.Context, job Job) (res *Result, err error) {
	r := &run{job: job, ctx: ctx, pacer: job.Limiter.pacer(), res: &Result{}, tables: map[uint64]*Table{}}
	defer func() {
		for _, c := range r.cursors {
			err = errors.Join(err, c.close())
		}
		fault := recover()
		if fault != nil {
			defer panic(fault) // after the files have been removed
		} else if err == nil {
			return
		}
		for _, o := range r.outputs {
			if o.w != nil {
				err = errors.Join(err, r.abort(o))
			}
		}
		for i := range r.res.Segments {
			id := r.res.Segments[i].ID
			err = errors.Join(err, job.Config.FS.Remove(filepath.Join(job.Config.Dir, segment.FileName(id))))
			job.Abandoned(id)
		}
		res = nil
	}()
	if err := r.open(); err != nil {
		return nil, err
	}
	for _, t := range r.plan() {
		if err := r.write(t); err != nil {
			return nil, err
		}
	}
	return r.res, nil
}

type run struct {
	job     Job
	ctx     context.Context
	pacer   *pacer
	res     *Result
	tables  map[uint64]*Table
	cursors []*cursor // in ascending order
	outputs []*output

	batches []*column.Batch // batches to which rows refer
	bytes   int64           // bytes of the batches that were added since begin
	modes   []query.Merge   // merge modes of the batches, if the table has Modes
	rows    []segment.RowRef
	id      *merge.Identity
}

// abort abandons a file.
func (r *run) abort(o *output) error {
	w := o.w
	o.w = nil
	r.job.Abandoned(w.ID())
	return w.Abort()
}

// write writes the rows of a table, and completes the file after its last one.
func (r *run) write(t placed) (err error) {
	o := t.out
	if o.w == nil {
		if err = r.create(o); err != nil {
			return err
		}
	}
	if err := r.table(t.Table, o); err != nil {
		return err
	}
	if t.Table.ID != o.last {
		return nil
	}
	if o.rows == 0 {
		return r.abort(o)
	}
	return r.finish(o)
}

// finish completes the current file if there is one.
func (r *run) finish(o *output) error {
	m, err := o.w.Finish()
	if err != nil {
		return err
	}
	o.w, o.rows = nil, 0
	m.Order = o.order
	r.res.Segments = append(r.res.Segments, m)
	r.res.RowsOut += m.Rows
	r.res.BytesOut += m.Bytes
	return nil
}

// cut starts another file if the current one has enough rows. More rows must follow.
func (r *run) cut(o *output) error {
	if r.job.PieceRows == 0 || o.Shared || o.rows < r.job.PieceRows {
		return nil
	}
	if err := r.finish(o); err != nil {
		return err
	}
	return r.create(o)
}

// create starts a file. If that fails, it reports the file's id as abandoned.
func (r *run) create(o *output) error {
	cfg, id := r.job.Config, uint64(0)
	cfg.NextID = func() uint64 { id = r.job.Config.NextID(); return id }
	w, err := segment.NewWriter(cfg, o.Spec)
	if err != nil {
		if id != 0 {
			r.job.Abandoned(id)
		}
		return err
	}
	o.w = w
	return nil
}

// table merges the rows of a table.
func (r *run) table(def *schema.Table, o *output) error {
	t := r.tables[def.ID]
	var list []*cursor
	for _, c := range r.cursors {
		if c.waits && c.meta.TableID == def.ID || c.b != nil && c.b.TableID == def.ID {
			list = append(list, c)
		}
	}
	r.id = merge.NewIdentity(def, nil)
	r.begin(t, list)
	for len(list) > 0 {
		first, second := r.smallest(list)
		if first.waits {
			if err := r.advance(first, second, t, list, o); err != nil {
				return err
			}
			if !first.waits && first.b == nil {
				list = slices.DeleteFunc(list, func(c *cursor) bool { return c == first })
			}
			continue
		}
		if r.full(len(list)) && (t.Merge == query.Append && t.Modes == nil || len(r.rows) == 0 ||
			!r.id.Equal(r.rows[len(r.rows)-1], first.ref())) {
			if err := r.flush(def, t, o); err != nil {
				return err
			}
			r.begin(t, list)
		}
		more, err := r.take(first, second, t)
		if err != nil {
			return err
		}
		if !more {
			list = slices.DeleteFunc(list, func(c *cursor) bool { return c == first })
		}
	}
	return r.flush(def, t, o)
}

// full reports whether the merged rows should be written now.
func (r *run) full(cursors int) bool {
	return len(r.rows) >= maxReadRows || len(r.batches) >= 4*cursors+4 || r.bytes >= readBytes
}

// begin drops the batches that no cursor uses.
func (r *run) begin(t *Table, list []*cursor) {
	r.id.Reset()
	clear(r.batches)
	r.batches, r.modes, r.rows = r.batches[:0], r.modes[:0], r.rows[:0]
	for _, c := range list {
		if !c.waits {
			r.point(t, c)
		}
	}
	r.bytes = 0 // the cursors' batches have to be in memory in any case
}

// point adds the batch of a cursor to the batches to which rows can refer.
func (r *run) point(t *Table, c *cursor) {
	c.at = uint32(len(r.batches))
	r.batches = append(r.batches, c.b)
	r.bytes += int64(len(c.b.Mem))
	if t.Modes != nil {
		r.modes = append(r.modes, t.Modes(c.meta.Order))
	}
	r.id.Add(c.b)
}

// smallest returns the cursors with the smallest row and with the one after it. Of equal rows, the
// one of the earlier input comes first. second is nil if there is only one cursor.
func (r *run) smallest(list []*cursor) (first, second *cursor) {
	for _, c := range list {
		switch {
		case first == nil:
			first = c
		case r.id.Compare(c.ref(), first.ref()) < 0:
			first, second = c, first
		case second == nil || r.id.Compare(c.ref(), second.ref()) < 0:
			second = c
		}
	}
	return first, second
}

// take takes rows from a cursor as long as they come before the row of second. It reports whether
// the cursor has more rows of the table.
func (r *run) take(c, second *cursor, t *Table) (more bool, err error) {
	table := c.b.TableID
	var limit segment.RowRef
	if second != nil {
		limit = second.ref()
	}
	for {
		ref := c.ref()
		if second != nil {
			order := r.id.Compare(ref, limit)
			if order > 0 || order == 0 && c.rank > second.rank {
				return true, nil
			}
		}
		r.rows = append(r.rows, ref)
		c.row++
		if err := r.skip(c, t); err != nil {
			return false, err
		}
		if c.row == c.b.Rows {
			if err := r.load(c); err != nil {
				return false, err
			}
			if c.waits {
				return true, nil
			}
			if c.b == nil || c.b.TableID != table {
				return false, nil
			}
			r.point(t, c)
			return true, nil
		}
		if len(r.rows) >= maxReadRows {
			return true, nil
		}
	}
}

// flush writes the merged rows.
func (r *run) flush(def *schema.Table, t *Table, o *output) error {
	if len(r.rows) == 0 {
		return nil
	}
	read := len(r.rows)
	batches, rows := r.batches, r.rows
	if t.Modes != nil {
		batches, rows = merge.Mixed(def, r.modes, batches, rows)
	} else {
		batches, rows = merge.Sorted(def, t.Merge, batches, rows)
	}
	if t.DropDeleted && t.merges() {
		rows = merge.WithoutDeleted(batches, rows)
	}
	if t.merges() && len(t.Fill) > 0 {
		batches = slices.Clone(batches)
		for i := range batches {
			var err error
			if batches[i], err = filled(batches[i], t.Fill); err != nil {
				return fmt.Errorf("compact segments of table %d: defaults of columns: %w", def.ID, err)
			}
		}
	}
	write := r.job.emit
	if write == nil {
		write = func(batches []*column.Batch, rows []segment.RowRef) error {
			if len(rows) > 0 {
				if err := r.cut(o); err != nil {
					return err
				}
			}
			return o.w.Append(def, batches, rows)
		}
	}
	if err := write(batches, rows); err != nil {
		return err
	}
	o.rows += int64(len(rows))
	return r.pacer.pause(r.ctx, int64(read)*r.res.BytesIn/max(r.res.RowsIn, 1))
}
