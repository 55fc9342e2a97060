package shard

import (
	"net/http"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// This file answers the questions of the other parts about what the shard shows. Each answer is
// of one moment, taken under the lock.

// refMemtable returns the active memtable with a reference, for rows that will be appended.
func (tb *tables) refMemtable() *memtable.Memtable {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	tb.mem.active.Ref()
	return tb.mem.active
}

// filling says how full the memory is: what is used, whether the shard is closing, and why the last
// flush failed.
func (tb *tables) filling() (used int64, closing bool, flushErr error) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.used(), tb.closing, tb.flushErr
}

// applied returns the index of the last entry that was applied.
func (tb *tables) applied() uint64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.appliedIndex
}

// unflushed reports whether anything was applied that is not in segments.
func (tb *tables) unflushed() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.appliedIndex > tb.flushed.Load() || !tb.mem.active.Empty()
}

// settled reports whether a flush would do nothing, and the last one did not fail.
func (tb *tables) settled() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.flushErr == nil && len(tb.mem.frozen) == 0 && tb.mem.active.Empty() && tb.appliedIndex <= tb.flushed.Load()
}

// hasFrozen reports whether memtables wait to be written.
func (tb *tables) hasFrozen() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return len(tb.mem.frozen) > 0
}

// onlyUnlogged reports whether there are rows, but none that this process got from the log.
func (tb *tables) onlyUnlogged() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.appliedIndex == tb.base && !tb.mem.active.Empty()
}

// memory returns the memory of all memtables.
func (tb *tables) memory() int64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.mem.size()
}

// flushReason says why the shard should be flushed now; "" if it need not be. logBytes is the
// size of the log behind the manifest's index.
func (tb *tables) flushReason(logBytes int64) string {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	now := tb.cfg.Now()
	switch {
	case len(tb.mem.frozen) > 0:
		return flushRetry
	case tb.appliedIndex <= tb.flushed.Load() && tb.mem.active.Empty():
		return ""
	case tb.mem.large(tb.cfg.FlushBytes):
		return flushBytes
	case logBytes >= tb.cfg.FlushLogBytes:
		return flushLog
	case !tb.mem.since.IsZero() && now.Sub(tb.mem.since) >= tb.cfg.FlushAge:
		return flushAge
	case tb.mem.bytes >= tb.cfg.FlushBytes/8 && now.Sub(tb.mem.last) >= tb.cfg.FlushIdle:
		return flushIdle
	case tb.mem.bytes > 0 && tb.mem.bytes >= tb.cfg.Budget.share():
		return flushBudget
	}
	return ""
}

// replicated returns the replicated clock, and when it was set by Config.Monotonic.
func (tb *tables) replicated() (clock int64, ticked time.Duration) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.state.Clock, tb.ticked
}

// dropped reports whether a table was dropped, as far as that is remembered.
func (tb *tables) dropped(id uint64) bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	_, gone := tb.state.Dropped[id]
	return gone
}

// newer returns those of the definitions that are newer than what the shard has, and the index
// that has been applied.
func (tb *tables) newer(tables []*schemapb.Table, defs []*rules.Definition) (news []*schemapb.Table, index uint64) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for i, d := range defs {
		_, gone := tb.state.Dropped[d.ID]
		if old := tb.state.Tables[d.ID]; !gone && (old == nil || d.NewerThan(old)) {
			news = append(news, tables[i])
		}
	}
	return news, tb.appliedIndex
}

// highest returns the highest id of a table that the shard has, or had not long ago.
func (tb *tables) highest() (id uint64) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for have := range tb.state.Tables {
		id = max(id, have)
	}
	for have := range tb.state.Dropped {
		id = max(id, have)
	}
	for have := range tb.segs.byTable {
		id = max(id, have)
	}
	return id
}

// definition returns the newest definition of a table; nil if there is none.
func (tb *tables) definition(id uint64) *rules.Definition {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.state.Tables[id]
}

// setShared says whether all rows have to go through the log, because there is another replica or
// will be one.
func (tb *tables) setShared(shared bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.shared = shared
}

// close ends the tails, and has new writes refused. Views can still be made.
func (tb *tables) close() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.closing = true
	tb.endTails(0, tailEnds(tb.cfg.ID))
}

// flushFails reports whether the last flush failed.
func (tb *tables) flushFails() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.flushErr != nil
}

// admitted is what the rules say of a write before it goes into the log.
type admitted struct {
	need  []uint64 // tables whose definitions are missing
	fresh []bool   // by batch: it was not appended before
	some  bool     // one of the batches is fresh
	// known has the definitions of the tables of fresh batches. They stay as they are; the maps
	// of the state do not.
	known  rules.Admission
	index  uint64
	shared bool // there is another replica, or there will be one soon
}

// admit asks the rules about the batches of a write that brings definitions.
func (tb *tables) admit(headers []column.Header, defs []*rules.Definition) (a admitted, err error) {
	a.fresh = make([]bool, len(headers))
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	adm := rules.Admission{State: tb.state, Leader: true}
	adm.Learn(defs)
	for i := range headers {
		v, err := adm.Admit(&headers[i])
		switch v {
		case rules.Refused:
			return a, err
		case rules.NeedsTable:
			a.need = appendNew(a.need, headers[i].TableID)
		case rules.Admitted:
			if h := &headers[i]; rules.Keyed(h) && tb.state.KeyReused(h) {
				return a, errs.New(errs.InvalidArguments,
					"the Idempotency-Key was used for another body or other parameters within the last %d minutes, and nothing of this request is stored: send it with a key of its own", int(rules.KeyTTL.Minutes())).
					WithStatus(http.StatusUnprocessableEntity)
			}
			a.fresh[i], a.some = true, true
		}
	}
	a.known = rules.Admission{State: &rules.State{ShardID: tb.cfg.ID}, Tables: map[uint64]*rules.Definition{}}
	for i := range headers {
		if a.fresh[i] {
			a.known.Tables[headers[i].TableID] = adm.Table(headers[i].TableID)
		}
	}
	a.index, a.shared = tb.appliedIndex, tb.shared
	return a, nil
}
