package store

import (
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
)

// CopySource is a table whose rows are being copied to other shards. Its segments are not compacted
// during the copy, because their order shows which rows were written after a given moment, and
// compaction would change it.
type CopySource struct {
	tables  *Tables
	table   uint64
	changed chan struct{}
}

// copySources are the tables of a shard that are being copied. Tables.mu guards them.
type copySources map[*CopySource]struct{}

// CopySource starts to read a table for a copy. The caller must close it.
func (rd *Readers) CopySource(table uint64) *CopySource {
	c := &CopySource{tables: rd.tables, table: table, changed: make(chan struct{}, 1)}
	rd.tables.mu.Lock()
	defer rd.tables.mu.Unlock()
	rd.tables.sources[c] = struct{}{}
	return c
}

// Changed returns a channel that gets an element when a log entry redefines or drops the table.
func (c *CopySource) Changed() <-chan struct{} { return c.changed }

// Close allows the segments of the table to be compacted again.
func (c *CopySource) Close() {
	c.tables.mu.Lock()
	defer c.tables.mu.Unlock()
	delete(c.tables.sources, c)
}

// notify signals that the log changed the table.
func (s copySources) notify(table uint64) {
	for c := range s {
		if c.table == table {
			select {
			case c.changed <- struct{}{}:
			default:
			}
		}
	}
}

// have reports whether a segment contains rows of a table that is being copied.
func (s copySources) have(l *LiveSegment) bool {
	for c := range s {
		if l.Span(c.table).Rows > 0 {
			return true
		}
	}
	return false
}

// CopiedTable is the state of a table that is being copied.
type CopiedTable struct {
	// Def is the newest definition, or nil if there is none. Dropped means that the table was
	// dropped.
	Def     *rules.Definition
	Dropped bool
	Eras    query.Eras
	// Raw means that rows of the table cannot be written to segments.
	Raw     bool
	Expired manifest.Expiry
	// Objects have the rows that are in no segment, in the order of their cuts. Cut is the number of the last cut whose
	// rows are all in segments or objects. During a copy no segment goes because its rows are in objects, so the rows of
	// later cuts are in segments.
	Objects []ColdObject
	Cut     uint64
	// Segments are the segments of the table with an order above the given one, in ascending order.
	// The caller must release a reference to each.
	Segments []*LiveSegment
}

// Since returns the state of the table, and its segments with an order above through.
func (c *CopySource) Since(through uint64, all bool) CopiedTable {
	tb := c.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	_, gone := tb.State.Dropped[c.table]
	t := CopiedTable{
		Def: tb.State.Tables[c.table], Dropped: gone, Eras: tb.erasOf(c.table),
		Raw:     len(tb.segs.raw[c.table]) > 0,
		Expired: tb.State.Expired[c.table], Objects: tb.coldOf(c.table),
	}
	if cuts := tb.segs.cutOrders[c.table]; len(cuts) > 0 {
		t.Cut = cuts[len(cuts)-1].Number
	}
	for _, l := range tb.segs.byTable[c.table] {
		if all || l.Order > through {
			l.refs.Add(1)
			t.Segments = append(t.Segments, l)
		}
	}
	return t
}

// Definition returns the newest definition of the table, and whether it was dropped.
func (c *CopySource) Definition() (d *rules.Definition, dropped bool) {
	c.tables.mu.RLock()
	defer c.tables.mu.RUnlock()
	_, dropped = c.tables.State.Dropped[c.table]
	return c.tables.State.Tables[c.table], dropped
}
