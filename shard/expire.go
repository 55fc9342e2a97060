package shard

import (
	"context"
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

// maxClockLead is how far the clock may be ahead of where it should be, by the
// monotonic clock, for rows to expire by it.
const maxClockLead = 5 * time.Minute

// expiryClock watches the clock that rows expire by: one that leaps ahead must not
// make rows expire that have not.
type expiryClock struct {
	mono   time.Time // the last good reading of the monotonic clock
	wall   time.Time // and of the other at the same moment
	warned bool
	held   bool // the time is far ahead of what was seen last
	// ahead is since when, by the monotonic clock, that is so.
	ahead time.Duration
}

// far reports whether a time is so far ahead of what was seen last that rows must not expire by it
// yet, and whether that is news.
func (c *expiryClock) far(mono time.Duration, t, seen time.Time) (hold, news bool) {
	if seen.IsZero() || t.Sub(seen) <= clockJump {
		c.held = false
		return false, false
	}
	if !c.held {
		c.held, c.ahead = true, mono
		return true, true
	}
	return mono-c.ahead < clockSettles, false
}

// at returns the time by which rows may expire, at a reading of the monotonic and one of the
// other clock: the other, or, if that is too far ahead, what it should be by the monotonic one.
// sound is false the first time that it is.
func (c *expiryClock) at(mono, wall time.Time) (use time.Time, sound bool) {
	if c.mono.IsZero() {
		c.mono, c.wall = mono, wall
		return wall, true
	}
	should := c.wall.Add(mono.Sub(c.mono))
	if wall.Sub(should) > maxClockLead {
		sound = c.warned
		c.warned = true
		return should, sound
	}
	c.warned = false
	if wall.After(c.wall) {
		c.mono, c.wall = mono, wall
	}
	return wall, true
}

// lifetimes says which rows have expired.
type lifetimes struct {
	cfg    *Config
	tables *tables
}

// expireRows proposes what has expired, if this replica leads, and has the shard flush
// if something goes. It is called once every Config.FlushAge.
func (tk *timekeeper) expireRows(ctx context.Context) error {
	use, err := tk.expiryTime(ctx)
	if err != nil {
		return err
	}
	some, err := tk.expireBy(ctx, use)
	if some {
		tk.wakeFlusherFor(flushExpire)
	}
	return err
}

// expireBy proposes what has expired at a time, and reports whether anything has.
func (tk *timekeeper) expireBy(ctx context.Context, at time.Time) (some bool, err error) {
	if !tk.replica.IsLeader() {
		return false, nil
	}
	cutoffs := tk.life.expirable(at)
	for part := range slices.Chunk(cutoffs, maxCutoffs) {
		e := rules.Entry{Kind: rules.KindExpire, Time: tk.entryTime(), Cutoffs: part}
		if _, err := tk.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
			return some, err
		}
		some = true
	}
	return some, nil
}

// maxCutoffs is the most tables of one entry of expiries.
const maxCutoffs = 10_000

// expirable returns the cutoffs of the tables of which something can go: a segment, a
// batch, or some row groups or half of the rows of a segment, which compaction then
// rewrites.
func (lt *lifetimes) expirable(now time.Time) (cutoffs []rules.Cutoff) {
	lt.tables.mu.RLock()
	defs := slices.Collect(maps.Values(lt.tables.state.Tables))
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

// hasExpired reports whether anything can go of the rows of a table before a time.
func (lt *lifetimes) hasExpired(d *rules.Definition, before int64) bool {
	yes, partly := lt.hasExpiredWhole(d, before)
	for _, l := range partly {
		if !yes {
			dead := lt.deadRows(l, before, d.TimeIndex().Type)
			yes = dead > 0 && (d.Merge == query.Append || compaction.DropShare*dead >= l.Rows)
		}
		l.unref()
	}
	return yes
}

// overdueShare is by which share of the ttl all rows of a table in a shared file may be
// late: so that a file is not written anew for each of its tables by itself.
const overdueShare = 8

// overdue reports whether the expired rows of a table in a shared file, of which the newest
// has the time index newest, are that late.
func (lt *lifetimes) overdue(d *rules.Definition, newest int64, now time.Time) bool {
	index := d.TimeIndex()
	if index == nil {
		return false
	}
	ttl := lt.ttlOf(d)
	return now.Sub(instant(newest, index.Type.UnitsPerSecond())) > ttl+max(ttl/overdueShare, lt.cfg.FlushAge)
}

// deadRows is how many rows of a segment of one table are in row groups that have
// expired before a time; none if all the rest does within a flush interval, so that the
// file soon goes by itself.
func (lt *lifetimes) deadRows(l *liveSegment, before int64, index schema.Type) (rows int64) {
	interval := lt.cfg.FlushAge.Seconds() * float64(index.UnitsPerSecond())
	if float64(l.MaxTime)-float64(before) < interval {
		return 0
	}
	groups := l.groups.Load()
	if groups == nil {
		list, err := segment.ReadGroups(lt.cfg.FS, l.path, &l.Meta)
		if err != nil {
			return 0 // the scrub, or who reads its rows, finds out
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

// hasExpiredWhole is hasExpired as far as it is known without reading files; partly are
// the segments, each with a reference, that have to be looked at.
func (lt *lifetimes) hasExpiredWhole(d *rules.Definition, before int64) (yes bool, partly []*liveSegment) {
	lt.tables.mu.RLock()
	defer lt.tables.mu.RUnlock()
	x, had := lt.tables.state.Expired[d.ID]
	if had && before < x.Before {
		return false, nil
	}
	for _, l := range lt.tables.segs.byTable[d.ID] {
		t := l.span(d.ID)
		if had && before == x.Before && l.Order < x.Order {
			continue
		}
		switch {
		case t.MaxTime < before:
			yes = true
		case t.MinTime >= before || l.damage.Load() != nil:
		case l.Shared():
			yes = yes || float64(before)-float64(t.MinTime) >= (float64(t.MaxTime)-float64(t.MinTime))/2
		default:
			l.refs.Add(1)
			partly = append(partly, l)
		}
	}
	mems := append(lt.tables.segs.asideMems(d.ID), lt.tables.mem.active)
	for _, f := range lt.tables.mem.frozen {
		mems = append(mems, f.mem)
	}
	for _, mem := range mems {
		for _, b := range mem.Batches(d.ID) {
			yes = yes || b.MaxTime < before
		}
	}
	return yes, partly
}

// instant is a time index as a time, or the nearest that is one.
func instant(t, unit int64) time.Time {
	seconds := floorDiv(t, unit)
	const most = 1 << 40 // some 35,000 years
	if seconds > most || seconds < -most {
		return time.Unix(min(max(seconds, -most), most), 0)
	}
	return time.Unix(seconds, (t-seconds*unit)*(int64(time.Second)/unit))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
