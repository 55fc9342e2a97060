package store

import (
	"math"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// This file handles the memory of rows: how much is used, when it is flushed, and how a memtable is
// frozen for a flush.

// Memory reports how full the memtables are, and when they have to be flushed.
type Memory struct{ tables *Tables }

// Active returns the active memtable with a reference, for rows that will be appended.
func (m *Memory) Active() *memtable.Memtable {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	tb.Mem.Active.Ref()
	return tb.Mem.Active
}

// Unflushed reports whether applied rows or changes are not in segments yet.
func (m *Memory) Unflushed() bool {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.AppliedIndex > tb.Flushed.Load() || !tb.Mem.Active.Empty()
}

// Settled reports whether a flush would do nothing and the last one did not fail.
func (m *Memory) Settled() bool {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.flushErr == nil && len(tb.Mem.frozen) == 0 && tb.Mem.Active.Empty() && tb.AppliedIndex <= tb.Flushed.Load()
}

// OnlyUnlogged reports whether there are rows, but none that this process got from the log.
func (m *Memory) OnlyUnlogged() bool {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.AppliedIndex == tb.Base && !tb.Mem.Active.Empty()
}

// Size returns the memory of all memtables.
func (m *Memory) Size() int64 {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.Mem.size()
}

// FlushReason returns the reason why the shard should be flushed now, or "". logBytes is the size
// of the log after the manifest's index. A follower waits longer than its leader, which normally makes
// it flush.
func (m *Memory) FlushReason(logBytes int64, follows bool) string {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	now := tb.cfg.Now()
	bytes, log, age, idle := tb.cfg.FlushBytes, tb.cfg.FlushLogBytes, tb.cfg.FlushAge, tb.cfg.FlushIdle
	share := tb.cfg.Budget.share()
	if follows {
		bytes, log, age, idle = bytes+bytes/4, log+log/4, age+age/4, 2*idle
		if share < math.MaxInt64/2 {
			share += share / 4
		}
	}
	switch {
	case len(tb.Mem.frozen) > 0:
		return flushRetry
	case tb.AppliedIndex <= tb.Flushed.Load() && tb.Mem.Active.Empty():
		return ""
	case tb.Mem.large(bytes):
		return flushBytes
	case logBytes >= log:
		return flushLog
	case !tb.Mem.since.IsZero() && now.Sub(tb.Mem.since) >= age:
		return flushAge
	case tb.Mem.bytes >= tb.cfg.FlushBytes/8 && now.Sub(tb.Mem.last) >= idle:
		return flushIdle
	case tb.Mem.bytes > 0 && tb.Mem.bytes >= share:
		return flushBudget
	}
	return ""
}

// FlushFails reports whether the last flush failed.
func (m *Memory) FlushFails() bool {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.flushErr != nil
}

// Accepts returns an error for rows of a table that has raw rows, if all raw rows together take as much memory
// as a memtable may.
func (m *Memory) Accepts(table uint64) error {
	tb := m.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	list := tb.segs.raw[table]
	if len(list) == 0 || tb.segs.rawBytes() < tb.cfg.FlushBytes {
		return nil
	}
	tb.metrics.Busy.Inc()
	return errs.New(errs.StorageUnavailable,
		"shard %d: table id %d takes no rows on node %s because its rows cannot be written to segments: %s; start a newer "+
			"version, which tries again, or drop the table",
		tb.cfg.ID, table, tb.cfg.NodeID, list[0].reason).WithReason(errs.Busy).WithRetryAfter(time.Minute)
}

// Filling returns the memory in use, whether the shard is closing, and the error of the last flush.
func (tb *Tables) Filling() (used int64, closing bool, flushErr error) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.used(), tb.closing, tb.flushErr
}

// Fuller reports whether the given quarters of the memory limit are used. It also returns the
// memory in use and the error of the last flush.
func (tb *Tables) Fuller(quarters int64) (used int64, is bool, flushErr error) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	used = tb.used()
	return used, used >= tb.cfg.MemoryLimit/4*quarters, tb.flushErr
}

// HasFrozen reports whether memtables wait to be written.
func (tb *Tables) HasFrozen() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return len(tb.Mem.frozen) > 0
}

// NoteFlush records the result of a flush.
func (tb *Tables) NoteFlush(err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if err == nil {
		tb.flushFailing = 0
	} else if tb.flushErr == nil {
		tb.flushFailing = tb.cfg.Monotonic()
	}
	tb.flushErr = err
}

// Freeze freezes the active memtable if anything in it is not covered by the last freeze or flush.
// It is called between two calls of Apply.
func (tb *Tables) Freeze(index uint64) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	last := tb.Flushed.Load()
	if n := len(tb.Mem.frozen); n > 0 {
		last = tb.Mem.frozen[n-1].index
	}
	if index <= last && tb.Mem.Active.Empty() {
		tb.noteFreeze(nil)
		return
	}
	f := &frozen{
		mem: tb.Mem.Active, bytes: tb.Mem.bytes, index: index, term: tb.AppliedTerm, clock: tb.State.Clock,
		defs: map[uint64]*rules.Definition{}, changes: tb.State.TakeChanges(), sessions: tb.State.StoredSessions(),
		keys: tb.State.StoredKeys(), cold: tb.State.StoredCold(),
	}
	for _, id := range f.mem.Tables() {
		f.defs[id] = tb.State.Tables[id]
	}
	f.rows = Range{After: tb.frozenAt, Last: tb.Content}
	tb.frozenAt = tb.Content
	tb.noteFreeze(f)
	tb.Mem.frozen = append(tb.Mem.frozen, f)
	tb.Mem.Active = memtable.New(tb.cfg.Pool)
	tb.Mem.bytes, tb.Mem.since = 0, time.Time{}
}
