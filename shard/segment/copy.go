package segment

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// Group describes a row group that a Reader has not started to read.
type Group struct {
	Rows int64
	// MinTime and MaxTime are the bounds of the time index, in its unit, if Timed is set.
	MinTime, MaxTime int64
	Timed            bool
}

// NextGroup returns the row group with which Next would start. ok is false in the middle of a row
// group, after the last one, and in shared files, whose row groups have rows of several tables.
func (r *Reader) NextGroup() (g Group, ok bool) {
	if r.err != nil || r.rows > 0 || r.left == 0 || r.m.Shared() || r.group+1 >= len(r.md.RowGroups) {
		return g, false
	}
	rg := &r.md.RowGroups[r.group+1]
	if rg.NumRows <= 0 || rg.NumRows > r.left {
		return g, false // Next returns the error
	}
	g.Rows = rg.NumRows
	for i := range r.m.Columns {
		c := &r.m.Columns[i]
		if c.Semantic != schema.Timestamp {
			continue
		}
		md := &rg.Columns[i].MetaData
		if lo, hi := md.Statistics.MinValue, md.Statistics.MaxValue; md.Type == format.Int64 && len(lo) == 8 && len(hi) == 8 {
			unit := int64(1)
			if c.Type == schema.TimestampSecond {
				unit = 1000 // files store milliseconds instead of seconds
			}
			g.MinTime, g.MaxTime = int64(binary.LittleEndian.Uint64(lo))/unit, int64(binary.LittleEndian.Uint64(hi))/unit
			g.Timed = true
		}
	}
	return g, true
}

// ReadGroups returns the row groups of a segment file of one table. m describes the segment.
func ReadGroups(fsys vfs.FS, path string, m *Meta) (groups []Group, err error) {
	r, err := Open(fsys, path, m)
	if err != nil {
		return nil, err
	}
	for {
		g, ok := r.NextGroup()
		if !ok {
			return groups, r.Close()
		}
		groups = append(groups, g)
		r.SkipGroup()
	}
}

// SkipGroup continues after the row group that NextGroup describes.
func (r *Reader) SkipGroup() {
	if g, ok := r.NextGroup(); ok {
		r.group++
		r.left -= g.Rows
	}
}

// CanCopy reports whether CopyGroup can copy the row group that r.NextGroup describes. The columns
// of both files must agree, the row group must have the filters that the new file needs, and the
// version that wrote it must have recorded the offsets of all its parts.
func (w *Writer) CanCopy(r *Reader) bool {
	g, ok := r.NextGroup()
	if !ok || !g.Timed || w.spec.Shared || r.m.TableID != w.meta.TableID {
		return false
	}
	for _, c := range w.cols {
		if !canCopyColumn(r, c, g.Rows) {
			return false
		}
	}
	return true
}

// canCopyColumn reports whether the next row group of r, which has rows rows, has all that a copy needs for column c.
func canCopyColumn(r *Reader, c *fileColumn, rows int64) bool {
	at := r.columnAt(c)
	switch {
	case at < 0:
		return !c.required
	case r.m.Columns[at].Type != c.Type:
		return false
	}
	e := &r.md.Schema[1+at]
	chunk := &r.md.RowGroups[r.group+1].Columns[at]
	if (e.RepetitionType.V == format.Required) != c.required || !(parquet.Source{R: r.f, Chunk: chunk}).Whole() {
		return false
	}
	if c.bloom && chunk.MetaData.BloomFilterOffset <= 0 && chunk.MetaData.Statistics.NullCount < rows {
		return false
	}
	return c.fulltext == nil || r.filterOf(c) != nil
}

// columnAt returns the index of the file's column with this id, or -1.
func (r *Reader) columnAt(c *fileColumn) int {
	for i := range r.m.Columns {
		if r.m.Columns[i].ID == c.ID {
			return i
		}
	}
	return -1
}

