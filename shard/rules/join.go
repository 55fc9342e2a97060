package rules

import (
	"encoding/binary"
	"maps"
	"slices"

	"cordwood/shard/cold"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
)

// This file has the rules for joins: the objects that a table has in several sets become fewer ones, in the last of
// these sets. See ../cold/DESIGN.md, *Joins*.

// maxJoined is the maximum number of cuts that a join names.
const maxJoined = 10_000

// Join is the content of a KindJoin: the objects that the tables have in these sets become fewer ones.
type Join struct {
	// Number is that of the cut that the join takes, for its keys. No rows are cut.
	Number uint64
	// Tables are in ascending order of ids. All of them end with the same set.
	Tables []manifest.Joined
	// ByDay means that of one table the objects of a UTC day, in days since 1970, are joined. See joinday.go.
	ByDay bool
	Day   int64
}

// Join opens a cut of no rows, whose offload replaces objects. If it is refused, it returns an *ErrCold.
func (st *State) Join(j *Join, index uint64) error {
	switch o := st.cold.open; {
	case o != nil:
		return refuse("shard %d: join %d: cut %d is open since index %d", st.ShardID, j.Number, o.Number, o.Index)
	case j.Number != st.cold.lastCut+1:
		return refuse("shard %d: join %d: the last cut was %d", st.ShardID, j.Number, st.cold.lastCut)
	}
	if _, err := st.replacedBy(&manifest.Cut{Number: j.Number, Joins: j.Tables, ByDay: j.ByDay, Day: j.Day}); err != nil {
		return err
	}
	joins := make([]manifest.Joined, len(j.Tables))
	for i, t := range j.Tables {
		joins[i] = manifest.Joined{TableID: t.TableID, Cuts: slices.Clone(t.Cuts)}
	}
	st.cold.lastCut = j.Number
	st.cold.open = &manifest.Cut{Number: j.Number, Index: index, At: st.Clock, Joins: joins, ByDay: j.ByDay, Day: j.Day}
	return nil
}

// joining describes the objects that a join replaces.
type joining struct {
	// last is the number of the last set.
	last uint64
	// keys are those of the objects, and sets the numbers of their sets.
	keys map[string]bool
	sets map[uint64]bool
	// rows are the rows of each table in the objects, expired the most of them that may have expired.
	rows, expired map[uint64]int64
}

// replaced returns what a join replaces. It refuses it if a table does not keep every row or lacks objects in a set,
// and if one of the objects has rows that the join does not name.
func (st *State) replaced(number uint64, tables []manifest.Joined) (*joining, error) {
	fail := func(format string, args ...any) error {
		return refuse("shard %d: join %d: "+format, append([]any{st.ShardID, number}, args...)...)
	}
	if len(tables) == 0 {
		return nil, fail("it names no tables")
	}
	x := &joining{
		keys: map[string]bool{}, sets: map[uint64]bool{}, rows: map[uint64]int64{}, expired: map[uint64]int64{},
	}
	type part struct{ table, set uint64 }
	named, before := map[part]bool{}, uint64(0)
	for _, t := range tables {
		d := st.Tables[t.TableID]
		switch {
		case t.TableID <= before:
			return nil, fail("table %d is not in ascending order", t.TableID)
		case d == nil:
			return nil, fail("table %d was dropped", t.TableID)
		case d.Merge != query.Append:
			return nil, fail("table %d merges rows", t.TableID)
		case len(t.Cuts) == 0 || !slices.IsSorted(t.Cuts) || len(named)+len(t.Cuts) > maxJoined:
			return nil, fail("the %d cuts of table %d are none, too many, or not in ascending order", len(t.Cuts), t.TableID)
		}
		before = t.TableID
		last := t.Cuts[len(t.Cuts)-1]
		if x.last = max(x.last, last); x.last != last {
			return nil, fail("table %d does not end with set %d", t.TableID, x.last)
		}
		for _, n := range t.Cuts {
			if named[part{t.TableID, n}] {
				return nil, fail("set %d is named twice for table %d", n, t.TableID)
			}
			named[part{t.TableID, n}] = true
			x.sets[n] = true
		}
	}
	if last := tables[0].Cuts[len(tables[0].Cuts)-1]; last != x.last {
		return nil, fail("table %d does not end with set %d", tables[0].TableID, x.last)
	}
	for p := range named {
		set := st.cold.sets[p.set]
		if set == nil {
			return nil, fail("set %d has no objects any more", p.set)
		}
		found := false
		for i := range set.Objects {
			span, has := set.Objects[i].Span(p.table)
			if !has {
				continue
			}
			found = true
			x.keys[set.Objects[i].Key] = true
			x.rows[p.table] += span.Rows
			if e := st.Expired[p.table]; e.Index > set.Index && span.MinTime < e.Before {
				x.expired[p.table] += span.Rows
			}
		}
		if !found {
			return nil, fail("table %d has no objects in set %d any more", p.table, p.set)
		}
	}
	for n := range x.sets {
		set := st.cold.sets[n]
		for i := range set.Objects {
			o := &set.Objects[i]
			if !x.keys[o.Key] {
				continue
			}
			for _, span := range o.Spans() {
				if !named[part{span.TableID, n}] && !st.DeadSpan(set.Index, span) {
					return nil, fail("object %s has rows of table %d, which it does not name for set %d", o.Key, span.TableID, n)
				}
			}
		}
	}
	return x, nil
}

