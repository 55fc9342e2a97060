package shard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// A clock that is wrong must not lose rows, nor what the shard remembers of batches. There are three
// times:
//
//   - The clock of the machine. It may be wrong, and it may jump.
//   - The monotonic clock of the process: how long something takes.
//   - The replicated clock, state.clock, by which sessions, keys and tombstones age. It advances with the
//     monotonic clock of the leader, and in each term gets at most maxStep ahead of it. It follows the
//     clock of the machine further only if other nodes confirm that clock, or after an hour.
const (
	// maxStep is how far a leader may set the replicated clock forward because its own is ahead.
	maxStep = time.Minute
	// clockJump is how far the time by which rows expire may be ahead of the last time that was seen;
	// more is taken for a mistake. clockSettles is how long, by the monotonic clock, the clock must
	// show the later time to be believed: a machine that starts with a wrong clock gets the right one
	// from NTP within that time.
	clockJump    = 24 * time.Hour
	clockSettles = time.Hour
)

// pace bounds the steps of the replicated clock by the monotonic one.
type pace struct {
	mu    sync.Mutex    // guards the rest
	term  uint64        // in which this replica leads
	clock int64         // the time of the last entry, or of the last one of another leader
	at    time.Duration // when that was, by the monotonic clock
	step  time.Duration // how far the clock was set forward in the term
}

// moment is a state of the clocks: the replicated one, which was set when the monotonic one said
// ticked, what that says now, and the term.
type moment struct {
	term         uint64
	clock        int64
	ticked, mono time.Duration
}

// least returns what the replicated clock must have come to; mu is held.
func (p *pace) least(m moment) int64 {
	if p.term != m.term || p.clock == 0 {
		p.term, p.clock, p.at, p.step = m.term, m.clock, m.ticked, 0
	}
	return p.clock + int64(m.mono-p.at)
}

// next returns the time of the next entry, for a machine whose clock says wall.
func (p *pace) next(m moment, wall int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.clock == 0 && p.clock == 0 {
		return wall // the first entry of the shard
	}
	least := p.least(m)
	t := min(max(wall, least), least+int64(maxStep-p.step))
	p.clock, p.at, p.step = t, m.mono, p.step+time.Duration(t-least)
	return t
}

// agree sets the clock forward to a time that is known to be right.
func (p *pace) agree(m moment, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.clock == 0 && p.clock == 0 {
		return
	}
	p.clock, p.at = max(p.least(m), now), m.mono
}

// timekeeper gives entries their times, and decides the time by which rows expire.
type timekeeper struct {
	cfg     *Config
	metrics *store.Metrics
	replica *replica.Replica
	tables  *store.Tables
	life    *store.Expiry
	// wakeFlusherFor has the shard flush soon.
	wakeFlusherFor func(reason string)

	pace pace
	// expiry is used by the flush loop alone.
	expiry expiryClock
}

// moment returns how the clocks are now.
func (tk *timekeeper) moment() moment {
	clock, ticked := tk.tables.Replicated()
	return moment{tk.replica.Term(), clock, ticked, tk.cfg.Monotonic()}
}

// entryTime returns the time of the next entry that this replica proposes.
func (tk *timekeeper) entryTime() int64 {
	return tk.pace.next(tk.moment(), tk.cfg.Now().UnixNano())
}

// expiryTime returns the time by which rows may expire. It is the clock of this machine if that advances
// as it should, and at most the time that a majority of the nodes have. If the clock has been far ahead
// of the last time that was seen, but not for long, it is that last time plus the time that has passed
// since. The error says that the others cannot be asked.
func (tk *timekeeper) expiryTime(ctx context.Context) (time.Time, error) {
	now, mono := tk.cfg.Now(), tk.cfg.Monotonic()
	use, sound := tk.expiry.at(time.Unix(0, 0).Add(mono), now.Round(0))
	if !sound {
		tk.metrics.ClockLeaps.Inc()
		tk.cfg.Logger.Error("the clock leapt ahead: rows expire as if it had not, until the process is started again or "+
			"the clock is set back",
			"clock", now.UTC(), "want", use.UTC())
	}
	if !tk.replica.IsLeader() {
		return use, nil
	}
	if tk.cfg.Agreed != nil {
		agreed, err := tk.cfg.Agreed(ctx)
		if err != nil {
			return use, fmt.Errorf("shard %d: whether rows have expired is not known: %w", tk.cfg.ID, err)
		}
		if agreed.Before(use) {
			use = agreed
		}
	}
	seen := tk.tables.Seen(mono)
	hold, news := tk.expiry.far(mono, use, seen)
	if news {
		tk.metrics.ClockLeaps.Inc()
		tk.cfg.Logger.Error("the clock is far ahead of what it was when the shard was written last: "+
			"rows expire as if it were not for an hour; set it if it is wrong",
			"clock", now.UTC(), "want", seen.UTC())
	}
	if hold {
		return seen, nil
	}
	tk.pace.agree(tk.moment(), use.UnixNano())
	return use, nil
}

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
	// ahead is when that began, by the monotonic clock.
	ahead time.Duration
}

// far reports whether a time is so far ahead of the last one that rows must not expire by it yet,
// and whether this began just now.
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

// at returns the time by which rows may expire, from a reading of the monotonic clock and one of
// the machine's: the machine's, or, if that is too far ahead, the time that the monotonic clock
// gives. sound is false the first time that it is too far ahead.
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

// expireRows proposes what has expired, if this replica leads, and has the shard flush
// if something goes. It is called once every Config.FlushAge.
func (tk *timekeeper) expireRows(ctx context.Context) error {
	use, err := tk.expiryTime(ctx)
	if err != nil {
		return err
	}
	some, err := tk.expireBy(ctx, use)
	if some {
		tk.wakeFlusherFor(store.FlushExpire)
	}
	return err
}

// expireBy proposes what has expired at a time, and reports whether anything has.
func (tk *timekeeper) expireBy(ctx context.Context, at time.Time) (some bool, err error) {
	if !tk.replica.IsLeader() {
		return false, nil
	}
	cutoffs := tk.life.Expirable(at)
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
