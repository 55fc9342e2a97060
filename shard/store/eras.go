package store

import (
	"maps"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// This file handles tables whose merge mode changed. Rows that were written before the change keep
// their mode. While such rows are in memory, a cut in the memtable marks the change. A flush writes
// them to separate files, and the manifest records the era.

// define adopts a definition if it is newer than the known one. The apply goroutine calls it; mu
// must be held.
func (tb *Tables) define(d *rules.Definition) {
	old := tb.State.Tables[d.ID]
	tb.State.Define(d)
	tb.sources.notify(d.ID)
	if old != nil && tb.State.Tables[d.ID] == d && d.Merge != old.Merge {
		tb.Mem.Active.Cut(d.ID, old.Merge, 0)
	}
}

// inMemory is above the orders of all segments. The eras that end in memory end at the orders after it, so an object
// whose cut has no order yet can be of any of them.
const inMemory = uint64(1) << 62

// erasOf returns the eras of a table, with batches numbered as in View; mu must be held.
func (tb *Tables) erasOf(tableID uint64) (eras query.Eras) {
	for _, e := range tb.segs.eras[tableID] {
		eras = append(eras, query.Era{Before: e.Before, Merge: e.Merge})
	}
	before, end := 0, inMemory
	add := func(m *memtable.Memtable) {
		for _, c := range m.Cuts(tableID) {
			if c.Number > 0 {
				continue
			}
			end++
			eras = append(eras, query.Era{Before: end, Batches: before + c.At, Merge: c.Merge})
		}
		before += len(m.Batches(tableID))
	}
	for _, mem := range tb.segs.rawMemtables(tableID) {
		add(mem)
	}
	for _, f := range tb.Mem.frozen {
		add(f.mem)
	}
	add(tb.Mem.Active)
	return eras
}

// lastMode returns the merge mode of the last row of a table that would be in a cut; mu must be held.
func (tb *Tables) lastMode(id uint64) query.Merge {
	eras, now := tb.erasOf(id), tb.State.Tables[id].Merge
	batches, from, cut := 0, 0, false
	for _, mem := range tb.memtablesOf(id) {
		for _, c := range mem.Cuts(id) {
			if c.Number > 0 {
				from, cut = batches+c.At, true
			}
		}
		batches += len(mem.Batches(id))
	}
	list := tb.segs.byTable[id]
	switch {
	case batches > from:
		return eras.Batch(batches-1, now)
	case !cut && len(list) > 0 && list[len(list)-1].Order >= tb.hotFrom(id):
		return eras.Segment(list[len(list)-1].Order, now)
	}
	return now
}

// orderInMemory returns an order for the objects of a cut whose mark is in memory, so that their rows merge as they did
// when they were written; mu must be held.
func (tb *Tables) orderInMemory(id, number uint64) uint64 {
	var modes []query.Merge // of the eras that end in memory
	marked, merge := -1, query.Append
	for _, mem := range tb.memtablesOf(id) {
		for _, c := range mem.Cuts(id) {
			switch c.Number {
			case 0:
				modes = append(modes, c.Merge)
			case number:
				marked, merge = len(modes), c.Last
			}
		}
	}
	modes = append(modes, tb.State.Tables[id].Merge)
	if marked < 0 {
		marked, merge = len(modes)-1, modes[len(modes)-1]
	}
	at := marked
	for at > 0 && modes[at] != merge { // the mode was changed after the last row of the cut
		at--
	}
	return inMemory + uint64(at)
}

// mergingOfSegments returns the merge modes of the rows in segments and objects, for tables with rows that merge.
// It is based on what this shard has flushed: the metadata and the rows in memory may have newer
// modes. mu must be held.
func (tb *Tables) mergingOfSegments() (out []manifest.Merging) {
	for _, id := range slices.Sorted(maps.Keys(tb.State.Tables)) {
		d := tb.State.Tables[id]
		if len(tb.segs.byTable[id])+len(tb.coldOf(id)) == 0 {
			continue
		}
		m := manifest.Merging{TableID: id}
		merges := false
		for _, e := range append(tb.erasOf(id), query.Era{Before: math.MaxUint64, Merge: d.Merge}) {
			m.Eras = append(m.Eras, manifest.Era{Before: e.Before, Merge: e.Merge})
			merges = merges || e.Merge != query.Append
			if e.Before > inMemory {
				break // later eras have no segments yet
			}
		}
		if merges {
			out = append(out, m)
		}
	}
	return out
}

// stage is a part of a flush in which each table has one merge mode, and rows of one cut for object storage. It lists
// the tables whose era, or whose rows of a cut, end with it.
type stage struct {
	rows map[uint64]*flushTable
	ends map[uint64]query.Merge
	cuts map[uint64]memtable.Cut
}

// omit removes a table.
func (st *stage) omit(id uint64) {
	delete(st.rows, id)
	delete(st.ends, id)
	delete(st.cuts, id)
}

// stages divides the frozen rows so that rows of different eras or cuts of a table are in different files,
// and later rows get a file with a higher id; mu must be held.
func (fl *Flusher) stages(todo []*frozen) []stage {
	rows, cuts, most := collectRows(todo)
	out := make([]stage, most+1)
	for i := range out {
		out[i] = stage{map[uint64]*flushTable{}, map[uint64]query.Merge{}, map[uint64]memtable.Cut{}}
	}
	for id, list := range cuts {
		// The last stage has the rows after the last cut.
		at, from := most-len(list), 0
		for _, c := range list {
			if c.Number > 0 {
				out[at].cuts[id] = c
			} else {
				out[at].ends[id] = c.Merge
			}
			if t := rows[id]; t != nil {
				fl.addPart(out[at], id, t, t.batches[from:c.At], c.Merge)
				from = c.At
			}
			at++
		}
		if t := rows[id]; t != nil {
			t.batches = t.batches[from:]
		}
	}
	for id, t := range rows {
		fl.addPart(out[most], id, t, t.batches, t.merge)
	}
	return out
}

// addPart adds batches of a table to a stage if there are any; mu must be held.
func (fl *Flusher) addPart(to stage, id uint64, t *flushTable, batches []*column.Batch, merge query.Merge) {
	if len(batches) == 0 {
		return
	}
	part := &flushTable{def: t.def, merge: merge, batches: batches}
	for _, b := range batches {
		part.bytes += int64(len(b.Mem))
	}
	// A table that merges rows and has its own file continues to get its own.
	part.own = part.bytes >= fl.cfg.ShareBytes || merge != query.Append &&
		slices.ContainsFunc(fl.tables.segs.byTable[id], func(l *LiveSegment) bool { return !l.Shared() })
	to.rows[id] = part
}

// collectRows returns the batches of frozen memtables by table, the cuts between them, and the
// maximum number of cuts of a table; mu must be held.
func collectRows(todo []*frozen) (rows map[uint64]*flushTable, cuts map[uint64][]memtable.Cut, most int) {
	rows, cuts = map[uint64]*flushTable{}, map[uint64][]memtable.Cut{}
	for _, f := range todo {
		for _, id := range f.mem.CutTables() {
			for _, c := range f.mem.Cuts(id) {
				if t := rows[id]; t != nil {
					c.At += len(t.batches)
				}
				cuts[id] = append(cuts[id], c)
			}
			most = max(most, len(cuts[id]))
		}
		for _, id := range f.mem.Tables() {
			t := rows[id]
			if t == nil {
				t = &flushTable{}
				rows[id] = t
			}
			t.def, t.batches = f.defs[id], append(t.batches, f.mem.Batches(id)...)
			t.merge = t.def.Merge
		}
	}
	return rows, cuts, most
}

// writeStages writes the rows of a flush, and records the new files, eras and cuts in the edit. It also
// returns the tables whose files cannot be written, with the reasons. After an error the edit still
// lists the files that were written.
func (fl *Flusher) writeStages(stages []stage, edit *manifest.Edit) (faults map[uint64]string, err error) {
	faults = map[uint64]string{}
	eras := map[uint64][]manifest.Era{}
	for _, st := range stages {
		metas, err := fl.writeTables(st.rows, faults)
		if err != nil {
			return nil, err
		}
		edit.Add = append(edit.Add, metas...)
		if len(st.ends)+len(st.cuts) == 0 {
			continue
		}
		next := fl.files.IDs.Upcoming() // above all files of this stage, but not above the files of the next one
		fl.tables.mu.RLock()
		for _, id := range slices.Sorted(maps.Keys(st.cuts)) {
			of, ok := eras[id]
			if !ok {
				of = fl.tables.segs.eras[id]
			}
			edit.CutOrders = append(edit.CutOrders, manifest.CutOrder{
				Number: st.cuts[id].Number, TableID: id, Order: fl.tables.cutOrder(id, st.cuts[id], next, edit, of),
			})
		}
		for id, merge := range st.ends {
			if _, ok := eras[id]; !ok {
				eras[id] = slices.Clone(fl.tables.segs.eras[id])
			}
			eras[id] = append(eras[id], manifest.Era{Before: next, Merge: merge})
		}
		fl.tables.mu.RUnlock()
		fl.files.IDs.Raise(next + 1) // so that the orders of a later cut are of a later era, also without any file of it
	}
	for _, id := range slices.Sorted(maps.Keys(eras)) {
		edit.Merging = append(edit.Merging, manifest.Merging{TableID: id, Eras: eras[id]})
	}
	return faults, nil
}

// cutOrder returns the order at which a cut of a table ends, for an edit with the files of a flush up to the cut. next
// is above all of these. If the rows of the cut were all written before the merge mode changed, it is where their era
// ends: the order of objects says of which era their rows are. mu must be held.
func (tb *Tables) cutOrder(id uint64, c memtable.Cut, next uint64, edit *manifest.Edit, eras []manifest.Era) uint64 {
	from, last := tb.hotFrom(id), uint64(0)
	for _, o := range edit.CutOrders {
		if o.TableID == id {
			from = o.Order
		}
	}
	if list := tb.segs.byTable[id]; len(list) > 0 {
		last = list[len(list)-1].Order
	}
	for i := range edit.Add {
		m := &edit.Add[i]
		if !m.Shared() && m.TableID == id ||
			slices.ContainsFunc(m.Tables, func(t segment.TableSpan) bool { return t.TableID == id }) {
			last = max(last, m.Order)
		}
	}
	if last < from { // no rows of the cut are in segments: it has none, or they are hidden because it was joined
		for i := len(eras) - 1; i >= 0 && c.Last != c.Merge && eras[i].Before > from; i-- {
			if eras[i].Merge == c.Last {
				return eras[i].Before
			}
		}
		return next
	}
	for i := len(eras) - 1; i >= 0 && eras[i].Before > max(last, from); i-- {
		next = min(next, eras[i].Before)
	}
	return next
}
