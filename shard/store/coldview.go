package store

import (
	"cmp"
	"slices"
	"sync"

	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

// This file finds the objects that readers need. The rows of a cut may be in objects and in local files, its twins. A
// reader gets the twins as long as this replica has them.

// ColdObject is an object of a View.
type ColdObject struct {
	*cold.Object
	// Span describes the table's rows in the object.
	Span segment.TableSpan
	// Order is the highest order that a segment with the rows of the object's cut could have in this replica.
	Order uint64
}

// Objects returns the objects that have rows of the shard.
func (st *Status) Objects() (list []*cold.Object) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for _, set := range tb.State.Sets() {
		for i := range set.Objects {
			list = append(list, &set.Objects[i])
		}
	}
	return list
}

// HasObject reports whether an object that Objects returned before still has rows of the shard.
func (st *Status) HasObject(o *cold.Object) bool {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.State.HasObject(o)
}

// ObjectsOf returns the objects that have live rows of one of the tables and of no other table, and by table the live
// rows in objects that several tables share.
func (st *Status) ObjectsOf(ids []uint64) (own []*cold.Object, shared map[uint64]int64) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	wanted := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		wanted[id] = tb.State.Tables[id] != nil
	}
	shared = map[uint64]int64{}
	for _, set := range tb.State.Sets() {
		for i := range set.Objects {
			o := &set.Objects[i]
			if !o.Meta.Shared() {
				if wanted[o.Meta.TableID] && !tb.State.DeadSpan(set.Index, o.Spans()[0]) {
					own = append(own, o)
				}
				continue
			}
			for _, span := range o.Meta.Tables {
				if wanted[span.TableID] && !tb.State.DeadSpan(set.Index, span) {
					shared[span.TableID] += span.Rows
				}
			}
		}
	}
	return own, shared
}

// same reports whether both are the same object. An object never changes.
func (o ColdObject) same(as ColdObject) bool { return o.Key == as.Key && o.Order == as.Order }

// bytes returns the table's share of the object's size, by rows.
func (o ColdObject) bytes() int64 {
	if !o.Meta.Shared() {
		return o.Meta.Bytes
	}
	return int64(float64(o.Meta.Bytes) * float64(o.Span.Rows) / float64(max(o.Meta.Rows, 1)))
}

// locationOf tells where the rows of a table in a segment are; mu must be held.
func (tb *Tables) locationOf(table uint64, l *LiveSegment) string {
	cuts := tb.segs.cutOrders[table]
	at := slices.IndexFunc(cuts, func(o manifest.CutOrder) bool { return l.Order < o.Order })
	if at >= 0 && tb.State.HasSet(cuts[at].Number) {
		return shardpb.LocationBoth
	}
	return shardpb.LocationLocal
}

// coldLists caches the objects of tables. The sets and the segments from which it is made change under Tables.mu.
type coldLists struct {
	mu sync.Mutex // guards the fields below; taken under Tables.mu, also by readers that hold it by RLock
	// index has the objects of each table in the order of their cuts, or is nil if sets have changed.
	index map[uint64][]coldRef
	// lists are the objects without twins of the tables that were asked for. They are replaced, not changed in place.
	lists map[uint64][]ColdObject
}

// coldRef is a table's part of an object.
type coldRef struct {
	object *cold.Object
	cut    uint64
	span   segment.TableSpan
}

// setsChanged must be called when sets have changed; Tables.mu must be held.
func (c *coldLists) setsChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index, c.lists = nil, nil
}

// twinsChanged must be called when segments or the orders of cuts have changed; Tables.mu must be held.
func (c *coldLists) twinsChanged() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists = nil
}

// coldOf returns the objects that a reader of a table needs; mu must be held.
func (tb *Tables) coldOf(table uint64) []ColdObject {
	if !tb.State.HasSets() {
		return nil
	}
	c := &tb.cold
	c.mu.Lock()
	defer c.mu.Unlock()
	if list, ok := c.lists[table]; ok {
		return list
	}
	if c.index == nil {
		c.index = tb.indexObjects()
	}
	list := tb.withoutTwins(table, c.index[table])
	if c.lists == nil {
		c.lists = map[uint64][]ColdObject{}
	}
	c.lists[table] = list
	return list
}

