package segment

import (
	"fmt"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// MaxSlots is the maximum number of columns of a shared file.
const MaxSlots = 1000

// slots are the columns of a file, and the assignment of tables' columns to them.
type slots struct {
	columns []Column
	// required reports, by slot, whether every row has a value.
	required []bool
	defs     []*schema.Column // by slot: the column of the first table that uses it
	tables   map[uint64]*tableSlots

	shared bool            // the file is for several tables
	seen   map[slotKey]int // the slots of the columns that were added
	uses   []int           // by slot: the number of tables with the column
}

// slotKey identifies the columns that have the same slot.
type slotKey struct {
	id       uint32
	name     string
	typ      schema.Type
	semantic schema.Semantic
}

type tableSlots struct {
	table *schema.Table
	byID  map[uint32]int // column id to slot
}

// newSlots determines the columns of a file.
func newSlots(spec *Spec) (*slots, error) {
	s := &slots{shared: spec.Shared, tables: map[uint64]*tableSlots{}, seen: map[slotKey]int{}}
	last := uint64(0)
	for i, t := range spec.Tables {
		if i > 0 && t.Table.ID <= last {
			return nil, fmt.Errorf("table %d comes after table %d: tables must ascend by id", t.Table.ID, last)
		}
		last = t.Table.ID
		if t.Table.TimeIndex() == nil {
			return nil, fmt.Errorf("table %d has no time index", t.Table.ID)
		}
		ts := &tableSlots{table: t.Table, byID: map[uint32]int{}}
		s.tables[t.Table.ID] = ts
		for j := range t.Table.Columns {
			c := &t.Table.Columns[j]
			if c.Semantic != schema.Timestamp && t.Columns != nil && !slices.Contains(t.Columns, c.ID) {
				continue
			}
			ts.byID[c.ID] = s.use(c)
		}
	}
	if spec.Shared && len(s.columns) > MaxSlots {
		return nil, fmt.Errorf("a shared file would have %d columns; at most %d are allowed: put fewer tables into it",
			len(s.columns), MaxSlots)
	}
	physicalNames(s.columns, spec.Shared)
	for i := range s.columns {
		c := &s.columns[i]
		s.required = append(s.required, c.Semantic == schema.Timestamp && s.uses[i] == len(spec.Tables))
		if c.Logical == c.Name {
			c.Logical = ""
		}
	}
	return s, nil
}

// use returns the slot of a table's column, which it adds if no table before has the same column.
func (s *slots) use(c *schema.Column) int {
	k := slotKey{c.ID, c.Name, c.Type, c.Semantic}
	at, ok := s.seen[k]
	if !ok {
		at = len(s.columns)
		s.seen[k] = at
		column := Column{ID: c.ID, FieldID: c.ID, Logical: c.Name, Type: c.Type, Semantic: c.Semantic}
		if s.shared {
			column.FieldID = uint32(at + 1)
		}
		s.columns = append(s.columns, column)
		s.defs = append(s.defs, c)
		s.uses = append(s.uses, 0)
	}
	s.uses[at]++
	return at
}

// Columns returns, in ascending order, the ids of the columns that have a value in one of the
// batches.
func Columns(batches []*column.Batch) []uint32 {
	used := map[uint32]struct{}{}
	for _, b := range batches {
		for i := range b.Cols {
			if v := &b.Cols[i]; v.Nulls < v.Rows {
				used[v.ID] = struct{}{}
			}
		}
	}
	ids := make([]uint32, 0, len(used))
	for id := range used {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// nanoseconds converts a time from the unit of a time index to nanoseconds, or to the nearest
// representable number.
func nanoseconds(t int64, typ schema.Type) int64 {
	factor := 1_000_000_000 / typ.UnitsPerSecond()
	switch {
	case t > math.MaxInt64/factor:
		return math.MaxInt64
	case t < math.MinInt64/factor:
		return math.MinInt64
	}
	return t * factor
}
