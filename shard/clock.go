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

// A wrong clock must not lose rows, nor the shard's record of appended batches. There are three clocks:
//
//   - The clock of the machine. It may be wrong, and it may jump.
//   - The monotonic clock of the process. It measures durations.
//   - The replicated clock, state.clock, by which sessions, keys and tombstones age. It advances with
//     the monotonic clock of the leader, and in each term gets at most maxStep ahead of it. It follows
//     the clock of the machine further only if other nodes confirm that clock, or after an hour.
const (
	// maxStep is the most by which a leader may set the replicated clock forward because the clock
	// of its machine is ahead.
	maxStep = time.Minute
	// clockJump is how far the time by which rows expire may be ahead of the last known time. A
	// larger jump is treated as a fault of the clock until it has lasted for clockSettles, measured
	// by the monotonic clock. A machine that starts with a wrong clock gets the right time from NTP
	// sooner.
	clockJump    = 24 * time.Hour
	clockSettles = time.Hour
)

// pace limits the steps of the replicated clock by the monotonic clock.
type pace struct {
	mu    sync.Mutex    // guards the rest
	term  uint64        // the term to which the other fields belong
	clock int64         // the time of the newest entry of any leader
	at    time.Duration // when that entry was made, by the monotonic clock
	step  time.Duration // how far the clock was set forward in this term
}

// moment is a state of the clocks: the replicated clock, the reading of the monotonic clock when it
// was set (ticked), the monotonic clock now, and the term.
type moment struct {
	term         uint64
	clock        int64
	ticked, mono time.Duration
}

// earliest returns the time that the replicated clock must have reached by now. mu must be held.
func (p *pace) earliest(m moment) int64 {
	if p.term != m.term || p.clock == 0 {
		p.term, p.clock, p.at, p.step = m.term, m.clock, m.ticked, 0
	}
	return p.clock + int64(m.mono-p.at)
}

// next returns the time of the next entry. wall is the clock of the machine.
func (p *pace) next(m moment, wall int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.clock == 0 && p.clock == 0 {
		return wall // the first entry of the shard
	}
	earliest := p.earliest(m)
	t := min(max(wall, earliest), earliest+int64(maxStep-p.step))
	p.clock, p.at, p.step = t, m.mono, p.step+time.Duration(t-earliest)
	return t
}

// agree sets the clock forward to a time that is known to be right.
func (p *pace) agree(m moment, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.clock == 0 && p.clock == 0 {
		return
	}
	p.clock, p.at = max(p.earliest(m), now), m.mono
}

// timekeeper gives entries their times, and decides by which time rows expire.
type timekeeper struct {
	cfg     *Config
	metrics *store.Metrics
	replica *replica.Replica
	tables  *store.Tables
	life    *store.Expiry
	// wakeFlusherFor makes the shard flush soon.
	wakeFlusherFor func(reason string)

	pace pace
	// expiry is used by the flush loop alone.
	expiry expiryClock
}

// moment returns the present state of the clocks.
func (tk *timekeeper) moment() moment {
	clock, ticked := tk.tables.Replicated()
	return moment{tk.replica.Term(), clock, ticked, tk.cfg.Monotonic()}
}

// entryTime returns the time of the next entry that this replica proposes.
func (tk *timekeeper) entryTime() int64 {
	return tk.pace.next(tk.moment(), tk.cfg.Now().UnixNano())
}

// expiryTime returns the time by which rows may expire. It is the clock of this machine if that
// clock advances as it should, but at most the time that the clocks of a majority of the nodes
// show. If the clock has recently leapt far ahead of the last known time, it is the last known time
// plus the time elapsed since. An error means that the other nodes cannot be asked.
func (tk *timekeeper) expiryTime(ctx context.Context) (time.Time, error) {
	now, mono := tk.cfg.Now(), tk.cfg.Monotonic()
	use, sound := tk.expiry.at(time.Unix(0, 0).Add(mono), now.Round(0))
	if !sound {
		tk.metrics.ClockLeaps.Inc()
		tk.cfg.Logger.Error("the clock jumped ahead: rows expire as if it had not, until the process is restarted or "+
			"the clock is set back",
			"clock", now.UTC(), "want", use.UTC())
	}
	if !tk.replica.IsLeader() {
		return use, nil
	}
	if tk.cfg.Agreed != nil {
		agreed, err := tk.cfg.Agreed(ctx)
		if err != nil {
			return use, fmt.Errorf("shard %d: cannot determine which rows have expired: %w", tk.cfg.ID, err)
		}
		if agreed.Before(use) {
			use = agreed
		}
	}
	seen := tk.tables.Seen(mono)
	hold, news := tk.expiry.far(mono, use, seen)
	if news {
		tk.metrics.ClockLeaps.Inc()
		tk.cfg.Logger.Error("the clock is far ahead of the time of the shard's last write: "+
			"for an hour, rows expire as if it were not; set the clock if it is wrong",
			"clock", now.UTC(), "want", seen.UTC())
	}
	if hold {
		return seen, nil
	}
	tk.pace.agree(tk.moment(), use.UnixNano())
	return use, nil
}

// maxClockLead is how far the clock may be ahead of its expected value, by the monotonic clock, for
// rows to expire by it.
const maxClockLead = 5 * time.Minute

// expiryClock watches the clock by which rows expire: if the clock jumps ahead, rows must not
// expire early.
type expiryClock struct {
	mono   time.Time // the last good reading of the monotonic clock
	wall   time.Time // the reading of the machine's clock at the same moment
	warned bool
	held   bool // whether the time is far ahead of the last known time
	// ahead is the reading of the monotonic clock when held became true.
	ahead time.Duration
}

// far reports whether t is so far ahead of the last known time that rows must not expire by it yet,
// and whether this is the first call to find it so.
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

// at returns the time by which rows may expire, from readings of the monotonic clock and of the
// machine's clock. It is the machine's clock, or if that is too far ahead, the last good reading
// plus the time elapsed since. sound is false on the first call that finds the clock too far ahead.
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

// expireRows proposes the expiry of rows if this replica leads, and makes the shard flush if rows
// expired. It is called once every Config.FlushAge.
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

// expireBy proposes the expiry of rows at a time, and reports whether any rows have expired.
func (tk *timekeeper) expireBy(ctx context.Context, at time.Time) (some bool, err error) {
	if !tk.replica.IsLeader() {
		return false, nil
	}
	for part := range slices.Chunk(tk.life.Expirable(at), maxCutoffs) {
		e := rules.Entry{Kind: rules.KindExpire, Time: tk.entryTime(), Cutoffs: part}
		if _, err := tk.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
			return some, err
		}
		some = true
	}
	return some, nil
}

// expireBefore proposes that rows before times expire, which were written before the call, and makes the shard flush.
func (tk *timekeeper) expireBefore(ctx context.Context, cutoffs []rules.Cutoff) error {
	list := slices.Clone(cutoffs)
	for i := range list {
		list[i].Before = tk.life.Cutoff(list[i].TableID, list[i].Before)
	}
	for part := range slices.Chunk(list, maxCutoffs) {
		e := rules.Entry{Kind: rules.KindExpire, Time: tk.entryTime(), Cutoffs: part}
		if _, err := tk.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
			return err
		}
	}
	tk.wakeFlusherFor(store.FlushExpire)
	return nil
}

// maxCutoffs is the maximum number of tables in one entry of expiries.
const maxCutoffs = 10_000
