package manifest

import (
	"cmp"
	"slices"

	"cordwood/shard/cold"
)

// Cold is what the replicas agree on about rows in object storage, without the sets. The zero value is the state of a
// shard that never had a cut.
type Cold struct {
	// LastCut is the number of the last cut; 0 if there was none.
	LastCut uint64
	// Open is the cut that is open, or nil. It is not changed in place.
	Open *Cut
	// Counted has the tables that were in a cut, in ascending order of ids, with the rows appended since.
	Counted []Counted
	// Dead are objects that are in no set any more, in the order in which they died.
	Dead []DeadObject
}

// Cut is a set of rows: all rows of its tables that were appended up to an index of the log and are in no earlier cut.
type Cut struct {
	Number uint64
	// Index is the index of the log, At the replicated clock when the cut was applied.
	Index uint64
	At    int64
	// Tables are in ascending order of ids, with the rows that are in the cut.
	Tables []Counted
	// Joins, if there are any, means that no rows are cut: the objects of these tables in these sets become fewer ones.
	Joins []Joined
	// ByDay means that the rows of one table and this UTC day, in days since 1970, become one set of rows.
	ByDay bool
	Day   int64
}

// Joined are cuts of a table whose rows are in the same objects, in ascending order. They are those of the set of the
// last of them.
type Joined struct {
	TableID uint64
	Cuts    []uint64
}

// Counted has the rows of a table that were appended since its last cut, or that a cut has.
type Counted struct {
	TableID uint64
	Rows    int64
	// MinTime is the smallest time index of the rows, if there are any.
	MinTime int64
	// Unknown means that other rows may have been appended without having been counted.
	Unknown bool
	// Expired means that some of the rows may have expired since, so Rows is an upper limit.
	Expired bool
	// Hidden are ranges of cuts whose rows are read from objects only, because some of them were joined by days: those
	// that replicas have in segments are dead. The ranges are in ascending order and do not touch.
	Hidden []CutRange
	// Returned are the closed cuts of which no row went to objects, because the rows were of several merge modes: they
	// belong to the next cut of the table. The ranges are as those of Hidden.
	Returned []CutRange
}

// CutRange are the cuts from First to Last.
type CutRange struct{ First, Last uint64 }

// InRanges reports whether ranges in ascending order have a cut.
func InRanges(list []CutRange, number uint64) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if number >= list[i].First {
			return number <= list[i].Last
		}
	}
	return false
}

// AddRange returns ranges with another one. It does not change list.
func AddRange(list []CutRange, r CutRange) (out []CutRange) {
	for i, x := range list {
		switch {
		case x.Last+1 < r.First:
			out = append(out, x)
		case r.Last+1 < x.First:
			return append(append(out, r), list[i:]...)
		default:
			r = CutRange{min(r.First, x.First), max(r.Last, x.Last)}
		}
	}
	return append(out, r)
}

// Set has the objects of a cut.
type Set struct {
	// Number is the number of the cut, Index the index of the log up to which it has rows.
	Number, Index uint64
	// Objects are in the order in which they were built. There is at least one.
	Objects []cold.Object
	// Joined has the tables whose objects have the rows of several cuts, in ascending order of ids. This set is that of
	// the last one of them. The segments with these rows are dead: a replica has those of some cuts only.
	Joined []Joined
}

// DeadObject is an object that no set has any more.
type DeadObject struct {
	Key   string
	Bytes int64
	// At is the replicated clock at its death.
	At int64
}

// CutOrder says which rows of a table are in a cut: those in segments with an order below Order, except those of
// earlier cuts. It belongs to this replica alone. As long as it is missing, all segments are below.
type CutOrder struct {
	Number, TableID, Order uint64
}

// cold updates everything about object storage.
func (s *State) cold(e *Edit) {
	if e.Cold != nil {
		s.Cold = *e.Cold
	}
	if len(e.Sets) > 0 {
		s.Sets = without(merge(s.Sets, e.Sets, Set.id), func(set Set) bool { return len(set.Objects) == 0 })
	}
	if len(e.Drop) > 0 {
		drop := idSet(e.Drop)
		s.CutOrders = without(s.CutOrders, func(o CutOrder) bool { return drop[o.TableID] })
	}
	if len(e.CutOrders) > 0 {
		orders := slices.Concat(s.CutOrders, e.CutOrders)
		slices.SortStableFunc(orders, CutOrder.compare)
		s.CutOrders = slices.CompactFunc(orders, func(a, b CutOrder) bool { return a.compare(b) == 0 })
	}
	if len(s.CutOrders) > 0 && (e.Cold != nil || len(e.Sets)+len(e.CutOrders) > 0) {
		s.CutOrders = s.neededOrders()
	}
}

// hasCut reports whether a cut is open or has a set.
func (s *State) hasCut(number uint64) bool {
	if s.Cold.Open != nil && s.Cold.Open.Number == number {
		return true
	}
	_, found := slices.BinarySearchFunc(s.Sets, number, func(set Set, n uint64) int { return cmp.Compare(set.Number, n) })
	return found
}

func (s Set) id() uint64 { return s.Number }

func (c Counted) compareID(id uint64) int { return cmp.Compare(c.TableID, id) }

func (o CutOrder) compare(to CutOrder) int {
	return cmp.Or(cmp.Compare(o.TableID, to.TableID), cmp.Compare(o.Number, to.Number))
}

// WithoutLocal returns the state of a replica that lost its local files, and with them all rows that are in no set. It
// forgets the batches of the writers, because the rows of some of them are lost: they may be sent again.
func (s *State) WithoutLocal() *State {
	n := *s
	n.Segments, n.Reserved, n.Garbage, n.Sessions, n.Keys = nil, nil, nil, nil, nil
	n.Cold.Open, n.Cold.Counted = nil, slices.Clone(s.Cold.Counted)
	for i, c := range n.Cold.Counted {
		n.Cold.Counted[i] = Counted{TableID: c.TableID, Unknown: c.Unknown, Hidden: c.Hidden, Returned: c.Returned}
	}
	n.CutOrders = n.neededOrders()
	n.forgetOrders()
	return &n
}
