package tier

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/compaction"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

// This file joins the rows of days, of tables whose rows merge. All objects that a table has of a day become one set of
// rows, merged, without marks of deletions. See ../DESIGN.md, *Joins of days*.

const (
	// maxDayBytes and maxDayInputs are the largest size and number of the objects of a day that are joined: all of them
	// are fetched, and read at the same time.
	maxDayBytes  = 4 << 30
	maxDayInputs = 256
)

// ofDay describes a join of the rows of a day.
type ofDay struct {
	day  int64 // in days since 1970
	kind cold.Kind
	// merges are the merge modes of the sets.
	merges []query.Merge
}

// tableDay is what a table has of a day in the bucket.
type tableDay struct {
	sets    []joinable
	objects int
	bytes   int64
	// joined and fresh are the objects that were made by joins, and the others.
	joined, fresh           int
	joinedBytes, freshBytes int64
	// unfit means that an object cannot be shown as Iceberg, and a new one may be.
	unfit bool
}

// pickDays returns the days to join of the tables that have objects with rows that merge.
func (m *Mover) pickDays(sets []*manifest.Set, tables map[uint64]*rules.Definition, now time.Time) (list []toJoin) {
	merging := map[uint64]bool{}
	for _, set := range sets {
		for i := range set.Objects {
			if o := &set.Objects[i]; o.Kind != cold.Kept {
				merging[o.Meta.TableID] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(merging)) {
		d := tables[id]
		if d == nil || d.TimeIndex() == nil {
			continue
		}
		local := m.cfg.Tier.localFor(d.Table)
		if local <= 0 {
			continue
		}
		// Days before end are joined, of sets whose rows are all from before until. That changes once a day, so late rows
		// make a day to be joined again once a day at most.
		end := schema.FloorDiv(now.Add(-local-m.cfg.Tier.JoinAfter).Unix(), 86400)
		until := time.Unix(end*86400, 0).Add(m.cfg.Tier.JoinAfter)
		days := daysIn(sets, d, now, until)
		for _, day := range slices.Sorted(maps.Keys(days)) {
			x := days[day]
			if day >= end || !x.due(iceberg.FormatOf(d.Table) != 0) || x.bytes > maxDayBytes || x.objects > maxDayInputs ||
				slices.ContainsFunc(x.sets, func(s joinable) bool {
					return slices.ContainsFunc(s.objects, func(o *cold.Object) bool { return m.unread.has(o.Key, m.cfg.Monotonic()) })
				}) {
				continue
			}
			of := &ofDay{day: day, kind: cold.Merging}
			if iceberg.FormatOf(d.Table) != 0 {
				of.kind = cold.Day
			}
			list = append(list, toJoin{table: id, sets: x.sets, ofDay: of})
		}
	}
	return list
}

// daysIn returns what a table has of each day in the sets before the first one with a row of a time from until to now.
// Days are left out of which an object has rows of other days or tables, or rows that do not merge.
func daysIn(sets []*manifest.Set, d *rules.Definition, now, until time.Time) map[int64]*tableDay {
	index := d.TimeIndex().Type
	unit := 86400 * index.UnitsPerSecond()
	days := map[int64]*tableDay{}
	var blocked []segment.TableSpan
	for _, set := range sets {
		var own []*cold.Object
		young := false
		for i := range set.Objects {
			o := &set.Objects[i]
			span, has := o.Span(d.ID)
			if !has || span.Rows == 0 {
				continue
			}
			at := index.Moment(span.MaxTime)
			young = young || !at.Before(until) && !at.After(now)
			if all, _ := d.OfDay(o, schema.FloorDiv(span.MinTime, unit)); !all || o.Kind == cold.Kept {
				blocked = append(blocked, span)
				continue
			}
			own = append(own, o)
		}
		if young {
			break
		}
		for _, o := range own {
			day := schema.FloorDiv(o.Meta.MinTime, unit)
			if days[day] == nil {
				days[day] = &tableDay{}
			}
			days[day].add(set, o, d.Table)
		}
	}
	for _, span := range blocked {
		from, to := schema.FloorDiv(span.MinTime, unit), schema.FloorDiv(span.MaxTime, unit)
		maps.DeleteFunc(days, func(day int64, _ *tableDay) bool { return from <= day && day <= to })
	}
	return days
}

// add adds an object.
func (x *tableDay) add(set *manifest.Set, o *cold.Object, t *schema.Table) {
	if n := len(x.sets); n == 0 || x.sets[n-1].cut != set.Number {
		x.sets = append(x.sets, joinable{cut: set.Number, index: set.Index})
	}
	s := &x.sets[len(x.sets)-1]
	s.objects = append(s.objects, o)
	s.bytes += o.Meta.Bytes
	if at := t.TimeIndex().Type.Moment(o.Meta.MaxTime); at.After(s.newest) {
		s.newest = at
	}
	x.objects++
	x.bytes += o.Meta.Bytes
	if iceberg.Joined(o) {
		x.joined++
		x.joinedBytes += o.Meta.Bytes
	} else {
		x.fresh++
		x.freshBytes += o.Meta.Bytes
	}
	f := iceberg.FormatOf(t)
	switch {
	case f == 0:
	case o.Kind != cold.Day:
		x.unfit = true
	case o.Meta.SchemaVersion < t.Version:
		v := iceberg.Judge(t, f, o.Meta.Columns, func(uint32) int64 { return 0 })
		x.unfit = x.unfit || v.Left || v.Reason != ""
	}
}

// due reports whether the objects should be joined. A table that is shown as Iceberg shows joined days only. Otherwise
// a few late rows do not make a large object to be written again.
func (x *tableDay) due(shown bool) bool {
	switch {
	case shown:
		return x.unfit
	case x.fresh == 0 || x.objects < 2:
		return false
	}
	return x.joined == 0 || x.fresh >= minJoined || x.freshBytes >= x.joinedBytes
}

// findModes finds the merge modes of the sets of a join of a day. It returns false if the day cannot be joined.
func (m *Mover) findModes(x *toJoin) bool {
	cuts := make([]uint64, len(x.sets))
	for i := range x.sets {
		cuts[i] = x.sets[i].cut
	}
	var ok bool
	x.ofDay.merges, ok = m.cfg.Store.Status.MergesOfDay(x.table, x.ofDay.day, cuts)
	return ok
}

// planDay plans the one job of a join of a day.
func (a *attempt) planDay(x *toJoin) {
	t := &a.rows.Tables[0]
	t.Merge = x.ofDay.merges[len(x.sets)-1]
	unit := 86400 * t.Def.TimeIndex().Type.UnitsPerSecond()
	j := job{inputs: a.rows.Segments, whole: true, within: &compaction.Within{
		From: times(x.ofDay.day, unit), Last: lastBefore(x.ofDay.day+1, unit),
	}}
	var of size
	for i := range j.inputs {
		of = size{of.bytes + j.inputs[i].Bytes, of.rows + j.inputs[i].Rows}
	}
	j.tables, j.bytes, j.rows = map[uint64]size{x.table: of}, of.bytes, of.rows
	if slices.ContainsFunc(x.ofDay.merges, func(m query.Merge) bool { return m != t.Merge }) {
		merges := map[uint64]query.Merge{}
		for i := range x.sets {
			merges[x.sets[i].index] = x.ofDay.merges[i]
		}
		j.modes = func(order uint64) query.Merge { return merges[order>>16] }
	}
	a.jobs, a.kind = []job{j}, x.ofDay.kind
	slices.SortFunc(a.jobs[0].inputs, func(a, b store.Segment) int { return cmp.Compare(a.Order, b.Order) })
}
