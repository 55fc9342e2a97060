package shard

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cordwood/shard/replica"
)

// A clock that is wrong must not lose rows, nor what the shard remembers of batches. Three times
// are told apart:
//
//   - The clock of the machine. It may be wrong, and it may jump.
//   - The monotonic clock of the process: how long something takes.
//   - The replicated clock, state.clock, by which sessions, keys and tombstones age. It goes on with the
//     monotonic clock of whoever leads, at most maxStep ahead of that in each term, and follows the
//     clock of the machine beyond that only when others, or an hour, say that this is right.
const (
	// maxStep is how far a leader may set the replicated clock forward because its own is ahead.
	maxStep = time.Minute
	// clockJump is how far the time by which rows expire may be ahead of the last that was seen
	// before it is taken for a mistake, and clockSettles how long it must have been so, by
	// the monotonic clock, to be believed: a machine that starts with a wrong clock gets the right
	// one from NTP within that.
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

// least is what the replicated clock must have come to; mu is held.
func (p *pace) least(m moment) int64 {
	if p.term != m.term || p.clock == 0 {
		p.term, p.clock, p.at, p.step = m.term, m.clock, m.ticked, 0
	}
	return p.clock + int64(m.mono-p.at)
}

// next is the time of the next entry, for a machine whose clock says wall.
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

// timekeeper gives entries their times, and decides by which time rows expire.
type timekeeper struct {
	cfg     *Config
	metrics *metrics
	replica *replica.Replica
	tables  *tables
	life    *lifetimes
	// wakeFlusherFor has the shard flush soon.
	wakeFlusherFor func(reason string)

	pace pace
	// expiry is used by the flush loop alone.
	expiry expiryClock
}

// moment is how the clocks are now.
func (tk *timekeeper) moment() moment {
	clock, ticked := tk.tables.replicated()
	return moment{tk.replica.Term(), clock, ticked, tk.cfg.Monotonic()}
}

// entryTime is the time of the next entry that this replica proposes.
func (tk *timekeeper) entryTime() int64 {
	return tk.pace.next(tk.moment(), tk.cfg.Now().UnixNano())
}

// Tick moves the replicated clock to the time of an entry; mu is held.
func (tb *tables) tick(at int64) {
	before := tb.state.Clock
	tb.state.Tick(at)
	if tb.state.Clock > before {
		tb.ticked = tb.cfg.Monotonic()
	}
}

// clockNanos returns the replicated clock as it should be now; mu is held.
func (tb *tables) clockNanos() int64 {
	if tb.state.Clock == 0 {
		return tb.cfg.Now().UnixNano() // nothing was ever written
	}
	return tb.state.Clock + int64(tb.cfg.Monotonic()-tb.ticked)
}

// seen is the time by what the shard, and the node before this process, saw last, and by the monotonic
// clock since; zero if neither saw anything.
func (tb *tables) seen(mono time.Duration) (t time.Time) {
	tb.mu.RLock()
	if tb.state.Clock != 0 {
		t = time.Unix(0, tb.state.Clock).Add(mono - tb.ticked)
	}
	tb.mu.RUnlock()
	if !tb.cfg.Seen.IsZero() {
		if node := tb.cfg.Seen.Add(mono - tb.openedAt); node.After(t) {
			t = node
		}
	}
	return t
}

// expiryTime is the time by which rows may expire: the clock of this machine, if it goes on as it
// should; no more than a majority of the nodes say; and what it should be by what was seen
// last, if it is far ahead of that and has not been so for long. The error says that the others
// cannot be asked.
func (tk *timekeeper) expiryTime(ctx context.Context) (time.Time, error) {
	now, mono := tk.cfg.Now(), tk.cfg.Monotonic()
	use, sound := tk.expiry.at(time.Unix(0, 0).Add(mono), now.Round(0))
	if !sound {
		tk.metrics.clockLeaps.Inc()
		tk.cfg.Logger.Error("the clock leapt ahead: rows expire as if it had not, until the process is started again or the clock is set back",
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
	seen := tk.tables.seen(mono)
	hold, news := tk.expiry.far(mono, use, seen)
	if news {
		tk.metrics.clockLeaps.Inc()
		tk.cfg.Logger.Error("the clock is far ahead of what it was when the shard was written last: rows expire as if it were not for an hour; set it if it is wrong",
			"clock", now.UTC(), "want", seen.UTC())
	}
	if hold {
		return seen, nil
	}
	tk.pace.agree(tk.moment(), use.UnixNano())
	return use, nil
}
