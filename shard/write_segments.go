package shard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/merge"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// maxSharedColumns is the most columns that a table brings into a shared file.
const maxSharedColumns = segment.MaxSlots / 4

// flushTable is what a flush has of a table.
type flushTable struct {
	def     *tableDef
	merge   query.Merge // how its rows merge
	batches []*column.Batch
	bytes   int64 // in memory
	own     bool  // gets files of its own
}

// part is what a flush has of a table in one partition, merged and in the order of a file.
type part struct {
	table   *schema.Table
	merge   query.Merge
	columns []uint32
	batches []*column.Batch
	rows    []segment.RowRef
}

// sharedBy is what the tables of a shared file have in common: their physical table,
// if they have one, and the partition.
type sharedBy struct {
	database, physical string
	day, days          int64
}

// writeTables writes the rows of tables to segments, whose names are durable on
// return. After an error none of the files is left.
func (s *Shard) writeTables(tables map[uint64]*flushTable) (metas []segment.Meta, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.removeNew(metas))
			metas = nil
		}
	}()
	cfg := segment.Config{FS: s.cfg.FS, Dir: s.segmentDir, NextID: s.ids.take}
	shared := map[sharedBy][]part{}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		t := tables[id]
		parts, err := segment.Partitions(t.def.Table, t.batches)
		if err != nil {
			return metas, fmt.Errorf("write segments of table %d: %w", id, err)
		}
		for _, span := range parts {
			p := newPart(t, span.Rows)
			if t.def.physical == "" && (t.own || len(p.columns) > maxSharedColumns) {
				m, err := s.writeOwn(cfg, p)
				if err != nil {
					return metas, err
				}
				metas = append(metas, m)
				continue
			}
			by := sharedBy{physical: t.def.physical, day: span.Day, days: span.Days}
			if by.physical != "" {
				by.database = t.def.Database
			}
			shared[by] = append(shared[by], p)
		}
	}
	for _, by := range slices.SortedFunc(maps.Keys(shared), sharedBy.compare) {
		for list := shared[by]; len(list) > 0; {
			n := fitting(list)
			var m segment.Meta
			if by.physical == "" && len(list) == 1 && list[0].merge == query.Append {
				// Nobody to share with. A table that merges rows would have to stay by itself.
				m, err = s.writeOwn(cfg, list[0])
			} else {
				m, err = s.writeShared(cfg, list[:n])
			}
			if err != nil {
				return metas, err
			}
			metas, list = append(metas, m), list[n:]
		}
	}
	if len(metas) > 0 {
		if err := s.cfg.FS.SyncDir(s.segmentDir); err != nil {
			return metas, fmt.Errorf("sync directory %s: %w", s.segmentDir, err)
		}
	}
	return metas, nil
}

func (a sharedBy) compare(b sharedBy) int {
	return cmp.Or(cmp.Compare(a.database, b.database), cmp.Compare(a.physical, b.physical), cmp.Compare(a.day, b.day), cmp.Compare(a.days, b.days))
}

// newPart puts rows of a table in the order of a file, one for each identity if the
// table merges them.
func newPart(t *flushTable, rows []segment.RowRef) part {
	table := merge.WithDeleted(t.def.Table, t.batches)
	p := part{table: table, merge: t.merge, batches: t.batches, rows: rows}
	segment.Sort(table, p.batches, p.rows)
	if t.merge != query.Append {
		p.batches, p.rows = merge.Sorted(table, t.merge, p.batches, p.rows)
	}
	p.columns = segment.Columns(p.batches)
	return p
}

// fitting is how many of the parts fit into one shared file by their columns.
func fitting(parts []part) int {
	type slot struct {
		id       uint32
		name     string
		typ      schema.Type
		semantic schema.Semantic
	}
	slots := map[slot]struct{}{}
	for n := range parts {
		p := &parts[n]
		for i := range p.table.Columns {
			c := &p.table.Columns[i]
			if _, used := slices.BinarySearch(p.columns, c.ID); used || c.Semantic == schema.Timestamp {
				slots[slot{c.ID, c.Name, c.Type, c.Semantic}] = struct{}{}
			}
		}
		if len(slots) > segment.MaxSlots && n > 0 {
			return n
		}
	}
	return len(parts)
}

func (s *Shard) writeOwn(cfg segment.Config, p part) (segment.Meta, error) {
	return s.writeFile(cfg, segment.Spec{Tables: []segment.TableColumns{{Table: p.table, Columns: p.columns}}}, []part{p})
}

func (s *Shard) writeShared(cfg segment.Config, parts []part) (segment.Meta, error) {
	spec := segment.Spec{Shared: true}
	for _, p := range parts {
		spec.Tables = append(spec.Tables, segment.TableColumns{Table: p.table, Columns: p.columns})
	}
	return s.writeFile(cfg, spec, parts)
}

func (s *Shard) writeFile(cfg segment.Config, spec segment.Spec, parts []part) (m segment.Meta, err error) {
	w, err := segment.NewWriter(cfg, spec)
	if err != nil {
		return m, err
	}
	for i, p := range parts {
		write := w.Append
		if i == len(parts)-1 {
			write = w.AppendLast
		}
		if err = write(p.table, p.batches, p.rows); err != nil {
			break
		}
	}
	if err == nil {
		m, err = w.Finish()
	}
	if err != nil {
		s.ids.done(w.ID())
		return m, errors.Join(err, w.Abort())
	}
	m.Order = m.ID // a flush holds later writes than those before it
	return m, nil
}
