package rules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"cordwood/proto/column"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file has the rules for rows that go to object storage: which cut is open, which objects have the rows of a cut,
// and when an object is dead. See ../cold/DESIGN.md.

// MaxCutTables is the maximum number of tables of a cut.
const MaxCutTables = 10_000

// Cut is the content of a KindCut: the rows of the tables up to this entry are the rows of a cut.
type Cut struct {
	Number uint64
	// Tables are in ascending order of ids.
	Tables []uint64
	// Merging means that tables whose rows merge are in the cut, too. Without it they are left out.
	Merging bool
}

// Offload is the content of a KindOffload: the rows of a cut are in the objects.
type Offload struct {
	Number uint64
	// Tables are the tables of the cut, in ascending order of ids.
	Tables  []Offloaded
	Objects []cold.Object
}

// Offloaded is what became of the rows of a table.
type Offloaded struct {
	TableID uint64
	// Kept is the number of rows in the objects, LeftOut the number of rows that had expired.
	Kept, LeftOut int64
}

// coldState is the part of State about object storage. The zero value is the state of a shard without a cut.
type coldState struct {
	lastCut uint64
	// open is replaced, not changed in place.
	open    *manifest.Cut
	counted map[uint64]*manifest.Counted
	sets    map[uint64]*manifest.Set // by number; replaced, not changed in place
	dead    []manifest.DeadObject
	// changed are the numbers of sets that changed since the last freeze.
	changed map[uint64]struct{}
	// joined are the cuts in Set.Joined, by table. The lists are replaced, not changed in place.
	joined map[uint64][]uint64
}

func newColdState(m *manifest.State) coldState {
	c := coldState{
		lastCut: m.Cold.LastCut, open: m.Cold.Open, dead: slices.Clip(m.Cold.Dead), changed: map[uint64]struct{}{},
		counted: make(map[uint64]*manifest.Counted, len(m.Cold.Counted)), sets: make(map[uint64]*manifest.Set, len(m.Sets)),
	}
	for _, t := range m.Cold.Counted {
		c.counted[t.TableID] = &t
	}
	for i := range m.Sets {
		c.sets[m.Sets[i].Number] = &m.Sets[i]
	}
	c.joined = manifest.JoinedCuts(m.Sets)
	return c
}

// LastCut returns the number of the last cut, and the cut that is open, or nil. It must not be changed.
func (st *State) LastCut() (last uint64, open *manifest.Cut) { return st.cold.lastCut, st.cold.open }

// Sets returns the sets in ascending order of their numbers. They must not be changed.
func (st *State) Sets() []*manifest.Set {
	sets := make([]*manifest.Set, 0, len(st.cold.sets))
	for _, n := range slices.Sorted(maps.Keys(st.cold.sets)) {
		sets = append(sets, st.cold.sets[n])
	}
	return sets
}

// HasSets reports whether any rows are in objects.
func (st *State) HasSets() bool { return len(st.cold.sets) > 0 }

// HasSet reports whether rows of a cut are in objects.
func (st *State) HasSet(number uint64) bool { return st.cold.sets[number] != nil }

// LiveObjects returns the number of objects in sets, their rows, and their size.
func (st *State) LiveObjects() (objects, rows, bytes int64) {
	for _, set := range st.cold.sets {
		objects += int64(len(set.Objects))
		for i := range set.Objects {
			rows += set.Objects[i].Meta.Rows
			bytes += set.Objects[i].Meta.Bytes
		}
	}
	return objects, rows, bytes
}

// DeadObjects returns the objects that died. They must not be changed.
func (st *State) DeadObjects() []manifest.DeadObject { return st.cold.dead }

// ErrCold is why a cut or an offload was refused. Nothing was changed.
type ErrCold struct {
	// Mismatch means that the objects do not have as many rows as were appended. An operator has to know it.
	Mismatch bool
	Reason   string
}

// Error returns the reason.
func (e *ErrCold) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &ErrCold{Reason: fmt.Sprintf(format, args...)} }

// Cut opens a cut at an index of the log, and returns its tables: tables of the entry that exist and store rows. If the
// cut is refused, it returns an *ErrCold.
func (st *State) Cut(c *Cut, index uint64) ([]uint64, error) {
	switch o := st.cold.open; {
	case o != nil:
		return nil, refuse("shard %d: cut %d: cut %d is open since index %d", st.ShardID, c.Number, o.Number, o.Index)
	case c.Number != st.cold.lastCut+1:
		return nil, refuse("shard %d: cut %d: the last cut was %d", st.ShardID, c.Number, st.cold.lastCut)
	}
	open := &manifest.Cut{Number: c.Number, Index: index, At: st.Clock}
	last := uint64(0)
	for _, id := range c.Tables {
		if id <= last {
			return nil, refuse("shard %d: cut %d: table %d is not in ascending order", st.ShardID, c.Number, id)
		}
		last = id
		d := st.Tables[id]
		merges := d != nil && d.Merge != query.Append
		if d == nil || d.Instant || merges && !c.Merging {
			continue
		}
		rows := manifest.Counted{TableID: id, Unknown: true}
		if had := st.cold.counted[id]; had != nil && !merges { // rows that merge are fewer than were appended
			rows = *had
			rows.Hidden, rows.Returned = nil, nil
		}
		open.Tables = append(open.Tables, rows)
	}
	if len(open.Tables) == 0 {
		return nil, refuse("shard %d: cut %d: none of its %d tables has rows that can be cut", st.ShardID, c.Number,
			len(c.Tables))
	}
	ids := make([]uint64, len(open.Tables))
	for i, t := range open.Tables {
		ids[i] = t.TableID
		d := st.Tables[t.TableID]
		next := &manifest.Counted{TableID: t.TableID, Unknown: d.SkipWAL || d.Merge != query.Append}
		if had := st.cold.counted[t.TableID]; had != nil {
			next.Hidden, next.Returned = had.Hidden, had.Returned
		}
		st.cold.counted[t.TableID] = next
	}
	st.cold.lastCut, st.cold.open = c.Number, open
	return ids, nil
}