// objectBytes returns how many bytes of objects belong to a table, also if this replica has the rows in segments too.
// mu must be held.
func (tb *Tables) objectBytes(table uint64) (sum int64) {
	if !tb.State.HasSets() {
		return 0
	}
	c := &tb.cold
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.index == nil {
		c.index = tb.indexObjects()
	}
	for _, ref := range c.index[table] {
		sum += ColdObject{Object: ref.object, Span: ref.span}.bytes()
	}
	return sum
}

// waitingBytes returns how many bytes of segments have rows of a table that will go to object storage, and are not
// there; mu must be held.
func (tb *Tables) waitingBytes(table uint64) (sum int64) {
	d := tb.State.Tables[table]
	if d == nil || tb.cfg.Tiered == nil || tb.mixed(table, tb.hotFrom(table)) || !tb.cfg.Tiered(d.Table) {
		return 0
	}
	_, open := tb.State.LastCut()
	for _, l := range tb.segs.byTable[table] {
		number, cut := manifest.CutOf(tb.segs.cutOrders[table], l.Order)
		// Rows of a closed cut are in objects, or were all deleted or expired.
		if !cut || open != nil && number == open.Number {
			sum += l.BytesOf(table)
		}
	}
	return sum
}

// indexObjects lists the live parts of objects by table; mu must be held.
func (tb *Tables) indexObjects() map[uint64][]coldRef {
	index := map[uint64][]coldRef{}
	for _, set := range tb.State.Sets() {
		for i := range set.Objects {
			o := &set.Objects[i]
			for _, span := range o.Spans() {
				if span.Rows > 0 && !tb.State.DeadSpan(set.Index, span) {
					index[span.TableID] = append(index[span.TableID], coldRef{o, set.Number, span})
				}
			}
		}
	}
	return index
}

// withoutTwins returns the objects whose rows are not in this replica's files or memory. The decision is made for each
// cut and day: the twins of a table in a cut are dropped by one edit of the manifest. mu must be held.
func (tb *Tables) withoutTwins(table uint64, refs []coldRef) (out []ColdObject) {
	d := tb.State.Tables[table]
	if d == nil || d.TimeIndex() == nil {
		return nil
	}
	day := d.TimeIndex().Type.UnitsPerSecond() * 86400
	days := func(s segment.TableSpan) (from, to int64) {
		return schema.FloorDiv(s.MinTime, day), schema.FloorDiv(s.MaxTime, day)
	}
	cuts, segments := tb.segs.cutOrders[table], tb.segs.byTable[table]
	for len(refs) > 0 {
		n := slices.IndexFunc(refs, func(r coldRef) bool { return r.cut != refs[0].cut })
		if n < 0 {
			n = len(refs)
		}
		of := refs[:n]
		refs = refs[n:]
		at, known := slices.BinarySearchFunc(cuts, of[0].cut, func(o manifest.CutOrder, number uint64) int {
			return cmp.Compare(o.Number, number)
		})
		if tb.State.Joined(table, of[0].cut) { // own rows of the cut are hidden
			var order uint64
			if known {
				order = cuts[at].Order - 1
			} else {
				order = tb.orderInMemory(table, of[0].cut)
			}
			for _, r := range of {
				out = append(out, ColdObject{r.object, r.span, order})
			}
			continue
		}
		if !known {
			continue // rows of the cut are in memory
		}
		begin, end := uint64(0), cuts[at].Order
		if at > 0 {
			begin = cuts[at-1].Order
		}
		twins := segments[firstFrom(segments, begin):firstFrom(segments, end)]
		for _, r := range of {
			from, to := days(r.span)
			if !slices.ContainsFunc(twins, func(l *LiveSegment) bool {
				first, last := days(l.Span(table))
				return first <= to && from <= last
			}) {
				out = append(out, ColdObject{r.object, r.span, end - 1})
			}
		}
	}
	return out
}

// firstFrom returns the position of the first segment with an order of at least order.
func firstFrom(list []*LiveSegment, order uint64) int {
	at, _ := slices.BinarySearchFunc(list, order, func(l *LiveSegment, order uint64) int {
		return cmp.Compare(l.Order, order)
	})
	return at
}

// rowsOf returns the number of rows of a table in objects.
func rowsOf(list []ColdObject) (rows int64) {
	for i := range list {
		rows += list[i].Span.Rows
	}
	return rows
}
