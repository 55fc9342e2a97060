package shard

import (
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
)

// hold keeps the segments of a table from being compacted: what was written since some moment is
// told by the order of segments, which compaction changes.
type hold struct {
	tb      *tables
	table   uint64
	changed chan struct{}
}

// hold begins to hold a table. The caller releases it.
func (tb *tables) hold(table uint64) *hold {
	h := &hold{tb: tb, table: table, changed: make(chan struct{}, 1)}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.holds == nil {
		tb.holds = map[*hold]struct{}{}
	}
	tb.holds[h] = struct{}{}
	return h
}

// wait returns a channel that gets an element when the log brought a definition of the table,
// or dropped it.
func (h *hold) wait() <-chan struct{} { return h.changed }

// release ends the hold.
func (h *hold) release() {
	h.tb.mu.Lock()
	defer h.tb.mu.Unlock()
	delete(h.tb.holds, h)
}

// wakeHolds tells those who hold a table that the log brought something about it; mu is held.
func (tb *tables) wakeHolds(table uint64) {
	for h := range tb.holds {
		if h.table == table {
			select {
			case h.changed <- struct{}{}:
			default:
			}
		}
	}
}

// held reports whether a segment has rows of a table that is held; mu is held.
func (tb *tables) held(l *liveSegment) bool {
	for h := range tb.holds {
		if l.span(h.table).Rows > 0 {
			return true
		}
	}
	return false
}

// heldTable is what there is of a table that is held.
type heldTable struct {
	// def is the newest definition; nil if there is none. dropped says that the table is gone.
	def     *rules.Definition
	dropped bool
	eras    query.Eras
	// aside says that rows of the table cannot be written to segments.
	aside   bool
	expired manifest.Expiry
	// segments are those of the table with an order above the given one, by rising order, each with a
	// reference that the caller gives back.
	segments []*liveSegment
}

// since returns what there is of the table, and its segments with an order above through.
func (h *hold) since(through uint64, all bool) heldTable {
	tb := h.tb
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	_, gone := tb.state.Dropped[h.table]
	t := heldTable{
		def: tb.state.Tables[h.table], dropped: gone, eras: tb.erasOf(h.table),
		aside: len(tb.segs.aside[h.table]) > 0, expired: tb.state.Expired[h.table],
	}
	for _, l := range tb.segs.byTable[h.table] {
		if all || l.Order > through {
			l.refs.Add(1)
			t.segments = append(t.segments, l)
		}
	}
	return t
}

// definition returns the newest definition of the table, and whether it was dropped.
func (h *hold) definition() (d *rules.Definition, dropped bool) {
	h.tb.mu.RLock()
	defer h.tb.mu.RUnlock()
	_, dropped = h.tb.state.Dropped[h.table]
	return h.tb.state.Tables[h.table], dropped
}
