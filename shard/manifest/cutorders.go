package manifest

import (
	"cmp"
	"slices"
	"sort"
)

// This file finds out which orders of cuts are needed, and which cuts were joined.

// neededOrders returns the orders of cuts without those whose rows returned. These rows count as rows of the next cut.
func (s *State) neededOrders() []CutOrder {
	return without(s.CutOrders, func(o CutOrder) bool {
		at, found := slices.BinarySearchFunc(s.Cold.Counted, o.TableID, Counted.compareID)
		return found && InRanges(s.Cold.Counted[at].Returned, o.Number)
	})
}

// forgetOrders removes the orders of cuts that are closed and have no set any more, because its objects have expired or
// were joined to those of another set, if the table has no segment before them. Otherwise the rows of such a segment
// would count as rows of the next cut, whose objects do not have them. The last order of a table whose cut was joined
// stays: rows in memory are after it. It must be called after segments.
func (s *State) forgetOrders() {
	var first *firstOrders
	joined := joinedLists{sets: s.Sets, counted: s.Cold.Counted}
	last := func(i int) bool { return i == len(s.CutOrders)-1 || s.CutOrders[i+1].TableID != s.CutOrders[i].TableID }
	var kept []CutOrder
	for i, o := range s.CutOrders {
		gone := false
		if !s.hasCut(o.Number) {
			if first == nil {
				first = s.firstOrders()
			}
			if joined.has(o.TableID, o.Number) {
				gone = !last(i) && first.all.noneBefore(o)
			} else {
				gone = first.live.noneBefore(o)
			}
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

// firstOrders has the lowest orders of segments: of all of them, and of those with rows that have not expired. An order
// is 0 if there is a raw segment, whose rows may belong to any cut.
type firstOrders struct{ all, live lowestOrders }

// lowestOrders are orders by table.
type lowestOrders map[uint64]uint64

func (l lowestOrders) note(table, order uint64) {
	if least, has := l[table]; !has || order < least {
		l[table] = order
	}
}

// noneBefore reports whether no segment has rows of the table before the end of a cut.
func (l lowestOrders) noneBefore(o CutOrder) bool {
	least, has := l[o.TableID]
	return !has || least >= o.Order
}

func (s *State) firstOrders() *firstOrders {
	first := &firstOrders{lowestOrders{}, lowestOrders{}}
	dead := s.Dead()
	for i := range s.Segments {
		m := &s.Segments[i]
		for _, span := range m.Tables {
			first.all.note(span.TableID, m.Order)
			if !dead.before(span.TableID, span.MaxTime, m.Order) {
				first.live.note(span.TableID, m.Order)
			}
		}
		order := m.Order
		if m.Raw {
			order = 0
		}
		if m.Raw || !m.Shared() {
			first.all.note(m.TableID, order)
			first.live.note(m.TableID, order)
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
	at, found := slices.BinarySearchFunc(l.counted, table, Counted.compareID)
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