// Offload closes the open cut: its rows are in the objects of a set from now on. If it is refused, it returns an
// *ErrCold.
func (st *State) Offload(o *Offload) error {
	open := st.cold.open
	if open == nil || open.Number != o.Number {
		return refuse("shard %d: offload of cut %d: the cut is not open", st.ShardID, o.Number)
	}
	if len(open.Joins) > 0 {
		return st.offloadJoin(open, o)
	}
	if err := st.checkOffload(open, o); err != nil {
		return err
	}
	st.cold.open = nil
	st.cold.returnRows(open, o)
	set := &manifest.Set{Number: o.Number, Index: open.Index, Objects: slices.Clone(o.Objects)}
	for i := range set.Objects {
		set.Objects[i].Cut = o.Number
	}
	if set = st.bury(set); len(set.Objects) > 0 {
		st.cold.sets[set.Number] = set
		st.cold.changed[set.Number] = struct{}{}
	}
	return nil
}

// returnRows notes of which tables of a cut no row went to objects, or had expired. Their rows belong to the next cut.
// The next count of such a table lacks them.
func (c *coldState) returnRows(open *manifest.Cut, o *Offload) {
	for i, t := range o.Tables {
		had := c.counted[t.TableID]
		if t.Kept != 0 || t.LeftOut != 0 || !open.Tables[i].Unknown || had == nil {
			continue
		}
		next := *had
		next.Unknown = true
		next.Returned = manifest.AddRange(had.Returned, manifest.CutRange{First: o.Number, Last: o.Number})
		c.counted[t.TableID] = &next
	}
}

// Returned reports whether the rows of a table in a closed cut are in no object of it, and belong to the next cut.
func (st *State) Returned(table, cut uint64) bool {
	t := st.cold.counted[table]
	return t != nil && manifest.InRanges(t.Returned, cut)
}

// checkOffload compares an offload with its cut.
func (st *State) checkOffload(open *manifest.Cut, o *Offload) error {
	fail := func(mismatch bool, format string, args ...any) error {
		return &ErrCold{mismatch, fmt.Sprintf("shard %d: offload of cut %d: ", st.ShardID, o.Number) +
			fmt.Sprintf(format, args...)}
	}
	if len(o.Tables) != len(open.Tables) {
		return fail(false, "it has %d tables, the cut has %d", len(o.Tables), len(open.Tables))
	}
	in, err := st.rowsIn(o)
	if err != nil {
		return err
	}
	for i, t := range o.Tables {
		want := &open.Tables[i]
		if t.TableID != want.TableID {
			return fail(false, "it has table %d in the place of table %d", t.TableID, want.TableID)
		}
		kept := in[t.TableID]
		delete(in, t.TableID)
		if kept != t.Kept || t.Kept < 0 || t.LeftOut < 0 {
			return fail(false, "table %d has %d rows in the objects, %d were announced", t.TableID, kept, t.Kept)
		}
		rows := t.Kept + t.LeftOut
		if st.Tables[t.TableID] == nil || want.Unknown || rows == want.Rows || want.Expired && rows < want.Rows {
			continue
		}
		return fail(true, "the objects have %d rows of table %d and %d had expired, but %d were appended", t.Kept,
			t.TableID, t.LeftOut, want.Rows)
	}
	for _, id := range slices.Sorted(maps.Keys(in)) {
		return fail(false, "its objects have rows of table %d, which is not in the cut", id)
	}
	return nil
}

// rowsIn returns the rows of each table in the objects of an offload. It refuses keys that are in use.
func (st *State) rowsIn(o *Offload) (map[uint64]int64, error) {
	in := make(map[uint64]int64, len(o.Tables))
	keys := make(map[string]bool, len(o.Objects))
	for i := range o.Objects {
		x := &o.Objects[i]
		if x.Key == "" || keys[x.Key] {
			return nil, refuse("shard %d: offload of cut %d: the key %q is not unique", st.ShardID, o.Number, x.Key)
		}
		keys[x.Key] = true
		for _, t := range x.Spans() {
			in[t.TableID] += t.Rows
		}
	}
	for _, set := range st.cold.sets {
		for i := range set.Objects {
			if key := set.Objects[i].Key; keys[key] {
				return nil, refuse("shard %d: offload of cut %d: the key %q is in use", st.ShardID, o.Number, key)
			}
		}
	}
	return in, nil
}

