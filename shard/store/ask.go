package store

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// This file answers the questions of the other parts about what the shard shows. Each answer is
// of one moment, taken under the lock.

// RefMemtable returns the active memtable with a reference, for rows that will be appended.
func (tb *Tables) RefMemtable() *memtable.Memtable {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	tb.Mem.Active.Ref()
	return tb.Mem.Active
}

// Filling says how full the memory is: what is used, whether the shard is closing, and why the last
// flush failed.
func (tb *Tables) Filling() (used int64, closing bool, flushErr error) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.used(), tb.closing, tb.flushErr
}

// Applied returns the index of the last entry that was applied.
func (tb *Tables) Applied() uint64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.AppliedIndex
}

// Unflushed reports whether anything was applied that is not in segments.
func (tb *Tables) Unflushed() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.AppliedIndex > tb.Flushed.Load() || !tb.Mem.Active.Empty()
}

// Settled reports whether a flush would do nothing, and the last one did not fail.
func (tb *Tables) Settled() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.flushErr == nil && len(tb.Mem.frozen) == 0 && tb.Mem.Active.Empty() && tb.AppliedIndex <= tb.Flushed.Load()
}

// HasFrozen reports whether memtables wait to be written.
func (tb *Tables) HasFrozen() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return len(tb.Mem.frozen) > 0
}

// OnlyUnlogged reports whether there are rows, but none that this process got from the log.
func (tb *Tables) OnlyUnlogged() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.AppliedIndex == tb.Base && !tb.Mem.Active.Empty()
}

// Memory returns the memory of all memtables.
func (tb *Tables) Memory() int64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.Mem.size()
}

// FlushReason says why the shard should be flushed now; "" if it need not be. logBytes is the
// size of the log behind the manifest's index.
func (tb *Tables) FlushReason(logBytes int64) string {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	now := tb.cfg.Now()
	switch {
	case len(tb.Mem.frozen) > 0:
		return flushRetry
	case tb.AppliedIndex <= tb.Flushed.Load() && tb.Mem.Active.Empty():
		return ""
	case tb.Mem.large(tb.cfg.FlushBytes):
		return flushBytes
	case logBytes >= tb.cfg.FlushLogBytes:
		return flushLog
	case !tb.Mem.since.IsZero() && now.Sub(tb.Mem.since) >= tb.cfg.FlushAge:
		return flushAge
	case tb.Mem.bytes >= tb.cfg.FlushBytes/8 && now.Sub(tb.Mem.last) >= tb.cfg.FlushIdle:
		return flushIdle
	case tb.Mem.bytes > 0 && tb.Mem.bytes >= tb.cfg.Budget.share():
		return flushBudget
	}
	return ""
}

// Dropped reports whether a table was dropped, as far as that is remembered.
func (tb *Tables) Dropped(id uint64) bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	_, gone := tb.State.Dropped[id]
	return gone
}

// Newer returns the ones of the definitions that are newer than what the shard has, and the index
// that has been applied.
func (tb *Tables) Newer(tables []*schemapb.Table, defs []*rules.Definition) (news []*schemapb.Table, index uint64) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for i, d := range defs {
		_, gone := tb.State.Dropped[d.ID]
		if old := tb.State.Tables[d.ID]; !gone && (old == nil || d.NewerThan(old)) {
			news = append(news, tables[i])
		}
	}
	return news, tb.AppliedIndex
}

// Highest returns the highest id of a table that the shard has, or had not long ago.
func (tb *Tables) Highest() (id uint64) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for have := range tb.State.Tables {
		id = max(id, have)
	}
	for have := range tb.State.Dropped {
		id = max(id, have)
	}
	for have := range tb.segs.byTable {
		id = max(id, have)
	}
	return id
}

// SetShared says whether all rows have to go through the log, because there is another replica or
// will be one.
func (tb *Tables) SetShared(shared bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.shared = shared
}

// Close ends the tails, and has new writes refused. Views can still be made.
func (tb *Tables) Close() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.closing = true
	tb.endTails(0, tailEnds(tb.cfg.ID))
}

// FlushFails reports whether the last flush failed.
func (tb *Tables) FlushFails() bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.flushErr != nil
}

// admitted is what the rules say of a write before it goes into the log.
type admitted struct {
	Need  []uint64 // tables whose definitions are missing
	Fresh []bool   // by batch: it was not appended before
	Some  bool     // one of the batches is fresh
	// Known has the definitions of the tables of fresh batches. They stay as they are; the maps
	// of the state do not.
	Known  rules.Admission
	Index  uint64
	Shared bool // there is another replica, or there will be one soon
}

// Admit asks the rules about the batches of a write that brings definitions.
func (tb *Tables) Admit(headers []column.Header, defs []*rules.Definition) (a admitted, err error) {
	a.Fresh = make([]bool, len(headers))
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	adm := rules.Admission{State: tb.State, Leader: true}
	adm.Learn(defs)
	for i := range headers {
		v, err := adm.Admit(&headers[i])
		switch v {
		case rules.Refused:
			return a, err
		case rules.NeedsTable:
			a.Need = appendNew(a.Need, headers[i].TableID)
		case rules.Admitted:
			if h := &headers[i]; rules.Keyed(h) && tb.State.KeyReused(h) {
				return a, errs.New(errs.InvalidArguments,
					"the Idempotency-Key was used for another body or other parameters within the last %d minutes, and nothing of "+
						"this request is stored: send it with a key of its own", int(rules.KeyTTL.Minutes())).
					WithStatus(http.StatusUnprocessableEntity)
			}
			a.Fresh[i], a.Some = true, true
		}
	}
	a.Known = rules.Admission{State: &rules.State{ShardID: tb.cfg.ID}, Tables: map[uint64]*rules.Definition{}}
	for i := range headers {
		if a.Fresh[i] {
			a.Known.Tables[headers[i].TableID] = adm.Table(headers[i].TableID)
		}
	}
	a.Index, a.Shared = tb.AppliedIndex, tb.shared
	return a, nil
}

