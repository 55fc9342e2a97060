package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// This file tells which rows may go to object storage, and gives those of a cut. See ../cold/DESIGN.md.

// HotTable is a table with rows in segments that are in no cut.
type HotTable struct {
	Def *rules.Definition
	// From is the order at which the last cut of the table ended.
	From uint64
	// Bytes is the approximate size of the rows in the files. Described is about how many bytes an entry of the log needs
	// to describe the objects with the rows.
	Bytes, Described int64
}

// Hot returns the tables with rows that are in segments and in no cut, in ascending order of ids. Those are left out
// that have such rows of several merge modes, or rows that cannot be written to segments.
func (st *Status) Hot() []HotTable {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	var hot []HotTable
	for id, list := range tb.segs.byTable {
		d := tb.State.Tables[id]
		if d == nil || d.Instant || len(tb.segs.raw[id]) > 0 {
			continue
		}
		t := HotTable{Def: d, From: tb.hotFrom(id)}
		if tb.mixed(id, t.From) {
			continue
		}
		for _, l := range list {
			if l.Order < t.From {
				continue
			}
			t.Bytes += l.BytesOf(id)
			t.Described += 32
			if !l.Shared() {
				t.Described += 256 + 32*int64(len(l.Columns))
			}
		}
		if t.Described > 0 {
			hot = append(hot, t)
		}
	}
	slices.SortFunc(hot, func(a, b HotTable) int { return cmp.Compare(a.Def.ID, b.Def.ID) })
	return hot
}

// hotFrom returns the order from which segments have rows of a table that are in no cut; mu must be held.
func (tb *Tables) hotFrom(id uint64) uint64 {
	if ends := tb.segs.cuts[id]; len(ends) > 0 {
		return ends[len(ends)-1]
	}
	return 0
}

// mixed reports whether segments from an order on have rows of several merge modes of a table; mu must be held.
func (tb *Tables) mixed(id, from uint64) bool {
	eras, now := tb.erasOf(id), tb.State.Tables[id].Merge
	if len(eras) == 0 {
		return false
	}
	list := tb.segs.byTable[id]
	list = list[firstFrom(list, from):]
	return len(list) > 0 && slices.ContainsFunc(list, func(l *LiveSegment) bool {
		return eras.Segment(l.Order, now) != eras.Segment(list[0].Order, now)
	})
}

// maxMixedWarnings is the maximum number of tables of mixedWarnings.
const maxMixedWarnings = 10

// mixedWarnings names tables that should go to object storage, and do not because their merge mode changed. mu must be
// held.
func (tb *Tables) mixedWarnings() (out []string) {
	if tb.cfg.Tiered == nil {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(tb.segs.eras)) {
		d := tb.State.Tables[id]
		if d == nil || !tb.cfg.Tiered(d.Table) || len(out) == maxMixedWarnings {
			continue
		}
		if tb.mixed(id, tb.hotFrom(id)) {
			out = append(out, fmt.Sprintf("shard %d: rows of table id %d stay on the local disk: its append_mode or merge_mode "+
				"was changed, and rows from before and after the change are not in object storage; they go there when the "+
				"former ones have expired or were merged with later ones; until then, they are lost if all disks are, also if "+
				"the log goes to object storage", tb.cfg.ID, id))
		}
	}
	return out
}

// LogShipped counts bytes of the log that were stored in object storage.
func (st *Status) LogShipped(bytes int64) { st.tables.metrics.coldLogBytes.Add(float64(bytes)) }

// Joinable reports whether the objects of a table may be joined. They may not while it is being copied to other shards,
// or if rows of it merge or cannot be written to segments.
func (st *Status) Joinable(id uint64) bool {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for c := range tb.sources {
		if c.table == id {
			return false
		}
	}
	return len(tb.segs.raw[id]) == 0 && len(tb.erasOf(id)) == 0
}

// MergesOfDay returns how the rows of a table merge in the objects of some cuts, in ascending order, whose rows of a
// UTC day, in days since 1970, are to be joined. ok is false if they may not be joined: the table is being copied to
// other shards, rows of a cut are all kept, or rows stay in segments that are in none of the objects, and are of the
// day or between the cuts.
func (st *Status) MergesOfDay(id uint64, day int64, cuts []uint64) (merges []query.Merge, ok bool) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.State.Tables[id]
	if d == nil || d.TimeIndex() == nil || len(tb.segs.raw[id]) > 0 {
		return nil, false
	}
	for c := range tb.sources {
		if c.table == id {
			return nil, false
		}
	}
	eras, orders := tb.erasOf(id), tb.segs.cutOrders[id]
	for _, n := range cuts {
		at, known := slices.BinarySearchFunc(orders, n, func(o manifest.CutOrder, n uint64) int {
			return cmp.Compare(o.Number, n)
		})
		if !known {
			return nil, false
		}
		merge := eras.Segment(orders[at].Order-1, d.Merge)
		if merge == query.Append {
			return nil, false
		}
		merges = append(merges, merge)
	}
	inObjects := tb.inObjects(id)
	unit := 86400 * d.TimeIndex().Type.UnitsPerSecond()
	for _, l := range tb.segs.byTable[id] {
		number, cut := manifest.CutOf(orders, l.Order)
		if !cut || number > cuts[len(cuts)-1] {
			break
		}
		span := l.Span(id)
		ofDay := schema.FloorDiv(span.MinTime, unit) <= day && day <= schema.FloorDiv(span.MaxTime, unit)
		if !inObjects[number] && (number >= cuts[0] || ofDay) {
			return nil, false
		}
	}
	return merges, true
}