// count notes that a batch was appended.
func (c *coldState) count(h *column.Header) {
	if len(c.counted) == 0 {
		return
	}
	t := c.counted[h.TableID]
	if t == nil {
		return
	}
	if t.Rows == 0 || h.MinTime < t.MinTime {
		t.MinTime = h.MinTime
	}
	t.Rows += int64(h.Rows)
}

// Appended notes that the rows of a batch were appended through the log.
func (st *State) Appended(h *column.Header) { st.cold.count(h) }

// defined notes the definition of a table: not all of its rows may be counted from now on.
func (c *coldState) defined(d *Definition) {
	if t := c.counted[d.ID]; t != nil && (d.SkipWAL || d.Merge != query.Append) {
		t.Unknown = true
	}
}

// expired notes that rows of a table before a time have expired. The counts then are upper limits.
func (c *coldState) expired(x Cutoff) {
	if t := c.counted[x.TableID]; t != nil && t.Rows > 0 && t.MinTime < x.Before {
		t.Expired = true
	}
	if c.open == nil {
		return
	}
	at, found := slices.BinarySearchFunc(c.open.Tables, x.TableID, func(t manifest.Counted, id uint64) int {
		return cmp.Compare(t.TableID, id)
	})
	if t := c.open.Tables; found && !t[at].Expired && (t[at].Unknown || t[at].Rows > 0 && t[at].MinTime < x.Before) {
		open := *c.open
		open.Tables = slices.Clone(open.Tables)
		open.Tables[at].Expired = true
		c.open = &open
	}
}

// BuryObjects removes dead objects from the sets. It must be called after tables were dropped or rows have expired.
func (st *State) BuryObjects() {
	for _, n := range slices.Sorted(maps.Keys(st.cold.sets)) {
		set := st.cold.sets[n]
		left := st.bury(set)
		if left != set {
			st.cold.replaceSet(left)
		}
	}
}

// ForgetObjects removes dead objects that were deleted. Keys of other objects are ignored.
func (st *State) ForgetObjects(keys []string) {
	gone := make(map[string]bool, len(keys))
	for _, key := range keys {
		gone[key] = true
	}
	// A clone, because a frozen state may share the list.
	st.cold.dead = slices.DeleteFunc(slices.Clone(st.cold.dead), func(d manifest.DeadObject) bool { return gone[d.Key] })
}

// bury returns the set without dead objects, and adds these to the dead ones. It returns the same set if all live.
func (st *State) bury(set *manifest.Set) *manifest.Set {
	if !slices.ContainsFunc(set.Objects, func(o cold.Object) bool { return st.deadObject(set.Index, &o) }) {
		return set
	}
	left := &manifest.Set{Number: set.Number, Index: set.Index, Joined: set.Joined}
	for i := range set.Objects {
		o := &set.Objects[i]
		if st.deadObject(set.Index, o) {
			st.cold.dead = append(st.cold.dead, manifest.DeadObject{Key: o.Key, Bytes: o.Meta.Bytes, At: st.Clock})
		} else {
			left.Objects = append(left.Objects, *o)
		}
	}
	if len(set.Joined) > 0 {
		left.Joined = joinedIn(left.Objects, set.Joined)
	}
	return left
}

// deadObject reports whether all rows of an object are dead. index is where its cut is in the log.
func (st *State) deadObject(index uint64, o *cold.Object) bool {
	if !o.Meta.Shared() {
		return st.DeadSpan(index, o.Spans()[0])
	}
	return !slices.ContainsFunc(o.Meta.Tables, func(t segment.TableSpan) bool { return !st.DeadSpan(index, t) })
}

// DeadSpan reports whether all rows of a table in an object have expired, or the table was dropped. index is where the
// object's cut is in the log.
func (st *State) DeadSpan(index uint64, t segment.TableSpan) bool {
	if st.Tables[t.TableID] == nil {
		return true
	}
	x, ok := st.Expired[t.TableID]
	return ok && t.MaxTime < x.Before && x.Index > index
}

// StoredCold returns what a manifest keeps, or nil if there never was a cut.
func (st *State) StoredCold() *manifest.Cold {
	c := &st.cold
	if c.lastCut == 0 {
		return nil
	}
	out := &manifest.Cold{LastCut: c.lastCut, Open: c.open, Dead: slices.Clip(c.dead)}
	for _, id := range slices.Sorted(maps.Keys(c.counted)) {
		out.Counted = append(out.Counted, *c.counted[id])
	}
	return out
}

// takeSets returns the sets that changed since the last call. A set without objects has gone.
func (c *coldState) takeSets() (sets []manifest.Set) {
	for _, n := range slices.Sorted(maps.Keys(c.changed)) {
		set := manifest.Set{Number: n}
		if s := c.sets[n]; s != nil {
			set = *s
		}
		sets = append(sets, set)
	}
	clear(c.changed)
	return sets
}