// offloadJoin closes the open cut of a join: from now on, the new objects have the rows of the former ones. An offload
// without objects gives the join up. If it is refused, it returns an *ErrCold, and the cut stays open.
func (st *State) offloadJoin(open *manifest.Cut, o *Offload) error {
	if len(o.Objects) == 0 && len(o.Tables) == 0 {
		st.cold.open = nil
		return nil
	}
	x, err := st.replacedBy(open)
	if err != nil {
		return err
	}
	if err := st.checkJoin(open, x, o); err != nil {
		return err
	}
	st.cold.open = nil
	if open.ByDay {
		st.replaceDay(open, x, o)
		return nil
	}
	joined := map[uint64][]uint64{}
	for _, t := range open.Joins {
		joined[t.TableID] = slices.Clone(t.Cuts)
	}
	last := &manifest.Set{}
	for _, n := range slices.Sorted(maps.Keys(x.sets)) {
		set := st.cold.sets[n]
		left := &manifest.Set{Number: n, Index: set.Index}
		for i := range set.Objects {
			if old := &set.Objects[i]; x.keys[old.Key] {
				st.cold.dead = append(st.cold.dead, manifest.DeadObject{Key: old.Key, Bytes: old.Meta.Bytes, At: st.Clock})
			} else {
				left.Objects = append(left.Objects, *old)
			}
		}
		for _, j := range set.Joined {
			if named(open.Joins, j.TableID, n) {
				joined[j.TableID] = append(joined[j.TableID], j.Cuts...)
			} else {
				left.Joined = append(left.Joined, j)
			}
		}
		st.cold.replaceSet(left)
		last = left
	}
	next := *last // replaceSet compares both
	next.Joined = slices.Clone(last.Joined)
	last = &next
	for i := range o.Objects {
		made := o.Objects[i]
		made.Cut = last.Number
		last.Objects = append(last.Objects, made)
	}
	for _, id := range slices.Sorted(maps.Keys(joined)) {
		slices.Sort(joined[id])
		last.Joined = append(last.Joined, manifest.Joined{TableID: id, Cuts: slices.Compact(joined[id])})
	}
	slices.SortFunc(last.Joined, func(a, b manifest.Joined) int { return int(int64(a.TableID) - int64(b.TableID)) })
	st.cold.replaceSet(st.bury(last))
	return nil
}

// named reports whether a join names a table for a set.
func named(tables []manifest.Joined, table, set uint64) bool {
	return slices.ContainsFunc(tables, func(t manifest.Joined) bool {
		return t.TableID == table && slices.Contains(t.Cuts, set)
	})
}

