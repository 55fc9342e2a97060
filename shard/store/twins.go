package store

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file drops twins: local segments whose rows are in objects as well.

// twins are the segments of this replica with rows of a table in a set.
type twins struct {
	segments []*LiveSegment
	keep     bool // whether they must stay
}

// tableSet identifies a table's rows in a set.
type tableSet struct{ table, set uint64 }

// Before returns the time before which the rows of a table must be so that their local segments may go; zero if all
// may. It must not block. Nil means all rows of all tables.
type Before func(*schema.Table) time.Time

// TwinObjects returns the objects whose rows DropTwins would remove from the local disk, in the order of their sets.
func (lg *Ledger) TwinObjects(before Before) (list []cold.Object) {
	lg.mu.Lock()
	defer lg.mu.Unlock()
	_, _, going := lg.droppable(before, nil)
	if len(going) == 0 {
		return nil
	}
	sets := lg.manifest.State().Sets
	for i := range sets {
		for k := range sets[i].Objects {
			o := &sets[i].Objects[k]
			if slices.ContainsFunc(o.Spans(), func(s segment.TableSpan) bool {
				return going[tableSet{s.TableID, sets[i].Number}]
			}) {
				list = append(list, *o)
			}
		}
	}
	return list
}

// DropTwins removes local segments whose rows are all in objects, if the newest of them is from before that time, and
// stored reports that all of these objects are in the bucket; nil means that they are. It returns the number of
// segments and bytes. The twins of a table in a set go together, because readers take either these or the objects. A
// segment that several tables share stays until the rows of all of them may go.
func (lg *Ledger) DropTwins(before Before, stored func(key string) bool) (segments int, bytes int64, err error) {
	if err := lg.commitPending(); err != nil { // an uncommitted edit may already have dropped them
		return 0, 0, fmt.Errorf("shard %d: drop segments whose rows are in object storage: %w", lg.cfg.ID, err)
	}
	lg.mu.Lock()
	ids, bytes, _ := lg.droppable(before, stored)
	generation := lg.generation
	lg.mu.Unlock()
	if len(ids) == 0 {
		return 0, 0, nil
	}
	if err := lg.commit(&pendingEdit{edit: &manifest.Edit{Remove: ids}, generation: generation}); err != nil {
		return 0, 0, fmt.Errorf("shard %d: drop segments whose rows are in object storage: %w", lg.cfg.ID, err)
	}
	return len(ids), bytes, nil
}

// droppable returns the segments that DropTwins may remove, in ascending order of ids, their bytes, and what they are
// twins of. lg.mu must be held.
func (lg *Ledger) droppable(before Before, stored func(key string) bool) (ids []uint64, bytes int64,
	going map[tableSet]bool,
) {
	tb := lg.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	// Only sets on disk count. What the log has after them would be replayed, but the manifest must be right by itself.
	state := lg.manifest.State()
	if len(state.Sets) == 0 || len(lg.pending) > 0 || tb.coldMismatch {
		return nil, 0, nil
	}
	groups, of := tb.twinsOf(state, before, stored)
	going = map[tableSet]bool{}
	var blocked []tableSet
	block := func(g tableSet) {
		if t := groups[g]; !t.keep {
			t.keep = true
			blocked = append(blocked, g)
		}
	}
	for l, list := range of {
		if !tb.onlyTwins(l, len(list)) {
			for _, g := range list {
				block(g)
			}
		}
	}
	for g, t := range groups {
		if t.keep {
			blocked = append(blocked, g)
		}
	}
	for len(blocked) > 0 { // a segment that stays keeps all others with rows of the same table and set
		g := blocked[len(blocked)-1]
		blocked = blocked[:len(blocked)-1]
		for _, l := range groups[g].segments {
			for _, other := range of[l] {
				block(other)
			}
		}
	}
	for l, list := range of {
		if !groups[list[0]].keep {
			ids, bytes = append(ids, l.ID), bytes+l.Bytes
			for _, g := range list {
				going[g] = true
			}
		}
	}
	slices.Sort(ids)
	return ids, bytes, going
}

// twinsOf returns the twins of all tables and sets, and to which of them each segment belongs. Those that must stay by
// themselves are marked. mu must be held.
func (tb *Tables) twinsOf(state *manifest.State, before Before, stored func(key string) bool) (
	map[tableSet]*twins, map[*LiveSegment][]tableSet,
) {
	groups, of := map[tableSet]*twins{}, map[*LiveSegment][]tableSet{}
	inObjects, missing := map[tableSet]int64{}, map[tableSet]bool{}
	for i := range state.Sets {
		for k := range state.Sets[i].Objects {
			o := &state.Sets[i].Objects[k]
			there := stored == nil || stored(o.Key)
			for _, span := range o.Spans() {
				g := tableSet{span.TableID, state.Sets[i].Number}
				inObjects[g] += span.Rows
				missing[g] = missing[g] || !there
			}
		}
	}
	for g, rows := range inObjects {
		d := tb.State.Tables[g.table]
		cuts := tb.segs.cutOrders[g.table]
		at, known := slices.BinarySearchFunc(cuts, g.set, func(o manifest.CutOrder, number uint64) int {
			return cmp.Compare(o.Number, number)
		})
		if d == nil || d.TimeIndex() == nil || !known {
			continue
		}
		from, list := uint64(0), tb.segs.byTable[g.table]
		if at > 0 {
			from = cuts[at-1].Order
		}
		t := &twins{segments: list[firstFrom(list, from):firstFrom(list, cuts[at].Order)]}
		if len(t.segments) == 0 {
			continue
		}
		groups[g] = t
		t.keep = missing[g]
		index, expired := d.TimeIndex().Type, tb.State.Expired[g.table]
		oldest := time.Time{}
		if before != nil {
			oldest = before(d.Table)
		}
		eras, partly, merge := tb.erasOf(g.table), false, query.Append
		for _, l := range t.segments {
			of[l] = append(of[l], g)
			span := l.Span(g.table)
			rows -= span.Rows
			partly = partly || span.MinTime < expired.Before && l.Order < expired.Order
			young := !oldest.IsZero() && !index.Moment(span.MaxTime).Before(oldest)
			t.keep = t.keep || young || tb.sources.have(l)
			merge = max(merge, eras.Segment(l.Order, d.Merge))
		}
		// Rows that expired, or were merged with later ones, may be in segments and not in objects. Any other difference
		// is a fault.
		t.keep = t.keep || rows < 0 && !partly && merge == query.Append
	}
	return groups, of
}

// onlyTwins reports whether all live rows of a segment belong to n tables that have them in objects. mu must be held.
func (tb *Tables) onlyTwins(l *LiveSegment, n int) bool {
	if !l.Shared() {
		return n == 1
	}
	for _, span := range l.Tables {
		if tb.State.Tables[span.TableID] != nil && !tb.State.Dead(span, l.Order) &&
			!tb.joinedAway(span.TableID, l.Order) {
			n--
		}
	}
	return n == 0
}
