package manifest

import (
	"slices"

	"cordwood/shard/query"
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
