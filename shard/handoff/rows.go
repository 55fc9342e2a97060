package handoff

import (
	"context"
	"fmt"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

// round sends the rows of the segments that were added since the last round, or of all segments in
// the first round. For a table that merges rows, it sends one row of each identity.
func (h *tableCopy) round(ctx context.Context, first bool) error {
	job, objects, live, err := h.job(first)
	defer func() {
		for _, l := range live {
			l.Unref()
		}
	}()
	if err != nil || len(live)+len(objects) == 0 {
		return err
	}
	rows, size := int64(0), int64(0)
	for i := range objects {
		o := &objects[i]
		rows += o.Span.Rows
		size += int64(float64(o.Meta.Bytes) * float64(o.Span.Rows) / float64(max(o.Meta.Rows, 1)))
	}
	for _, l := range live {
		rows += l.Span(h.table).Rows
		size += l.BytesOf(h.table)
	}
	h.mu.Lock()
	before := h.state.Done
	h.state.Total = before + size
	h.mu.Unlock()
	t := job.Table(h.table)
	split := newSplitter(h, t)
	read := int64(0)
	send := func(batches []*column.Batch, refs []segment.RowRef) error {
		read += int64(len(refs))
		h.mu.Lock()
		h.state.Done = before + int64(float64(size)*float64(min(read, rows))/float64(max(rows, 1)))
		h.mu.Unlock()
		return split.add(ctx, batches, refs)
	}
	for _, s := range steps(job, t, objects, h.of.cfg.MergedBytes) {
		if err = h.take(ctx, *job, &s, send); err != nil {
			break
		}
	}
	if err == nil {
		err = split.finish(ctx)
	}
	if err == nil {
		if len(live) > 0 {
			h.through = live[len(live)-1].Order
		}
		h.mu.Lock()
		h.state.Done = before + size
		h.mu.Unlock()
	}
	if err != nil && store.IsDamage(err) {
		h.of.cfg.Store.Scrub.FindDamaged(live)
	}
	return err
}

// rowsFunc takes rows of batches.
type rowsFunc = func(batches []*column.Batch, refs []segment.RowRef) error

// job returns the segments to read in ascending order, each with a reference.
func (h *tableCopy) job(first bool) (job *compaction.Job, objects []store.ColdObject,
	live []*store.LiveSegment, err error,
) {
	t := h.source.Since(h.through, first)
	live = t.Segments
	if t.Dropped {
		return nil, nil, live, store.TableGone(h.of.cfg.ShardID, h.table)
	}
	// The rows here are merged by the shard's definition, and the copy must be merged in the same
	// way. The copy learns of a newer definition when this shard does, or when it becomes the
	// table.
	d := t.Def
	if d == nil {
		d = h.given
	}
	switch {
	case first:
		h.merge, h.eras = d.Merge, len(t.Eras)
	case h.merge != d.Merge || h.eras != len(t.Eras):
		return nil, nil, live,
			fmt.Errorf("the merge mode of table %q changed: it has to be copied again from the start", d.Name)
	}
	if t.Raw {
		return nil, nil, live, fmt.Errorf("rows of table %q cannot be written to segments, and would be lost: "+
			"start a newer version, or drop the table", d.Name)
	}
	if objects, err = h.objectsFor(&t, first); err != nil {
		return nil, nil, live, err
	}
	for _, l := range live {
		if l.Damage.Load() != nil {
			return nil, nil, live, fmt.Errorf("segment %s is damaged: rows of table %q would be lost; replace the replica, "+
				"or abandon its rows", l.Path, d.Name)
		}
	}
	table := &compaction.Table{
		Def:    d.Table,
		Merge:  d.Merge,
		Before: t.Expired.Before,
		Order:  t.Expired.Order,
		// The rows of objects are sent before, and merge when they arrive, unless they are of a former merge mode.
		DropDeleted: first && (len(objects) == 0 || len(t.Eras) > 0),
	}
	if first && len(t.Eras) > 0 {
		table.Modes = func(order uint64) query.Merge { return t.Eras.Segment(order, d.Merge) }
	}
	job = &compaction.Job{
		Config: h.of.cfg.Segments,
		Table: func(id uint64) *compaction.Table {
			if id == h.table {
				return table
			}
			return nil
		},
	}
	for _, l := range live {
		job.Inputs = append(job.Inputs, compaction.Input{Meta: &l.Meta, Path: l.Path})
	}
	return job, objects, live, nil
}

// The size of a batch that is sent, in rows and, about, in bytes.
const (
	batchRows  = 8192
	batchBytes = 1 << 20
)

// splitter puts rows into a builder for each target shard.
type splitter struct {
	h     *tableCopy
	table *schema.Table
	def   *copyDef
	// part returns the shard for a row of a table that merges rows. It is nil if the table keeps
	// every row, and the shards then get the batches in turn.
	part  *column.Partitioner
	turn  int
	parts []*column.Builder
	cols  []map[uint32]*column.Col // columns of parts, by id
	views []map[uint32]*column.View
	// types are the types of the table's columns, by id; rows may have narrower ones.
	types map[uint32]schema.Type
}

func newSplitter(h *tableCopy, t *compaction.Table) *splitter {
	n := len(h.copy.Shards)
	s := &splitter{
		h: h, table: t.Def, def: newCopyDef(t.Def, h.copy),
		types: map[uint32]schema.Type{schema.DeletedColumnID: schema.DeletedColumn().Type},
	}
	if !t.Def.AppendMode() {
		s.part = column.NewPartitioner(t.Def, n)
	}
	for i := range t.Def.Columns {
		s.types[t.Def.Columns[i].ID] = t.Def.Columns[i].Type
	}
	for range n {
		s.parts = append(s.parts, nil)
		s.cols = append(s.cols, nil)
	}
	return s
}

// add adds rows, which are sorted by tags and time, so that many consecutive rows belong to the
// same batch.
func (s *splitter) add(ctx context.Context, batches []*column.Batch, refs []segment.RowRef) error {
	s.views = s.views[:0]
	for _, b := range batches {
		byID := make(map[uint32]*column.View, len(b.Cols))
		for i := range b.Cols {
			v := &b.Cols[i]
			if s.keeps(v) {
				byID[v.ID] = v
			}
		}
		s.views = append(s.views, byID)
	}
	used := -1
	for _, r := range refs {
		if int(r.Batch) != used {
			used = int(r.Batch)
			s.use(s.views[used])
		}
		at := s.turn
		if s.part != nil {
			at = s.part.Of(int(r.Row))
		}
		s.copyRow(at, s.views[used], int(r.Row))
		if b := s.parts[at]; b.Rows() >= batchRows || b.Rows()&127 == 0 && b.ByteSize() >= batchBytes {
			if err := s.send(ctx, at); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// use makes the partitioner read the rows of a batch.
func (s *splitter) use(views map[uint32]*column.View) {
	if s.part == nil {
		return
	}
	s.part.Use(func(id uint32) column.Values {
		if v := views[id]; v != nil {
			return v
		}
		return nil
	})
}

// keeps reports whether a column is copied: it belongs to the table, or marks deleted rows.
func (s *splitter) keeps(v *column.View) bool {
	if v.ID == schema.DeletedColumnID {
		return !s.table.AppendMode()
	}
	return v.Type.Widens(s.types[v.ID]) != schema.WidensNever
}

func (s *splitter) copyRow(at int, views map[uint32]*column.View, row int) {
	b := s.parts[at]
	if b == nil {
		b = &column.Builder{}
		s.parts[at], s.cols[at] = b, map[uint32]*column.Col{}
		// The time index comes first.
		s.cols[at][s.table.TimeIndex().ID] = b.Add(*s.table.TimeIndex())
	}
	for id, v := range views {
		if v.IsNull(row) {
			continue
		}
		c := s.cols[at][id]
		if c == nil {
			c = b.Add(schema.Column{ID: id, Type: s.types[id], Semantic: schema.Field})
			s.cols[at][id] = c
		}
		c.SetFrom(b.Rows(), v, row)
	}
	b.EndRow()
}

// send passes the rows for a shard to its target.
func (s *splitter) send(ctx context.Context, at int) error {
	b := s.parts[at]
	if b == nil || b.Rows() == 0 {
		return nil
	}
	s.parts[at] = nil
	s.turn = (s.turn + 1) % len(s.parts)
	b.Finish()
	return s.h.targets[at].push(ctx, s.def, b)
}

// finish sends the remaining rows, and waits until the shards have all rows.
func (s *splitter) finish(ctx context.Context) error {
	for at := range s.parts {
		if err := s.send(ctx, at); err != nil {
			return err
		}
	}
	for _, t := range s.h.targets {
		if err := t.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}
