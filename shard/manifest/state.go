package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/schemapb"
	"cordwood/shard/segment"
)

// TombstoneTTL is how long a dropped table is remembered, by the replicated clock. It is part of
// the replicated rules, because every replica must forget it at the same time.
const TombstoneTTL = 7 * 24 * time.Hour

// tombstoneStep is how often a shard forgets tables, by the replicated clock: at the first entry of
// each such step.
const tombstoneStep = time.Minute

// State is the durable state of a shard.
type State struct {
	// AppliedIndex is the index of the log up to which Segments and the other fields contain
	// everything. AppliedTerm is its term.
	AppliedIndex, AppliedTerm uint64
	// NextSegmentID is greater than the id of every segment that was ever committed.
	NextSegmentID uint64
	// Clock is the shard's replicated clock, in nanoseconds since 1970.
	Clock int64
	// Segments are the segments with live rows, in ascending order of ids. Dead returns which of
	// their rows are dead.
	Segments []segment.Meta
	// Tables are the newest known definitions, by ascending id.
	Tables []Table
	// Dropped are the tables that were dropped in the last TombstoneTTL, by ascending id.
	Dropped []Tombstone
	// Expired lists the expired rows, by ascending table id.
	Expired []Expiry
	// Merging holds the earlier merge modes of tables, in ascending order of table ids. A table
	// whose rows all have the present mode is not in it.
	Merging []Merging
	// Reserved are ids below NextSegmentID of files that may be being written and are not live yet.
	Reserved []uint64
	// Garbage are the ids of dead segments whose files may still exist, in ascending order.
	Garbage []uint64
	// Sessions are the sessions of the writers, by ascending id.
	Sessions []Session
	// Keys are the remembered batches of requests with a key, in the order in which they were
	// appended.
	Keys []Key
	// Cold is the state of rows in object storage.
	Cold Cold
	// Sets are the sets of objects, in ascending order of numbers.
	Sets []Set
	// CutOrders says which segments belong to which cut, in ascending order of tables and numbers.
	CutOrders []CutOrder
}

// Table is the definition of a table, encoded.
type Table struct {
	ID uint64
	// Def is an encoded schemapb.Table.
	Def []byte
}

// EncodeTable returns the encoded form of a definition.
func EncodeTable(t *schemapb.Table) (Table, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(t)
	if err != nil {
		return Table{}, fmt.Errorf("definition of table %d: %w", t.GetId(), err)
	}
	return Table{ID: t.GetId(), Def: b}, nil
}

// Decode returns the definition.
func (t Table) Decode() (*schemapb.Table, error) {
	p := &schemapb.Table{}
	if err := proto.Unmarshal(t.Def, p); err != nil {
		return nil, fmt.Errorf("definition of table %d: %w", t.ID, err)
	}
	return p, nil
}

// Tombstone is a table that was dropped.
type Tombstone struct {
	TableID uint64
	// At is the replicated clock at the drop.
	At int64
}

// Forgotten reports whether the table is no longer remembered at the given replicated clock. It
// depends only on these two times, so a restarted replica gives the same answer as the others.
func (d Tombstone) Forgotten(clock int64) bool {
	return clock-clock%int64(tombstoneStep)-d.At > int64(TombstoneTTL)
}

// Expiry records that rows of a table with a time index below Before have expired if they are in
// segments with an order below Order. It does not affect later writes, whatever their time.
type Expiry struct {
	TableID uint64
	Before  int64
	Order   uint64
	// Index is the index of the log at which the rows expired, in shards that had a cut before; otherwise 0.
	Index uint64
}

// Session is what a shard remembers of a writer to recognise duplicates.
type Session struct {
	ID uint64
	// Unlogged marks a session of batches that did not go through the log.
	Unlogged bool
	// High is the highest sequence number appended.
	High uint64
	// Seen has bit i of word i/64 set if High-i was appended.
	Seen []uint64
	// LastUnixNano is the replicated clock at the last append.
	LastUnixNano int64
}

// Edit is a change of the state.
type Edit struct {
	// If AppliedIndex is 0, then AppliedIndex, AppliedTerm, Clock, Sessions and Keys stay
	// unchanged.
	AppliedIndex, AppliedTerm uint64
	// NextSegmentID takes effect if it is higher than the state's.
	NextSegmentID uint64
	Clock         int64
	// Add and Remove make segments live and dead. Segments with only dead rows are not in Add.
	Add    []segment.Meta
	Remove []uint64
	// Tables replaces definitions; Drop drops tables, and makes their segments dead.
	Tables []Table
	Drop   []uint64
	// Tombstones are tables that were dropped earlier.
	Tombstones []Tombstone
	// Expire records expired rows. It replaces the table's earlier expiry, and makes segments dead
	// whose rows have all expired.
	Expire []Expiry
	// Merging replaces the eras of tables.
	Merging []Merging
	// Reserved replaces all reserved ids.
	Reserved []uint64
	// Swept means that the files of all garbage before this edit have been removed.
	Swept bool
	// Garbage are ids of segments that became dead earlier.
	Garbage []uint64
	// Sessions replaces all sessions, Keys all keys.
	Sessions []Session
	Keys     []Key
	// Cold, if not nil, replaces the state of object storage.
	Cold *Cold
	// Sets replaces sets of the same numbers. A set without objects has gone.
	Sets []Set
	// CutOrders are added. Those of cuts that are not open and have no set are left out.
	CutOrders []CutOrder
}

