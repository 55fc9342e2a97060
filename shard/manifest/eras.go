package manifest

import (
	"cmp"
	"slices"

	"cordwood/shard/cold"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// Merging holds the merge modes of rows that were written before a table's merge mode changed.
type Merging struct {
	TableID uint64
	// Eras are in ascending order.
	Eras []Era
}

// Era is a time during which the merge mode of a table did not change. Its rows are in segments
// with an order below Before, unless an earlier era includes them. The table's present definition
// applies to rows that are in no era.
type Era struct {
	Before uint64
	Merge  query.Merge
}

// forgetEras removes eras without rows.
func (s *State) forgetEras() {
	if len(s.Merging) == 0 {
		return
	}
	index := make(map[uint64]int, len(s.Merging))
	used := make([][]bool, len(s.Merging))
	for i, m := range s.Merging {
		index[m.TableID] = i
		used[i] = make([]bool, len(m.Eras)+1)
	}
	note := func(table, order uint64) {
		if i, ok := index[table]; ok {
			used[i][eraOf(s.Merging[i].Eras, order)] = true
		}
	}
	dead := s.Dead()
	for i := range s.Segments {
		m := &s.Segments[i]
		if !m.Shared() {
			note(m.TableID, m.Order)
			continue
		}
		for j := range m.Tables {
			if t := &m.Tables[j]; !dead.Span(m, t) {
				note(t.TableID, m.Order)
			}
		}
	}
	for _, o := range s.CutOrders { // objects have the rows of this cut
		note(o.TableID, o.Order-1)
	}
	for i, m := range s.Merging {
		if s.hasLeftOver(m.TableID, dead) {
			used[i] = slices.Repeat([]bool{true}, len(used[i]))
		}
	}
	var kept []Merging
	for i, m := range s.Merging {
		var eras []Era
		for j, era := range m.Eras {
			if used[i][j] {
				eras = append(eras, era)
			}
		}
		if len(eras) > 0 {
			kept = append(kept, Merging{m.TableID, eras})
		}
	}
	s.Merging = kept
}

// hasLeftOver reports whether rows of a table have stayed in segments of a cut whose set has none of its objects,
// because its merge mode was changed within the cut. The eras of such a table say that it has such rows, even if those
// of an earlier mode are gone.
func (s *State) hasLeftOver(id uint64, dead *Dead) bool {
	from, _ := slices.BinarySearchFunc(s.CutOrders, id, func(o CutOrder, id uint64) int {
		return cmp.Compare(o.TableID, id)
	})
	orders := s.CutOrders[from:]
	if n := slices.IndexFunc(orders, func(o CutOrder) bool { return o.TableID != id }); n >= 0 {
		orders = orders[:n]
	}
	if len(orders) == 0 {
		return false
	}
	joined := joinedLists{sets: s.Sets, counted: s.Cold.Counted}
	return slices.ContainsFunc(s.Segments, func(m segment.Meta) bool {
		if !hasTable(&m, id, dead) {
			return false
		}
		number, cut := CutOf(orders, m.Order)
		if !cut || joined.has(id, number) {
			return false
		}
		at, found := slices.BinarySearchFunc(s.Sets, number, func(set Set, n uint64) int {
			return cmp.Compare(set.Number, n)
		})
		return found && !slices.ContainsFunc(s.Sets[at].Objects, func(o cold.Object) bool { return o.Has(id) })
	})
}

// hasTable reports whether a segment has rows of a table that live.
func hasTable(m *segment.Meta, id uint64, dead *Dead) bool {
	if !m.Shared() {
		return m.TableID == id
	}
	return slices.ContainsFunc(m.Tables, func(t segment.TableSpan) bool { return t.TableID == id && !dead.Span(m, &t) })
}

// eraOf returns the index of the era of segments with the given order, or len(eras) if there is
// none.
func eraOf(eras []Era, order uint64) int {
	i, _ := slices.BinarySearchFunc(eras, order, func(e Era, order uint64) int {
		if e.Before > order {
			return 1
		}
		return -1
	})
	return i
}
