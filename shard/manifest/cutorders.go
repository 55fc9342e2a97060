package manifest

import (
	"cmp"
	"slices"
	"sort"
)

// This file finds out which orders of cuts are needed, and which cuts were joined.

// neededOrders returns the orders of cuts that are open, have a set, or were joined to a set.
func (s *State) neededOrders() []CutOrder {
	joined := joinedLists{sets: s.Sets, counted: s.Cold.Counted}
	return without(s.CutOrders, func(o CutOrder) bool {
		return !s.hasCut(o.Number) && !joined.has(o.TableID, o.Number)
	})
}

// forgetOrders removes the orders of cuts that were joined to the set of another one, if the table has no segment
// before them any more. The last order of a table stays: rows in memory are after it. It must be called after segments.
func (s *State) forgetOrders() {
	var first map[uint64]uint64 // the lowest order of the segments of a table
	joined := joinedLists{sets: s.Sets, counted: s.Cold.Counted}
	last := func(i int) bool { return i == len(s.CutOrders)-1 || s.CutOrders[i+1].TableID != s.CutOrders[i].TableID }
	var kept []CutOrder
	for i, o := range s.CutOrders {
		gone := false
		if !last(i) && !s.hasCut(o.Number) && joined.has(o.TableID, o.Number) {
			if first == nil {
				first = s.firstOrders()
			}
			least, has := first[o.TableID]
			gone = !has || least >= o.Order
		}
		switch {
		case gone && kept == nil:
			kept = append(make([]CutOrder, 0, len(s.CutOrders)), s.CutOrders[:i]...)
		case !gone && kept != nil:
			kept = append(kept, o)
		}
	}
	if kept != nil {
		s.CutOrders = kept
	}
}

// firstOrders returns the lowest order of the segments of each table. It is 0 if there is a raw one, whose rows may
// belong to any cut.
func (s *State) firstOrders() map[uint64]uint64 {
	first := map[uint64]uint64{}
	note := func(table, order uint64) {
		if least, has := first[table]; !has || order < least {
			first[table] = order
		}
	}
	for i := range s.Segments {
		m := &s.Segments[i]
		for _, span := range m.Tables {
			note(span.TableID, m.Order)
		}
		switch {
		case m.Raw:
			note(m.TableID, 0)
		case !m.Shared():
			note(m.TableID, m.Order)
		}
	}
	return first
}

// joinedLists are the joined cuts of tables, as they are asked for: a shard may have very many.
type joinedLists struct {
	sets    []Set
	counted []Counted
	lists   map[uint64][]uint64
}

// has reports whether a cut of a table was joined, or is hidden because others were.
func (l *joinedLists) has(table, number uint64) bool {
	at, found := slices.BinarySearchFunc(l.counted, table, func(c Counted, id uint64) int {
		return cmp.Compare(c.TableID, id)
	})
	if found && InRanges(l.counted[at].Hidden, number) {
		return true
	}
	list, known := l.lists[table]
	if !known {
		for i := range l.sets {
			joined := l.sets[i].Joined
			at, found := slices.BinarySearchFunc(joined, table, func(j Joined, id uint64) int {
				return cmp.Compare(j.TableID, id)
			})
			if found {
				list = append(list, joined[at].Cuts...)
			}
		}
		slices.Sort(list)
		if l.lists == nil {
			l.lists = map[uint64][]uint64{}
		}
		l.lists[table] = list
	}
	_, is := slices.BinarySearch(list, number)
	return is
}

// JoinedCuts returns the cuts whose rows are in the objects of other cuts too, by table, in ascending order.
func JoinedCuts(sets []Set) map[uint64][]uint64 {
	var joined map[uint64][]uint64
	for i := range sets {
		for _, j := range sets[i].Joined {
			if joined == nil {
				joined = map[uint64][]uint64{}
			}
			joined[j.TableID] = append(joined[j.TableID], j.Cuts...)
		}
	}
	for id := range joined {
		slices.Sort(joined[id])
	}
	return joined
}

// CutOf returns the number of the cut that has the rows of segments of an order: the first one in a list of the orders
// of a table that is above it.
func CutOf(orders []CutOrder, order uint64) (number uint64, ok bool) {
	at := sort.Search(len(orders), func(i int) bool { return order < orders[i].Order })
	if at == len(orders) {
		return 0, false
	}
	return orders[at].Number, true
}