// filterOf returns the token filter of a column in the next row group, if its tokens were separated
// as the column now requires.
func (r *Reader) filterOf(c *fileColumn) []byte {
	if r.fulltext == nil {
		r.fulltext = &Fulltext{}
		for i := range r.md.KeyValueMetadata {
			if kv := &r.md.KeyValueMetadata[i]; kv.Key == KeyFulltext {
				if t, err := parseFulltext(kv.Value); err == nil {
					r.fulltext = t
				}
			}
		}
	}
	have := r.fulltext.columns[r.m.Columns[r.columnAt(c)].FieldID]
	a := c.fulltext.analyzer
	if have == nil || have.Chinese != a.chinese || have.CaseSensitive != a.caseSensitive ||
		r.group+1 >= len(have.Filters) {
		return nil
	}
	return have.Filters[r.group+1]
}

// CopyGroup appends the row group that r.NextGroup describes without decoding it, and r continues
// after it. CanCopy must have returned true, the rows must come after those appended before, as in
// Append, and the bytes of r's file must have been checked.
func (w *Writer) CopyGroup(r *Reader) error {
	if w.err != nil {
		return w.err
	}
	if w.err = w.copyGroup(r); w.err != nil {
		w.err = fmt.Errorf("write segment %s: copy a row group of %s: %w", FileName(w.meta.ID), FileName(r.m.ID), w.err)
	}
	return w.err
}

func (w *Writer) copyGroup(r *Reader) error {
	if w.rows > 0 {
		if err := w.group(w.rows, true); err != nil {
			return err
		}
	}
	g, _ := r.NextGroup()
	table := w.spec.Tables[0].Table
	if err := w.note(table, []RowRef{{Time: g.MinTime}, {Time: g.MaxTime}}); err != nil {
		return err
	}
	w.meta.Rows += g.Rows - 2
	w.w.BeginGroup(int(g.Rows))
	for _, c := range w.cols {
		at := r.columnAt(c)
		if at < 0 {
			v := w.scratch
			v.reset(true, int(g.Rows))
			v.add(c.Type, []*column.View{nil}, []run{{n: uint32(g.Rows)}})
			v.finish()
			if c.fulltext != nil {
				c.fulltext.end()
			}
			if err := w.w.WriteColumn(&v.Values); err != nil {
				return err
			}
			continue
		}
		if c.fulltext != nil {
			c.fulltext.groups = append(c.fulltext.groups, r.filterOf(c))
		}
		if err := w.w.CopyColumn(parquet.Source{R: r.f, Chunk: &r.md.RowGroups[r.group+1].Columns[at]}); err != nil {
			return err
		}
	}
	r.SkipGroup()
	return nil
}

// Staged returns the number of rows that wait for their row group to become full.
func (w *Writer) Staged() int { return w.rows }

// EndGroupAt makes the current row group end when it has a number of rows, if it is not full before. It must be more
// than the number of staged rows.
func (w *Writer) EndGroupAt(rows int) { w.endAt = rows }

// GroupRows returns the maximum number of rows of a row group.
func (w *Writer) GroupRows() int { return w.cfg.RowGroupRows }

// LacksIndex reports whether a segment of one table lacks the filters of an index that the table
// has. m describes the segment.
func LacksIndex(fsys vfs.FS, path string, m *Meta, table *schema.Table) (lacks bool, err error) {
	wanted := map[uint32]*schema.Column{}
	for i := range table.Columns {
		if c := &table.Columns[i]; bloomBits(c) > 0 || newFulltext(c) != nil {
			wanted[c.ID] = c
		}
	}
	if len(wanted) == 0 {
		return false, nil
	}
	r, err := Open(fsys, path, m)
	if err != nil {
		return false, err
	}
	for _, ok := r.NextGroup(); ok && !lacks; _, ok = r.NextGroup() {
		lacks = r.lacks(wanted)
		r.SkipGroup()
	}
	return lacks, r.Close()
}

// lacks reports whether the next row group lacks a filter of one of the columns.
func (r *Reader) lacks(wanted map[uint32]*schema.Column) bool {
	g := &r.md.RowGroups[r.group+1]
	for i := range r.m.Columns {
		def := wanted[r.m.Columns[i].ID]
		if def == nil {
			continue
		}
		md := &g.Columns[i].MetaData
		if bloomBits(def) > 0 && md.BloomFilterOffset <= 0 && md.Statistics.NullCount < g.NumRows {
			return true
		}
		if f := newFulltext(def); f != nil && r.filterOf(&fileColumn{Column: r.m.Columns[i], fulltext: f}) == nil {
			return true
		}
	}
	return false
}
