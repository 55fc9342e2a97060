package rules

import (
	"maps"
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/manifest"
)

// This file has the rules for joins of days. A table whose rows merge gets one set of rows for a UTC day. The identity
// of a row has its time, so rows of different days never merge, and the objects of a day may be replaced by themselves.
// The new objects are in the last set that had objects of the day: later rows of the day are newer, and there are no
// earlier ones. See ../cold/DESIGN.md, *Joins of days*.

// replacedBy returns what the join of an open cut replaces.
func (st *State) replacedBy(c *manifest.Cut) (*joining, error) {
	if c.ByDay {
		return st.replacedOfDay(c)
	}
	return st.replaced(c.Number, c.Joins)
}

// OfDay reports whether all rows of an object are those of one table and one UTC day, and whether some are of that day.
func (d *Definition) OfDay(o *cold.Object, day int64) (all, some bool) {
	unit := 86400 * d.TimeIndex().Type.UnitsPerSecond()
	span, has := o.Span(d.ID)
	if !has || span.Rows == 0 {
		return false, false
	}
	from, to := schema.FloorDiv(span.MinTime, unit), schema.FloorDiv(span.MaxTime, unit)
	return !o.Meta.Shared() && from == to && from == day, from <= day && day <= to
}

// replacedOfDay returns what a join of a day replaces: all objects that the table has of the day, up to the last set
// that it names. It refuses the join if one of them is in another set, has rows of other days, or keeps all its rows.
func (st *State) replacedOfDay(c *manifest.Cut) (*joining, error) {
	fail := func(format string, args ...any) error {
		return refuse("shard %d: join %d: "+format, append([]any{st.ShardID, c.Number}, args...)...)
	}
	if len(c.Joins) != 1 {
		return nil, fail("it names %d tables for a day", len(c.Joins))
	}
	id, cuts := c.Joins[0].TableID, c.Joins[0].Cuts
	d := st.Tables[id]
	switch {
	case d == nil || d.TimeIndex() == nil:
		return nil, fail("table %d was dropped", id)
	case len(cuts) == 0 || !slices.IsSorted(cuts) || len(cuts) > maxJoined:
		return nil, fail("the %d cuts of table %d are none, too many, or not in ascending order", len(cuts), id)
	}
	x := &joining{
		last: cuts[len(cuts)-1], keys: map[string]bool{}, sets: map[uint64]bool{}, rows: map[uint64]int64{},
		expired: map[uint64]int64{},
	}
	for n, set := range st.cold.sets {
		if n > x.last {
			continue
		}
		for i := range set.Objects {
			o := &set.Objects[i]
			all, some := d.OfDay(o, c.Day)
			_, named := slices.BinarySearch(cuts, n)
			switch {
			case !some:
				continue
			case !all || !named || o.Kind == cold.Kept:
				return nil, fail("object %s of set %d has rows of the day too", o.Key, n)
			}
			x.keys[o.Key], x.sets[n] = true, true
			x.rows[id] += o.Meta.Rows
		}
	}
	if len(x.sets) != len(cuts) {
		return nil, fail("table %d has objects of the day in %d of %d sets", id, len(x.sets), len(cuts))
	}
	return x, nil
}

// replaceDay puts the objects of an offload in the place of those that a join of a day replaces. From now on, the rows
// of all cuts from the first to the last of them are read from objects: those of a replica may have been replaced, or
// deleted by marks that are gone.
func (st *State) replaceDay(open *manifest.Cut, x *joining, o *Offload) {
	for _, n := range slices.Sorted(maps.Keys(x.sets)) {
		set := *st.cold.sets[n]
		set.Objects = nil
		for i := range st.cold.sets[n].Objects {
			if old := &st.cold.sets[n].Objects[i]; x.keys[old.Key] {
				st.cold.dead = append(st.cold.dead, manifest.DeadObject{Key: old.Key, Bytes: old.Meta.Bytes, At: st.Clock})
			} else {
				set.Objects = append(set.Objects, *old)
			}
		}
		if n == x.last {
			for i := range o.Objects {
				made := o.Objects[i]
				made.Cut = n
				set.Objects = append(set.Objects, made)
			}
		}
		st.cold.replaceSet(st.bury(&set))
	}
	t := open.Joins[0]
	next := manifest.Counted{TableID: t.TableID, Unknown: true}
	if had := st.cold.counted[t.TableID]; had != nil {
		next = *had
	}
	next.Hidden = manifest.AddRange(next.Hidden, manifest.CutRange{First: t.Cuts[0], Last: x.last})
	st.cold.counted[t.TableID] = &next
}
