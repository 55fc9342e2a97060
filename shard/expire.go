package shard

import (
	"context"
	"math"
	"slices"
	"time"
)

// maxClockLead is how far the clock may be ahead of where it should be, by the
// monotonic clock, for rows to expire by it.
const maxClockLead = 5 * time.Minute

// expiryClock watches the clock that rows expire by: one that leaps ahead must not
// make rows expire that have not.
type expiryClock struct {
	last   time.Time // with its monotonic reading
	warned bool
}

// now returns the time by which rows may expire: t, or, if that is too far ahead, what
// time it should be by the monotonic clock. sound is false the first time that it is.
func (c *expiryClock) now(t time.Time) (use time.Time, sound bool) {
	if c.last.IsZero() {
		c.last = t
		return t, true
	}
	should := c.last.Round(0).Add(t.Sub(c.last)) // the difference is that of the monotonic clock
	if lead := t.Round(0).Sub(should); lead > maxClockLead {
		sound = c.warned
		c.warned = true
		return should, sound
	}
	c.warned = false
	if t.Round(0).After(c.last.Round(0)) {
		c.last = t
	}
	return t, true
}

// expireRows proposes what has expired, if this replica leads, and has the shard flush
// if something goes. It is called once every Config.FlushAge.
func (s *Shard) expireRows(ctx context.Context) error {
	if !s.replica.IsLeader() {
		return nil
	}
	now := s.now()
	use, sound := s.expiry.now(now)
	if !sound {
		s.metrics.clockLeaps.Inc()
		s.cfg.Logger.Error("the clock leapt ahead: rows expire as if it had not, until the process is started again or the clock is set back",
			"clock", now.UTC(), "want", use.UTC())
	}
	cutoffs := s.expirable(use)
	if len(cutoffs) == 0 {
		return nil
	}
	for part := range slices.Chunk(cutoffs, maxCutoffs) {
		e := entry{kind: kindExpire, time: now.UnixNano(), cutoffs: part}
		if _, err := s.replica.Propose(ctx, appendEntry(nil, &e)); err != nil {
			return err
		}
	}
	s.wakeFlusherFor(flushExpire)
	return nil
}

// maxCutoffs is the most tables of one entry of expiries.
const maxCutoffs = 10_000

// expirable returns the cutoffs of the tables of which something can go: a segment, a
// batch, or half of the rows of a segment, which compaction then rewrites.
func (s *Shard) expirable(now time.Time) (cutoffs []cutoff) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, d := range s.state.tables {
		index := d.TimeIndex()
		if index == nil {
			continue
		}
		ttl := s.ttl(d.Table)
		before, ok := ttl.ExpiredBefore(now, index.Type)
		if ttl.Instant {
			before, ok = math.MaxInt64, true
		}
		x, had := s.state.expired[id]
		if !ok || had && before < x.Before {
			continue
		}
		if s.hasExpired(d, before, had && before == x.Before) {
			cutoffs = append(cutoffs, cutoff{id, before})
		}
	}
	slices.SortFunc(cutoffs, func(a, b cutoff) int {
		if a.tableID < b.tableID {
			return -1
		}
		return 1
	})
	return cutoffs
}

func (s *Shard) hasExpired(d *tableDef, before int64, same bool) bool {
	for _, l := range s.segments[d.ID] {
		t := l.span(d.ID)
		if same && l.Order < s.state.expired[d.ID].Order {
			continue
		}
		if t.MaxTime < before || t.MinTime < before && float64(before)-float64(t.MinTime) >= (float64(t.MaxTime)-float64(t.MinTime))/2 {
			return true
		}
	}
	mems := []*frozen{{mem: s.active}}
	for _, f := range append(mems, s.frozen...) {
		for _, b := range f.mem.Batches(d.ID) {
			if b.MaxTime < before {
				return true
			}
		}
	}
	return false
}