// inObjects returns the numbers of the cuts whose sets have objects of a table; mu must be held.
func (tb *Tables) inObjects(id uint64) map[uint64]bool {
	cuts := map[uint64]bool{}
	for _, set := range tb.State.Sets() {
		if slices.ContainsFunc(set.Objects, func(o cold.Object) bool { return o.Has(id) }) {
			cuts[set.Number] = true
		}
	}
	return cuts
}

// CutRows are the rows of a cut on this replica. Their files stay until Close.
type CutRows struct {
	// Tables are the tables of the cut that exist, in ascending order of ids.
	Tables []CutTable
	// Segments have the rows, in ascending order. Shared ones may have rows of other tables and cuts, too.
	Segments []Segment
	live     []*LiveSegment
}

// CutTable says which rows of a table are in a cut: those in segments with an order from From to before To.
type CutTable struct {
	Def      *rules.Definition
	From, To uint64
	Expired  manifest.Expiry
	// Merge is how the rows merge. Mixed means that some of them merge in another way, because the table was changed at
	// the moment of the cut: these rows stay in segments.
	Merge query.Merge
	Mixed bool
	// some means that Merge is known.
	some bool
}

// Close releases the files.
func (c *CutRows) Close() {
	for _, l := range c.live {
		l.Unref()
	}
	c.live = nil
}

// Has reports whether rows of a table in a segment are in the cut and have not expired.
func (t *CutTable) Has(span segment.TableSpan, order uint64) bool {
	expired := span.MaxTime < t.Expired.Before && order < t.Expired.Order
	return span.Rows > 0 && order >= t.From && order < t.To && !expired
}

// CutRows returns the rows of a cut, and keeps their files. It fails if some of them are not in segments yet.
func (lg *Ledger) CutRows(open *manifest.Cut) (*CutRows, error) {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	orders := lg.manifest.State().CutOrders
	tb := lg.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	c := &CutRows{}
	seen := map[uint64]bool{}
	for i := range open.Tables {
		id := open.Tables[i].TableID
		d := tb.State.Tables[id]
		if d == nil {
			continue
		}
		t := CutTable{Def: d, Expired: tb.State.Expired[id]}
		for at, _ := slices.BinarySearchFunc(orders, id, func(o manifest.CutOrder, id uint64) int {
			return cmp.Compare(o.TableID, id)
		}); at < len(orders) && orders[at].TableID == id; at++ {
			switch o := &orders[at]; {
			case o.Number < open.Number:
				t.From = o.Order
			case o.Number == open.Number:
				t.To = o.Order
			}
		}
		if t.To == 0 {
			c.Close()
			return nil, fmt.Errorf("shard %d: rows of table %d in cut %d are not in segments yet", lg.cfg.ID, id, open.Number)
		}
		tb.addCutTable(c, &t, seen)
		c.Tables = append(c.Tables, t)
	}
	slices.SortFunc(c.live, func(a, b *LiveSegment) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
	})
	for _, l := range c.live {
		c.Segments = append(c.Segments, Segment{Meta: l.Meta, Path: l.Path, Damaged: l.damaged()})
	}
	return c, nil
}

// addCutTable adds the segments with rows of a table to a cut; mu must be held.
func (tb *Tables) addCutTable(c *CutRows, t *CutTable, seen map[uint64]bool) {
	eras := tb.erasOf(t.Def.ID)
	for _, l := range tb.segs.byTable[t.Def.ID] {
		if !t.Has(l.Span(t.Def.ID), l.Order) {
			continue
		}
		merge := eras.Segment(l.Order, t.Def.Merge)
		t.Mixed = t.Mixed || t.some && merge != t.Merge
		t.Merge, t.some = merge, true
		if !seen[l.ID] {
			seen[l.ID] = true
			l.refs.Add(1)
			c.live = append(c.live, l)
		}
	}
	// Replicas take the mode of the objects from the order of the cut. It is another one if later rows of the cut have
	// expired since.
	t.Mixed = t.Mixed || t.some && eras.Segment(t.To-1, t.Def.Merge) != t.Merge
}

// FindDamagedRows checks the segments of a cut, and quarantines the damaged ones.
func (sc *Scrubber) FindDamagedRows(c *CutRows) { sc.FindDamaged(c.live) }
