package store

import (
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
)

// Hold keeps the segments of a table from being compacted: what was written since some moment is
// told by the order of segments, which compaction changes.
type Hold struct {
	tb      *Tables
	table   uint64
	changed chan struct{}
}

// Hold begins to hold a table. The caller releases it.
func (tb *Tables) Hold(table uint64) *Hold {
	h := &Hold{tb: tb, table: table, changed: make(chan struct{}, 1)}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.holds == nil {
		tb.holds = map[*Hold]struct{}{}
	}
	tb.holds[h] = struct{}{}
	return h
}

// Wait returns a channel that gets an element when the log brought a definition of the table,
// or dropped it.
func (h *Hold) Wait() <-chan struct{} { return h.changed }

// Release ends the hold.
func (h *Hold) Release() {
	h.tb.mu.Lock()
	defer h.tb.mu.Unlock()
	delete(h.tb.holds, h)
}

// wakeHolds tells those who hold a table that the log brought something about it; mu is held.
func (tb *Tables) wakeHolds(table uint64) {
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
func (tb *Tables) held(l *LiveSegment) bool {
	for h := range tb.holds {
		if l.Span(h.table).Rows > 0 {
			return true
		}
	}
	return false
}

// heldTable is what there is of a table that is held.
type heldTable struct {
	// Def is the newest definition; nil if there is none. dropped says that the table is gone.
	Def     *rules.Definition
	Dropped bool
	Eras    query.Eras
	// Aside says that rows of the table cannot be written to segments.
	Aside   bool
	Expired manifest.Expiry
	// Segments are those of the table with an order above the given one, by rising order, each with a
	// reference that the caller gives back.
	Segments []*LiveSegment
}

// Since returns what there is of the table, and its segments with an order above through.
func (h *Hold) Since(through uint64, all bool) heldTable {
	tb := h.tb
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	_, gone := tb.State.Dropped[h.table]
	t := heldTable{
		Def: tb.State.Tables[h.table], Dropped: gone, Eras: tb.erasOf(h.table),
		Aside: len(tb.segs.aside[h.table]) > 0, Expired: tb.State.Expired[h.table],
	}
	for _, l := range tb.segs.byTable[h.table] {
		if all || l.Order > through {
			l.refs.Add(1)
			t.Segments = append(t.Segments, l)
		}
	}
	return t
}

// Definition returns the newest definition of the table, and whether it was dropped.
func (h *Hold) Definition() (d *rules.Definition, dropped bool) {
	h.tb.mu.RLock()
	defer h.tb.mu.RUnlock()
	_, dropped = h.tb.State.Dropped[h.table]
	return h.tb.State.Tables[h.table], dropped
}