// coldState returns Cold, which it creates if it is nil.
func (e *Edit) coldState() *Cold {
	if e.Cold == nil {
		e.Cold = &Cold{}
	}
	return e.Cold
}

// apply returns the state after e; s is not changed. Applying e again changes nothing.
func (s *State) apply(e *Edit) *State {
	n := &State{
		AppliedIndex: s.AppliedIndex, AppliedTerm: s.AppliedTerm, Clock: s.Clock,
		NextSegmentID: max(s.NextSegmentID, e.NextSegmentID), Reserved: slices.Clone(e.Reserved),
		Segments: s.Segments, Tables: s.Tables, Dropped: s.Dropped, Expired: s.Expired, Merging: s.Merging,
		Sessions: s.Sessions, Keys: s.Keys, Cold: s.Cold, Sets: s.Sets, CutOrders: s.CutOrders,
	}
	if !e.Swept {
		n.Garbage = s.Garbage
	}
	if len(e.Garbage) > 0 {
		n.Garbage = merge(n.Garbage, e.Garbage, self)
	}
	if e.AppliedIndex > 0 {
		n.AppliedIndex, n.AppliedTerm, n.Clock = e.AppliedIndex, e.AppliedTerm, e.Clock
		n.Keys = e.Keys
		n.Sessions = slices.SortedFunc(slices.Values(e.Sessions), func(a, b Session) int {
			return cmp.Or(cmp.Compare(a.ID, b.ID), compareBool(a.Unlogged, b.Unlogged))
		})
	}
	n.drop(e)
	if len(e.Expire) > 0 {
		n.Expired = merge(n.Expired, e.Expire, Expiry.id)
	}
	if len(e.Tables) > 0 {
		n.Tables = merge(n.Tables, e.Tables, Table.id)
	}
	if len(e.Drop) > 0 {
		drop := idSet(e.Drop)
		n.Tables = without(n.Tables, func(t Table) bool { return drop[t.ID] })
		n.Expired = without(n.Expired, func(x Expiry) bool { return drop[x.TableID] })
	}
	if len(e.Merging) > 0 {
		n.Merging = merge(n.Merging, e.Merging, Merging.id)
	}
	n.cold(e)
	n.segments(e)
	if len(n.CutOrders) > 0 {
		n.forgetOrders()
	}
	n.forgetEras()
	return n
}

// drop updates the tombstones. The tombstones of the edit stay at least until the next edit,
// however old they are, because this edit makes their rows dead.
func (s *State) drop(e *Edit) {
	if old := func(d Tombstone) bool { return d.Forgotten(s.Clock) }; slices.ContainsFunc(s.Dropped, old) {
		s.Dropped = without(s.Dropped, old)
	}
	if len(e.Drop)+len(e.Tombstones) == 0 {
		return
	}
	stones := slices.Clone(e.Tombstones)
	have := make(map[uint64]bool, len(s.Dropped)+len(stones))
	for _, list := range [][]Tombstone{s.Dropped, stones} {
		for _, d := range list {
			have[d.TableID] = true
		}
	}
	for _, id := range e.Drop {
		if !have[id] {
			stones = append(stones, Tombstone{id, s.Clock})
		}
	}
	s.Dropped = merge(s.Dropped, stones, Tombstone.id)
}

// segments updates the live segments. All other fields must have been updated before.
func (s *State) segments(e *Edit) {
	if len(e.Add)+len(e.Remove)+len(e.Drop)+len(e.Expire)+len(e.Sets)+len(e.CutOrders) == 0 {
		return
	}
	live, before := s.Segments, s.Segments
	if len(e.Remove) > 0 {
		gone := idSet(e.Remove)
		live = without(live, func(m segment.Meta) bool { return gone[m.ID] })
	}
	if len(e.Add) > 0 {
		live = merge(live, e.Add, func(m segment.Meta) uint64 { return m.ID })
		s.NextSegmentID = max(s.NextSegmentID, live[len(live)-1].ID+1)
	}
	dead := s.Dead()
	s.Segments = without(live, func(m segment.Meta) bool { return dead.Segment(&m) })
	is := make(map[uint64]bool, len(s.Segments))
	for i := range s.Segments {
		is[s.Segments[i].ID] = true
	}
	garbage := slices.Clone(e.Remove)
	for _, list := range [][]segment.Meta{before, e.Add} {
		for i := range list {
			if !is[list[i].ID] {
				garbage = append(garbage, list[i].ID)
			}
		}
	}
	if len(garbage) > 0 {
		s.Garbage = merge(s.Garbage, garbage, self)
	}
}