// checkJoin compares the offload of a join with the objects that it replaces.
func (st *State) checkJoin(open *manifest.Cut, x *joining, o *Offload) error {
	in, err := st.rowsIn(o)
	if err != nil {
		return err
	}
	if len(o.Tables) != len(open.Joins) {
		return refuse("shard %d: join %d: the offload has %d tables, the join has %d", st.ShardID, o.Number, len(o.Tables),
			len(open.Joins))
	}
	for i, t := range o.Tables {
		if t.TableID != open.Joins[i].TableID {
			return refuse("shard %d: join %d: the offload has table %d in the place of table %d", st.ShardID, o.Number,
				t.TableID, open.Joins[i].TableID)
		}
		kept := in[t.TableID]
		delete(in, t.TableID)
		if kept != t.Kept || t.Kept < 0 || t.LeftOut < 0 {
			return refuse("shard %d: join %d: table %d has %d rows in the objects, %d were announced", st.ShardID, o.Number,
				t.TableID, kept, t.Kept)
		}
		if had := x.rows[t.TableID]; t.Kept+t.LeftOut != had {
			// An object may have died since, with all its rows.
			return refuse("shard %d: join %d: the objects have %d rows of table %d and %d had expired, but the former ones "+
				"have %d", st.ShardID, o.Number, t.Kept, t.TableID, t.LeftOut, had)
		}
		if t.LeftOut > x.expired[t.TableID] && !open.ByDay {
			return &ErrCold{true, refuse("shard %d: join %d: %d rows of table %d are not in the objects, at most %d can have "+
				"expired", st.ShardID, o.Number, t.LeftOut, t.TableID, x.expired[t.TableID]).Error()}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(in)) {
		return refuse("shard %d: join %d: the objects have rows of table %d, which is not in the join", st.ShardID, o.Number,
			id)
	}
	return nil
}

// replaceSet puts a set in the place of that of its number. One without objects goes.
func (c *coldState) replaceSet(set *manifest.Set) {
	c.changed[set.Number] = struct{}{}
	var had, has []manifest.Joined
	if old := c.sets[set.Number]; old != nil {
		had = old.Joined
	}
	if c.sets[set.Number] = set; len(set.Objects) == 0 {
		delete(c.sets, set.Number)
	} else {
		has = set.Joined
	}
	c.rejoin(had, has)
}

// joinedIn returns the joined cuts of the tables that have objects. Without any, all rows of a table that were joined
// have expired, or the table was dropped.
func joinedIn(objects []cold.Object, list []manifest.Joined) (out []manifest.Joined) {
	has := make(map[uint64]bool, len(list))
	for i := range objects {
		for _, span := range objects[i].Spans() {
			has[span.TableID] = true
		}
	}
	for _, j := range list {
		if has[j.TableID] {
			out = append(out, j)
		}
	}
	return out
}

// rejoin updates the cuts that were joined when those of a set change. The tables are in ascending order. A shard may
// have millions of joined cuts, so only the lists of tables that change are made anew.
func (c *coldState) rejoin(had, has []manifest.Joined) {
	for len(had) > 0 || len(has) > 0 {
		var gone, come []uint64
		id := uint64(0)
		switch {
		case len(has) == 0 || len(had) > 0 && had[0].TableID < has[0].TableID:
			id, gone, had = had[0].TableID, had[0].Cuts, had[1:]
		case len(had) == 0 || has[0].TableID < had[0].TableID:
			id, come, has = has[0].TableID, has[0].Cuts, has[1:]
		default:
			id, gone, come, had, has = has[0].TableID, had[0].Cuts, has[0].Cuts, had[1:], has[1:]
		}
		if slices.Equal(gone, come) {
			continue
		}
		list := make([]uint64, 0, len(c.joined[id])+len(come))
		for _, n := range c.joined[id] {
			if _, is := slices.BinarySearch(gone, n); !is {
				list = append(list, n)
			}
		}
		list = append(list, come...)
		slices.Sort(list)
		if len(list) == 0 {
			delete(c.joined, id)
			continue
		}
		if c.joined == nil {
			c.joined = map[uint64][]uint64{}
		}
		c.joined[id] = list
	}
}

// Joined reports whether the rows of a table in a cut are read from objects only, because the objects of some cuts were
// joined. This replica's own rows are dead.
func (st *State) Joined(table, cut uint64) bool {
	if t := st.cold.counted[table]; t != nil && manifest.InRanges(t.Hidden, cut) {
		return true
	}
	_, is := slices.BinarySearch(st.cold.joined[table], cut)
	return is
}

// HasJoined reports whether Joined is true for any cut of a table.
func (st *State) HasJoined(table uint64) bool {
	t := st.cold.counted[table]
	return len(st.cold.joined[table]) > 0 || t != nil && len(t.Hidden) > 0
}

// JoinedTables returns the tables with joined cuts.
func (st *State) JoinedTables() []uint64 { return slices.Sorted(maps.Keys(st.cold.joined)) }

// HasObject reports whether a set still has an object. It may have died, or others may have come in its place.
func (st *State) HasObject(o *cold.Object) bool {
	set := st.cold.sets[o.Cut]
	return set != nil && slices.ContainsFunc(set.Objects, func(x cold.Object) bool { return x.Key == o.Key })
}

func (j *Join) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, j.Number)
	dst = binary.AppendUvarint(dst, uint64(len(j.Tables)))
	for _, t := range j.Tables {
		dst = binary.AppendUvarint(dst, t.TableID)
		dst = binary.AppendUvarint(dst, uint64(len(t.Cuts)))
		for _, n := range t.Cuts {
			dst = binary.AppendUvarint(dst, n)
		}
	}
	if j.ByDay {
		dst = binary.AppendVarint(dst, j.Day)
	}
	return dst
}

func (r *entryReader) join(byDay bool) *Join {
	j := &Join{Number: r.uvarint(), ByDay: byDay}
	j.Tables = make([]manifest.Joined, r.count())
	for i := range j.Tables {
		t := &j.Tables[i]
		t.TableID = r.uvarint()
		t.Cuts = make([]uint64, r.count())
		for k := range t.Cuts {
			t.Cuts[k] = r.uvarint()
		}
	}
	if byDay {
		j.Day = r.varint()
	}
	return j
}
