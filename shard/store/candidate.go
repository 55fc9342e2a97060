package store

import (
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// candidate returns a segment as compaction sees it. It takes Tables.mu for one segment at a time,
// because each may have tens of thousands of tables.
func (cp *compactor) candidate(l *LiveSegment, now time.Time) (seg compaction.Segment, ok bool) {
	cp.tables.mu.RLock()
	defer cp.tables.mu.RUnlock()
	if cp.tables.sources.have(l) {
		return seg, false
	}
	c := candidate{
		Segment: compaction.Segment{
			ID: l.ID, Order: l.Order, Bytes: l.Bytes, Rows: l.Rows, Flushed: l.flushed,
		},
		l: l, state: cp.tables.State, expiry: cp.expiry, now: now,
	}
	if l.Shared() {
		for _, t := range l.Tables {
			c.add(t)
		}
	} else {
		c.add(l.Span(l.TableID))
		c.Group.Table = l.TableID
		d := cp.tables.State.Tables[l.TableID]
		if ttl := cp.expiry.ttlOf(d); ttl > 0 && d.Merge == query.Append {
			// The sooner the segment expires, the shorter the span, so that it is not merged again.
			c.MaxSpan = max(min(ttl, c.MinTime.Add(ttl).Sub(now))/4, 1)
			c.Cut = len(cp.tables.erasOf(l.TableID)) == 0
		}
	}
	c.Group.Cut = cp.tables.segs.lastCut(&l.Meta)
	return c.placed(), c.timed
}

// candidate is a segment that may be compacted, while its tables are added.
type candidate struct {
	compaction.Segment
	l      *LiveSegment
	state  *rules.State
	expiry *Expiry
	now    time.Time

	timed           bool  // a table with live rows was added, so times and days are set
	lowDay, highDay int64 // the days of all rows
}

// add adds the rows of a table to the candidate; Tables.mu must be held.
func (c *candidate) add(t segment.TableSpan) {
	d := c.state.Tables[t.TableID]
	if d == nil || c.state.Dead(t, c.l.Order) {
		c.DeadRows += t.Rows
		c.Overdue = c.Overdue || d != nil && c.expiry.overdue(d, t.MaxTime, c.now)
		return
	}
	if x, ok := c.state.Expired[t.TableID]; ok && c.l.Shared() && c.l.Order < x.Order && t.MinTime < x.Before {
		c.DeadRows += int64(float64(t.Rows) * (float64(x.Before) - float64(t.MinTime)) /
			(float64(t.MaxTime) - float64(t.MinTime) + 1))
	}
	if index := d.TimeIndex(); index != nil {
		c.span(d, t, index.Type)
	}
}

// span extends the times of the candidate by the times of a table's rows.
func (c *candidate) span(d *rules.Definition, t segment.TableSpan, index schema.Type) {
	from, to, unit := index.Moment(t.MinTime), index.Moment(t.MaxTime), index.UnitsPerSecond()
	dayFrom, dayTo := schema.FloorDiv(t.MinTime, 86400*unit), schema.FloorDiv(t.MaxTime, 86400*unit)
	if !c.timed {
		c.timed = true
		c.MinTime, c.MaxTime, c.lowDay, c.highDay = from, to, dayFrom, dayTo
		if c.l.Shared() && d.Physical != "" {
			c.Group = compaction.Group{Database: d.Database, Physical: d.Physical}
		}
		return
	}
	if from.Before(c.MinTime) {
		c.MinTime = from
	}
	if to.After(c.MaxTime) {
		c.MaxTime = to
	}
	c.lowDay, c.highDay = min(c.lowDay, dayFrom), max(c.highDay, dayTo)
}

// placed returns the segment with the partition of all its rows.
func (c *candidate) placed() compaction.Segment {
	seg := c.Segment
	for seg.Days = 1; schema.FloorDiv(c.lowDay, seg.Days) != schema.FloorDiv(c.highDay, seg.Days); seg.Days *= 2 {
	}
	seg.Day = schema.FloorDiv(c.lowDay, seg.Days) * seg.Days
	return seg
}
