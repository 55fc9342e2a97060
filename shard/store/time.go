package store

import "time"

// tick advances the replicated clock to the time of an entry; mu must be held.
func (tb *Tables) tick(at int64) {
	before := tb.State.Clock
	tb.State.Tick(at)
	if tb.State.Clock > before {
		tb.ticked = tb.cfg.Monotonic()
	}
}

// clockNanos returns the present value of the replicated clock; mu must be held.
func (tb *Tables) clockNanos() int64 {
	if tb.State.Clock == 0 {
		return tb.cfg.Now().UnixNano() // no entry was ever applied
	}
	return tb.State.Clock + int64(tb.cfg.Monotonic()-tb.ticked)
}

// clockNow returns the present value of the replicated clock.
func (tb *Tables) clockNow() time.Time {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return time.Unix(0, tb.clockNanos())
}

// Seen returns the last time that the shard has seen, or that the node had seen before this
// process, plus the monotonic time since. It is zero if there is none.
func (tb *Tables) Seen(mono time.Duration) (t time.Time) {
	tb.mu.RLock()
	if tb.State.Clock != 0 {
		t = time.Unix(0, tb.State.Clock).Add(mono - tb.ticked)
	}
	tb.mu.RUnlock()
	if !tb.cfg.Seen.IsZero() {
		if node := tb.cfg.Seen.Add(mono - tb.openedAt); node.After(t) {
			t = node
		}
	}
	return t
}

// Replicated returns the replicated clock, and the reading of Config.Monotonic when it was set.
func (tb *Tables) Replicated() (clock int64, ticked time.Duration) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.State.Clock, tb.ticked
}