// Table returns the version of the definition that the replica has applied, and the epoch in which
// the table takes rows here.
func (tb *Tables) Table(id uint64) (version, epoch uint32, known bool) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.State.Tables[id]
	if d == nil {
		return 0, 0, false
	}
	return d.Version, d.Writable().Epoch, true
}

// TableIDs returns the tables that the replica has a definition of, in no order.
func (tb *Tables) TableIDs() []uint64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	ids := make([]uint64, 0, len(tb.State.Tables))
	for id := range tb.State.Tables {
		ids = append(ids, id)
	}
	return ids
}

// HasKey reports whether a batch of a request with a key was appended. A key is forgotten after rules.KeyTTL.
func (tb *Tables) HasKey(session, seq uint64) bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.State.HasKey(session, seq)
}

// Gone reports whether one of the tables was dropped here, as far as is remembered: its
// rows may be somewhere else by another id, so a view that was taken before the call may be
// all that there is, or may have nothing.
func (tb *Tables) Gone(tableIDs ...uint64) error {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for _, id := range tableIDs {
		if _, gone := tb.State.Dropped[id]; gone {
			return TableGone(tb.cfg.ID, id)
		}
	}
	return nil
}

// Outdated reports whether the shard knows a newer definition of one of the tables than the
// given one. Who was cut off from the metadata may hold one by which the newest rows are looked
// for where they no longer go, or without columns that were added.
func (tb *Tables) Outdated(tables []*schemapb.Table) error {
	epochs := make([]uint32, len(tables))
	for i, t := range tables {
		epochs[i] = schema.FromProto(t).Writable().Epoch
	}
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for i, t := range tables {
		epoch := epochs[i]
		if d := tb.State.Tables[t.Id]; d != nil && (d.Version > t.Version || d.Writable().Epoch > epoch) {
			return errs.New(errs.TableUnavailable,
				"shard %d: table %s.%s was changed (version %d, epoch %d) after what the query knows of it (version %d, epoch %d)",
				tb.cfg.ID, t.Database, t.Name, d.Version, d.Writable().Epoch, t.Version, epoch).WithReason(errs.SchemaStale)
		}
	}
	return nil
}

// TookOver reports whether a replica has all rows of a table that was handed over to its
// shard: its log has told it that the copy is the table. A copy has epoch 1 and the table
// a later one, and nobody knows of that before the last row of the copy is in the log.
func (tb *Tables) TookOver(tableID uint64) bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.State.Tables[tableID]
	return d != nil && d.Writable().Epoch > 1
}

// TableGone returns the refusal of a table that was dropped or truncated. The caller takes the table's new
// definition from the metadata and tries again, if there is one.
func TableGone(shard uint32, table uint64) error {
	return errs.New(errs.TableNotFound, "shard %d: table id %d was dropped or truncated", shard,
		table).WithReason(errs.TableGone)
}

// appendNew appends an id unless it is listed.
func appendNew(ids []uint64, id uint64) []uint64 {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}

// Fuller reports whether so many quarters of the memory limit are used, and why the last flush failed.
func (tb *Tables) Fuller(quarters int64) (used int64, is bool, flushErr error) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	used = tb.used()
	return used, used >= tb.cfg.MemoryLimit/4*quarters, tb.flushErr
}

// Takes refuses rows of a table of which as many are set aside as memory is meant for.
func (tb *Tables) Takes(table uint64) error {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	list := tb.segs.aside[table]
	if len(list) == 0 || tb.segs.asideBytes() < tb.cfg.FlushBytes {
		return nil
	}
	tb.metrics.Busy.Inc()
	return errs.New(errs.StorageUnavailable,
		"shard %d: table id %d takes no rows on node %s: %s; start a newer version, which tries again, or drop the table",
		tb.cfg.ID, table, tb.cfg.NodeID, list[0].reason).WithReason(errs.Busy).WithRetryAfter(time.Minute)
}

// Unreachable returns the refusal of a node that has no open replica of the shard.
func Unreachable(id uint32) *errs.Error {
	return errs.New(errs.ShardUnreachable, "shard %d is not open on this node", id)
}

// SegmentsOf returns the segments that have live rows of a table, by rising order. Without a View
// their files may go at any time.
func (tb *Tables) SegmentsOf(table uint64) []*LiveSegment {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.segs.byTable[table]
}

// Segments returns the segments that the manifest lists, in no order.
func (tb *Tables) Segments() []*LiveSegment {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return slices.Collect(maps.Values(tb.segs.live))
}

// Inspect calls look with the replicated state, under the lock. It must not keep anything of it.
func (tb *Tables) Inspect(look func(*rules.State)) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	look(tb.State)
}

// TailBytes returns how many bytes of rows wait for the readers of tails.
func (tb *Tables) TailBytes() int64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.tails.bytes
}

// Abandon ends all reading: no View is made any more.
func (tb *Tables) Abandon() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.closed = true
}
