package store

import (
	"cordwood/proto/column"
	"cordwood/shard/rules"
)

// This file contains the changes that the log makes. Each function applies one entry of the log, or
// a part of it, under one lock, so that no reader sees half of it. Only the replica's apply
// goroutine calls them, except linkUnlogged (unlogged.go).

// DefinedAt is a definition in an entry, and how many of the entry's batches come before it.
type DefinedAt struct {
	*rules.Definition
	Batches int
}

// Addition is what an entry of writes adds.
type Addition struct {
	Index, Term uint64
	Time        int64
	ByUser      bool
	Defs        []DefinedAt
	Batches     []*column.Batch
	Encoded     [][]byte // the batches as they are in the log
}

// Link links the batches of an entry, whose memory belongs to the active memtable. It returns the
// number of visible rows, and whether the shard should be flushed.
func (tb *Tables) Link(a *Addition) (rows int, full bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(a.Time)
	bytes := tb.Mem.Active.Bytes()
	first := tb.Mem.Active.Empty()
	tb.State.ShareKeys(a.ByUser)
	defs := a.Defs
	for i, b := range a.Batches {
		defs = tb.defineUpTo(defs, i)
		tb.State.Note(&b.Header)
		tb.Ingested.add(b.TableID, len(a.Encoded[i]))
		if tb.State.Tables[b.TableID].Instant {
			continue // accepted but discarded
		}
		tb.Mem.Active.Append(b)
		tb.State.Appended(&b.Header)
		rows += b.Rows
	}
	tb.defineUpTo(defs, len(a.Batches))
	tb.tails.deliver(a.Batches, a.Encoded, tb.State.Tables)
	tb.AppliedIndex, tb.AppliedTerm = a.Index, a.Term
	if len(a.Batches) > 0 {
		tb.Mem.last = tb.cfg.Now()
		if first {
			tb.Mem.since = tb.Mem.last
		}
	}
	return rows, tb.grown(bytes)
}

// grown records the memory of the active memtable, and reports whether the memtable should now be
// flushed; mu must be held.
func (tb *Tables) grown(bytes int64) bool {
	tb.cfg.Budget.Add(bytes - tb.Mem.bytes)
	tb.Mem.bytes = bytes
	return tb.Mem.large(tb.cfg.FlushBytes) || bytes >= tb.cfg.Budget.share()
}

// large reports whether the active memtable is large enough to be flushed.
func (mt *memtables) large(flushBytes int64) bool {
	return mt.bytes >= flushBytes || mt.Active.Rows() >= flushBytes/rowBytes
}

// defineUpTo adopts the definitions that come before a batch of the entry, and returns the others;
// mu must be held.
func (tb *Tables) defineUpTo(defs []DefinedAt, batch int) []DefinedAt {
	for len(defs) > 0 && defs[0].Batches <= batch {
		tb.define(defs[0].Definition)
		defs = defs[1:]
	}
	return defs
}

// Drop removes a table and its rows. Its files are removed when the manifest lists them as dead and
// they are no longer read.
func (tb *Tables) Drop(index, term uint64, e *rules.Entry) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	tb.State.Drop(e.TableID)
	tb.Mem.Active.Drop(e.TableID)
	for _, f := range tb.Mem.frozen {
		f.mem.Drop(e.TableID)
	}
	delete(tb.segs.byTable, e.TableID)
	delete(tb.segs.raw, e.TableID)
	tb.tails.end(e.TableID, TableGone(tb.cfg.ID, e.TableID))
	tb.sources.notify(e.TableID)
	tb.State.BuryObjects()
	tb.cold.setsChanged()
	tb.AppliedIndex, tb.AppliedTerm = index, term
}

// Redefine adopts the definitions that are newer than the known ones.
func (tb *Tables) Redefine(index, term uint64, at int64, defs []*rules.Definition) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(at)
	for _, d := range defs {
		tb.define(d)
	}
	tb.AppliedIndex, tb.AppliedTerm = index, term
}

// Expire hides expired rows of tables if all rows of a segment or of a batch have expired.
// Compaction removes the others. Rows that are written later stay visible, whatever their time,
// because a table may get a longer ttl. order is the order of the next segment.
func (tb *Tables) Expire(index, term uint64, e *rules.Entry, order uint64) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.tick(e.Time)
	some := false
	for _, c := range e.Cutoffs {
		if !tb.State.Expire(c, order, index) {
			continue
		}
		some = true
		tb.Mem.Active.Expire(c.TableID, c.Before)
		for _, mem := range tb.segs.rawMemtables(c.TableID) {
			mem.Expire(c.TableID, c.Before)
		}
		for _, f := range tb.Mem.frozen {
			f.mem.Expire(c.TableID, c.Before)
		}
		tb.segs.hide(c.TableID, func(l *LiveSegment) bool { return tb.State.Dead(l.Span(c.TableID), l.Order) })
	}
	if some {
		tb.State.BuryObjects()
		tb.cold.setsChanged()
	}
	tb.AppliedIndex, tb.AppliedTerm = index, term
}

// SkipTo makes Apply skip the entries up to the last applied one, because they are delivered again.
func (tb *Tables) SkipTo() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.Base = max(tb.Base, tb.AppliedIndex)
}
