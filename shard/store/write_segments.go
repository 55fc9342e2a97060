package store

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
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// maxSharedColumns is the maximum number of columns of a table whose rows go into a shared file.
const maxSharedColumns = segment.MaxSlots / 4

// flushTable is the part of a flush for one table.
type flushTable struct {
	def     *rules.Definition
	merge   query.Merge // the merge mode of its rows
	batches []*column.Batch
	bytes   int64 // size in memory
	own     bool  // whether it gets its own files
}

// part is the part of a flush for one table and partition, merged and in the order of a file.
type part struct {
	table   *schema.Table
	merge   query.Merge
	columns []uint32
	batches []*column.Batch
	rows    []segment.RowRef
	// day and days are the partition. own reports whether the table gets its own file.
	day, days int64
	own       bool
}

// sharedKey identifies a shared file of a flush: by the partition, and by the physical table of its
// tables if they have one.
type sharedKey struct {
	database, physical string
	day, days          int64
	// apart is the id of a table that is written separately, because a process crashed while
	// writing it.
	apart uint64
}

// writeTables writes the rows of tables to segments. When it returns, the names are durable. It
// also returns the tables whose files cannot be written, with the reasons; some of their files may
// have been written. After an error it removes its files.
func (fl *Flusher) writeTables(tables map[uint64]*flushTable,
	faults map[uint64]string,
) (metas []segment.Meta, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, fl.files.removeNew(metas))
			metas = nil
		}
	}()
	write := func(parts []part) error {
		more, err := fl.writeParts(parts, faults)
		metas = append(metas, more...)
		return err
	}
	shared := map[sharedKey][]part{}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		own, err := fl.divide(id, tables[id], shared)
		if err != nil {
			faults[id] = err.Error()
			continue
		}
		for i := range own {
			if err := write(own[i : i+1]); err != nil {
				return metas, err
			}
		}
	}
	for _, by := range slices.SortedFunc(maps.Keys(shared), sharedKey.compare) {
		for list := shared[by]; len(list) > 0; {
			n := countFitting(list)
			if by.physical == "" && len(list) == 1 && list[0].merge == query.Append {
				// There is no table to share with. A table that merges rows would have to keep its
				// own file afterwards.
				list[0].own = true
			}
			if err := write(list[:n]); err != nil {
				return metas, err
			}
			list = list[n:]
		}
	}
	if len(metas) > 0 {
		if err := fl.cfg.FS.SyncDir(fl.segmentDir); err != nil {
			return metas, fmt.Errorf("sync directory %s: %w", fl.segmentDir, err)
		}
	}
	return metas, nil
}

// divide sorts the rows of a table into the order of files. It returns the parts that get their own
// files, and adds the others to shared. An error means that the rows cannot be written.
func (fl *Flusher) divide(id uint64, t *flushTable, shared map[sharedKey][]part) (own []part, err error) {
	if t.bytes >= notedBytes {
		fl.crashes.begin(id)
	}
	parts, err := fl.partsOf(id, t)
	if err != nil {
		return nil, err
	}
	alone := fl.crashes.count(id) >= crashesAlone
	for _, p := range parts {
		if t.def.Physical == "" && (t.own || len(p.columns) > maxSharedColumns) {
			p.own = true
			own = append(own, p)
			continue
		}
		by := sharedKey{physical: t.def.Physical, day: p.day, days: p.days}
		if by.physical != "" {
			by.database = t.def.Database
		}
		if alone {
			by.apart = id
		}
		shared[by] = append(shared[by], p)
	}
	return own, nil
}

// notedBytes is the minimum size of a table whose sorting is recorded in the crash log.
const notedBytes = 1 << 20

// partsOf sorts the rows of a table into the order of files. An error means that the rows cannot be
// written.
func (fl *Flusher) partsOf(id uint64, t *flushTable) (parts []part, err error) {
	err = fl.cfg.catchPanic(fmt.Sprintf("sort the rows of table %d", id), func() error {
		spans, err := segment.Partitions(t.def.Table, t.batches)
		if err != nil {
			return err
		}
		for _, span := range spans {
			p := newPart(t, span.Rows)
			p.day, p.days = span.Day, span.Days
			parts = append(parts, p)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("write segments of table %d: %w", id, err)
	}
	return parts, nil
}

// writeParts writes one file. If the rows prevent that, it writes two files with half of the tables
// each, and so on, until the responsible table is known.
func (fl *Flusher) writeParts(parts []part, faults map[uint64]string) ([]segment.Meta, error) {
	m, err := fl.writeOne(parts)
	switch {
	case err == nil:
		return []segment.Meta{m}, nil
	case !isOfRows(err):
		return nil, err
	case len(parts) == 1:
		faults[parts[0].table.ID] = err.Error()
		return nil, nil
	}
	metas, err := fl.writeParts(parts[:len(parts)/2], faults)
	if err != nil {
		return metas, err
	}
	more, err := fl.writeParts(parts[len(parts)/2:], faults)
	return append(metas, more...), err
}

func (a sharedKey) compare(b sharedKey) int {
	return cmp.Or(cmp.Compare(a.database, b.database), cmp.Compare(a.physical, b.physical), cmp.Compare(a.day, b.day),
		cmp.Compare(a.days, b.days), cmp.Compare(a.apart, b.apart))
}

// newPart sorts rows of a table into the order of a file. If the table merges rows, it keeps one
// row for each identity.
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

// countFitting returns how many of the parts, with their columns, fit into one shared file.
func countFitting(parts []part) int {
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

// writeOne writes parts to one file: a shared one, unless the only part gets its own.
func (fl *Flusher) writeOne(parts []part) (segment.Meta, error) {
	cfg := segment.Config{FS: fl.cfg.FS, Dir: fl.segmentDir, NextID: fl.files.IDs.Take}
	spec := segment.Spec{Shared: !parts[0].own}
	ids := make([]uint64, 0, len(parts))
	for _, p := range parts {
		spec.Tables = append(spec.Tables, segment.TableColumns{Table: p.table, Columns: p.columns})
		ids = append(ids, p.table.ID)
	}
	fl.crashes.begin(ids...)
	return fl.writeFile(cfg, spec, parts)
}

func (fl *Flusher) writeFile(cfg segment.Config, spec segment.Spec, parts []part) (m segment.Meta, err error) {
	w, err := segment.NewWriter(cfg, spec)
	if err != nil {
		return m, err
	}
	err = fl.cfg.catchPanic(fmt.Sprintf("write the rows of %d tables, starting with table %d", len(parts),
		parts[0].table.ID), func() error {
		if fl.cfg.BeforeWrite != nil {
			for _, p := range parts {
				fl.cfg.BeforeWrite(p.table.ID)
			}
		}
		for i, p := range parts {
			write := w.Append
			if i == len(parts)-1 {
				write = w.AppendLast
			}
			if err := write(p.table, p.batches, p.rows); err != nil {
				return err
			}
		}
		m, err = w.Finish()
		return err
	})
	if err != nil {
		fl.files.IDs.done(w.ID())
		return m, errors.Join(err, w.Abort())
	}
	m.Order = m.ID // the rows of a flush were written after those of earlier flushes
	return m, nil
}
