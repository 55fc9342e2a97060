package store

import (
	"maps"
	"math"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// Expiry determines which rows have expired.
type Expiry struct {
	cfg    *Config
	tables *Tables
}

// Expirable returns the cutoffs of the tables that have something to remove: a whole segment, a
// whole batch, or so many rows of a segment that compaction rewrites it.
func (lt *Expiry) Expirable(now time.Time) (cutoffs []rules.Cutoff) {
	lt.tables.mu.RLock()
	defs := slices.Collect(maps.Values(lt.tables.State.Tables))
	lt.tables.mu.RUnlock()
	for _, d := range defs {
		index := d.TimeIndex()
		if index == nil {
			continue
		}
		ttl := lt.ttl(d.Table)
		before, ok := ttl.ExpiredBefore(now, index.Type)
		if ttl.Instant {
			before, ok = math.MaxInt64, true
		}
		if ok && lt.hasExpired(d, before) {
			cutoffs = append(cutoffs, rules.Cutoff{TableID: d.ID, Before: before})
		}
	}
	slices.SortFunc(cutoffs, func(a, b rules.Cutoff) int {
		if a.TableID < b.TableID {
			return -1
		}
		return 1
	})
	return cutoffs
}

// hasExpired reports whether any rows of a table from before a time can be removed.
func (lt *Expiry) hasExpired(d *rules.Definition, before int64) bool {
	yes, partly := lt.hasExpiredWhole(d, before)
	for _, l := range partly {
		if !yes {
			dead := lt.deadRows(l, before, d.TimeIndex().Type)
			yes = dead > 0 && (d.Merge == query.Append || compaction.DropShare*dead >= l.Rows)
		}
		l.Unref()
	}
	return yes
}

// overdueShare limits how often a shared file is rewritten: the expired rows of a table may stay in
// it for 1/overdueShare of the ttl.
const overdueShare = 8

// overdue reports whether the expired rows of a table have been in a shared file for too long.
// newest is the time index of the newest of them.
func (lt *Expiry) overdue(d *rules.Definition, newest int64, now time.Time) bool {
	index := d.TimeIndex()
	if index == nil {
		return false
	}
	ttl := lt.ttlOf(d)
	return now.Sub(index.Type.Moment(newest)) > ttl+max(ttl/overdueShare, lt.cfg.FlushAge)
}

// deadRows returns how many rows of a segment of one table are in row groups that expired before a
// time. It returns 0 if the other rows expire within a flush interval, because the file is then
// removed as a whole.
func (lt *Expiry) deadRows(l *LiveSegment, before int64, index schema.Type) (rows int64) {
	interval := lt.cfg.FlushAge.Seconds() * float64(index.UnitsPerSecond())
	if float64(l.MaxTime)-float64(before) < interval {
		return 0
	}
	groups := l.groups.Load()
	if groups == nil {
		list, err := segment.ReadGroups(lt.cfg.FS, l.Path, &l.Meta)
		if err != nil {
			return 0 // the scrubber or a query will find the fault
		}
		groups = &list
		l.groups.Store(groups)
	}
	for _, g := range *groups {
		if g.Timed && g.MaxTime < before {
			rows += g.Rows
		}
	}
	return rows
}

// hasExpiredWhole answers hasExpired as far as that is possible without reading files. partly
// contains the segments that have to be read, each with a reference.
func (lt *Expiry) hasExpiredWhole(d *rules.Definition, before int64) (yes bool, partly []*LiveSegment) {
	lt.tables.mu.RLock()
	defer lt.tables.mu.RUnlock()
	x, had := lt.tables.State.Expired[d.ID]
	if had && before < x.Before {
		return false, nil
	}
	for _, l := range lt.tables.segs.byTable[d.ID] {
		t := l.Span(d.ID)
		if had && before == x.Before && l.Order < x.Order {
			continue
		}
		switch {
		case t.MaxTime < before:
			yes = true
		case t.MinTime >= before || l.Damage.Load() != nil:
		case l.Shared():
			yes = yes || float64(before)-float64(t.MinTime) >= (float64(t.MaxTime)-float64(t.MinTime))/2
		default:
			l.refs.Add(1)
			partly = append(partly, l)
		}
	}
	yes = yes || slices.ContainsFunc(lt.tables.coldOf(d.ID), func(o ColdObject) bool { return o.Span.MaxTime < before })
	return yes || lt.tables.batchExpired(d.ID, before), partly
}

// batchExpired reports whether all rows of a batch in memory are from before a time; mu must be
// held.
func (tb *Tables) batchExpired(table uint64, before int64) bool {
	mems := append(tb.segs.rawMemtables(table), tb.Mem.Active)
	for _, f := range tb.Mem.frozen {
		mems = append(mems, f.mem)
	}
	for _, mem := range mems {
		for _, b := range mem.Batches(table) {
			if b.MaxTime < before {
				return true
			}
		}
	}
	return false
}

// ttl returns the present ttl of a table.
func (lt *Expiry) ttl(t *schema.Table) schema.TTL {
	if lt.cfg.TTL == nil {
		return schema.EffectiveTTL(t.Options[schema.OptionTTL], "")
	}
	return lt.cfg.TTL(t)
}

// ttlOf returns how long rows of a table are kept, or 0 for ever. For no table it returns 0.
func (lt *Expiry) ttlOf(d *rules.Definition) time.Duration {
	if d == nil {
		return 0
	}
	return lt.ttl(d.Table).D
}

// expiredRows returns how many rows of a segment of one table are in row groups that have
// expired.
func (lt *Expiry) expiredRows(l *LiveSegment) int64 {
	lt.tables.mu.RLock()
	d, x := lt.tables.State.Tables[l.TableID], lt.tables.State.Expired[l.TableID]
	lt.tables.mu.RUnlock()
	if d == nil || l.Order >= x.Order || l.MinTime >= x.Before {
		return 0
	}
	return lt.deadRows(l, x.Before, d.TimeIndex().Type)
}