func self(id uint64) uint64 { return id }

// Dead determines which rows of segments are dead: rows of dropped tables, expired rows, and those of cuts that were
// joined.
type Dead struct {
	state   *State
	dropped map[uint64]bool
	expired map[uint64]Expiry
	joined  joinedLists
}

// Dead returns which rows of s are dead.
func (s *State) Dead() *Dead {
	d := &Dead{state: s, dropped: make(map[uint64]bool, len(s.Dropped)), expired: make(map[uint64]Expiry, len(s.Expired))}
	for _, x := range s.Expired {
		d.expired[x.TableID] = x
	}
	for _, t := range s.Dropped {
		d.dropped[t.TableID] = true
	}
	d.joined.sets, d.joined.counted = s.Sets, s.Cold.Counted
	return d
}

// Segment reports whether all rows of a segment are dead.
func (d *Dead) Segment(m *segment.Meta) bool {
	if !m.Shared() {
		return d.dropped[m.TableID] || d.before(m.TableID, m.MaxTime, m.Order) || !m.Raw && d.joinedAway(m.TableID, m.Order)
	}
	return !slices.ContainsFunc(m.Tables, func(t segment.TableSpan) bool { return !d.Span(m, &t) })
}

// Span reports whether the rows of a table in a shared segment are dead. A table without a
// definition was dropped, perhaps so long ago that there is no tombstone.
func (d *Dead) Span(m *segment.Meta, t *segment.TableSpan) bool {
	if d.dropped[t.TableID] || d.before(t.TableID, t.MaxTime, m.Order) || d.joinedAway(t.TableID, m.Order) {
		return true
	}
	_, defined := slices.BinarySearchFunc(d.state.Tables, t.TableID, func(def Table, id uint64) int {
		return cmp.Compare(def.ID, id)
	})
	return !defined
}

// joinedAway reports whether the rows of a table in segments of an order are in objects of joined cuts.
func (d *Dead) joinedAway(table, order uint64) bool {
	list := d.state.CutOrders
	if len(list) == 0 {
		return false
	}
	from, _ := slices.BinarySearchFunc(list, table, func(o CutOrder, id uint64) int { return cmp.Compare(o.TableID, id) })
	to, _ := slices.BinarySearchFunc(list, table+1, func(o CutOrder, id uint64) int { return cmp.Compare(o.TableID, id) })
	number, ok := CutOf(list[from:to], order)
	return ok && d.joined.has(table, number)
}

func (d *Dead) before(table uint64, maxTime int64, order uint64) bool {
	x, ok := d.expired[table]
	return ok && maxTime < x.Before && order < x.Order
}

// asEdit returns the edit that creates s from the empty state.
func (s *State) asEdit() *Edit {
	e := &Edit{
		AppliedIndex: s.AppliedIndex, AppliedTerm: s.AppliedTerm, NextSegmentID: s.NextSegmentID, Clock: s.Clock,
		Add: s.Segments, Tables: s.Tables, Tombstones: s.Dropped, Expire: s.Expired, Merging: s.Merging, Reserved: s.Reserved,
		Garbage: s.Garbage, Sessions: s.Sessions, Keys: s.Keys, Sets: s.Sets, CutOrders: s.CutOrders,
	}
	if s.Cold.LastCut > 0 {
		e.Cold = &s.Cold
	}
	return e
}

func (t Table) id() uint64     { return t.ID }
func (d Tombstone) id() uint64 { return d.TableID }
func (x Expiry) id() uint64    { return x.TableID }
func (m Merging) id() uint64   { return m.TableID }

// merge returns the values of sorted, in ascending order of ids. Values of news replace values with
// the same id; the last one wins.
func merge[V any](sorted, news []V, id func(V) uint64) []V {
	news = slices.Clone(news)
	slices.SortStableFunc(news, func(a, b V) int { return cmp.Compare(id(a), id(b)) })
	out := make([]V, 0, len(sorted)+len(news))
	for len(sorted) > 0 || len(news) > 0 {
		switch {
		case len(news) == 0 || len(sorted) > 0 && id(sorted[0]) < id(news[0]):
			out, sorted = append(out, sorted[0]), sorted[1:]
		case len(news) > 1 && id(news[1]) == id(news[0]):
			news = news[1:]
		default:
			if len(sorted) > 0 && id(sorted[0]) == id(news[0]) {
				sorted = sorted[1:]
			}
			out, news = append(out, news[0]), news[1:]
		}
	}
	return out
}

// without returns a copy of list without the given values.
func without[V any](list []V, drop func(V) bool) []V {
	out := make([]V, 0, len(list))
	for _, v := range list {
		if !drop(v) {
			out = append(out, v)
		}
	}
	return out
}

func idSet(ids []uint64) map[uint64]bool {
	set := make(map[uint64]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
