package shard

import (
	"cordwood/proto/column"
	"cordwood/shard/rules"
)

// This file holds what the log changes. Each function is one entry of the log, or a part of it,
// and takes effect under one lock, so that no reader sees half of it. Only the replica's apply
// goroutine calls them; linkUnlogged (unlogged.go) is the one exception.

// definedAt is a definition of an entry, and how many of its batches come before.
type definedAt struct {
	*rules.Definition
	batches int
}

// addition is what an entry of writes adds.
type addition struct {
	index, term uint64
	time        int64
	byUser      bool
	defs        []definedAt
	batches     []*column.Batch
	encoded     [][]byte // the batches as they are in the log
}

// link links the batches of an entry, whose memory is the active memtable's. It returns how many
// rows there are to be seen, and whether the shard should be flushed.
func (tb *tables) link(a *addition) (rows int, full bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(a.time)
	bytes := tb.mem.active.Bytes()
	first := tb.mem.active.Empty()
	tb.state.ShareKeys(a.byUser)
	defs := a.defs
	for i, b := range a.batches {
		defs = tb.defineUpTo(defs, i)
		tb.state.Note(&b.Header)
		tb.ingested.add(b.TableID, len(a.encoded[i]))
		if tb.state.Tables[b.TableID].Instant {
			continue // accepted, and thrown away
		}
		tb.mem.active.Append(b)
		rows += b.Rows
	}
	tb.defineUpTo(defs, len(a.batches))
	tb.tellTails(a.batches, a.encoded)
	tb.appliedIndex, tb.appliedTerm = a.index, a.term
	if len(a.batches) > 0 {
		tb.mem.last = tb.cfg.Now()
		if first {
			tb.mem.since = tb.mem.last
		}
	}
	return rows, tb.grown(bytes)
}

// grown notes the memory of the active memtable, and reports whether the shard should be
// flushed because of it; mu is held.
func (tb *tables) grown(bytes int64) bool {
	tb.cfg.Budget.add(bytes - tb.mem.bytes)
	tb.mem.bytes = bytes
	return tb.mem.large(tb.cfg.FlushBytes) || bytes >= tb.cfg.Budget.share()
}

// large reports whether the active memtable is to be flushed for its size.
func (mt *memtables) large(flushBytes int64) bool {
	return mt.bytes >= flushBytes || mt.active.Rows() >= flushBytes/rowBytes
}

// defineUpTo takes over the definitions that come before a batch of the entry, and
// returns the others; mu is held.
func (tb *tables) defineUpTo(defs []definedAt, batch int) []definedAt {
	for len(defs) > 0 && defs[0].batches <= batch {
		tb.define(defs[0].Definition)
		defs = defs[1:]
	}
	return defs
}

// drop forgets a table and its rows. Its files go when the manifest says that
// they are dead and nobody reads them.
func (tb *tables) drop(index, term uint64, e *rules.Entry) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	tb.state.Drop(e.TableID)
	tb.mem.active.Drop(e.TableID)
	for _, f := range tb.mem.frozen {
		f.mem.Drop(e.TableID)
	}
	delete(tb.segs.byTable, e.TableID)
	delete(tb.segs.aside, e.TableID)
	tb.endTails(e.TableID, tableGone(tb.cfg.ID, e.TableID))
	tb.wakeHolds(e.TableID)
	tb.appliedIndex, tb.appliedTerm = index, term
}

// redefine takes over definitions that are newer than those known.
func (tb *tables) redefine(index, term uint64, at int64, defs []*rules.Definition) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(at)
	for _, d := range defs {
		tb.define(d)
	}
	tb.appliedIndex, tb.appliedTerm = index, term
}

// expire hides what has expired of tables, as far as all rows of a segment or of
// a batch have. Compaction takes care of the rest. Rows that are written later are not
// touched, whatever their time, because a table may get a longer ttl; order is
// the order of the next segment.
func (tb *tables) expire(index, term uint64, e *rules.Entry, order uint64) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	for _, c := range e.Cutoffs {
		if !tb.state.Expire(c, order) {
			continue
		}
		tb.mem.active.Expire(c.TableID, c.Before)
		for _, mem := range tb.segs.asideMems(c.TableID) {
			mem.Expire(c.TableID, c.Before)
		}
		for _, f := range tb.mem.frozen {
			f.mem.Expire(c.TableID, c.Before)
		}
		tb.segs.hide(c.TableID, func(l *liveSegment) bool { return tb.state.Dead(l.span(c.TableID), l.Order) })
	}
	tb.appliedIndex, tb.appliedTerm = index, term
}

// skipTo has Apply leave out the entries up to the last applied one, which come once more.
func (tb *tables) skipTo() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.base = max(tb.base, tb.appliedIndex)
}
