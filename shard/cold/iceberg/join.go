package iceberg

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/segment"
)

// This file decides which objects of a table may become one object without a change for readers of its Iceberg table,
// whatever schema it has been committed with. See DESIGN.md of the package above, *Iceberg*.

// maxFill is the maximum size of a default that replaces nulls, in bytes.
const maxFill = 4 << 10

// A Joiner tells which objects of a table may be joined.
type Joiner struct {
	columns map[uint32]joined
	// never is set if a column has a default that cannot be written to objects.
	never bool
}

// joined is a column of a table that is shown.
type joined struct {
	typ    schema.Type
	hidden bool // objects have its hidden form too
}

// NewJoiner returns a Joiner for a table. It returns nil if the table is not shown: then all objects may be joined.
func NewJoiner(t *schema.Table) *Joiner {
	f := FormatOf(t)
	if f == 0 {
		return nil
	}
	j := &Joiner{columns: make(map[uint32]joined, len(t.Columns))}
	for i := range t.Columns {
		c := &t.Columns[i]
		_, hidden := f.typeOf(c.Type)
		j.columns[c.ID] = joined{c.Type, hidden}
		if _, fills := filled(c); fills {
			if _, ok := fillOf(c); !ok {
				j.never = true
			}
		}
	}
	return j
}

// May reports whether the columns of an object are exactly those that a new object with its rows would have: none of
// them was dropped or has another type now, and the same ones have hidden forms.
func (j *Joiner) May(columns []segment.Column) bool {
	if j == nil {
		return true
	}
	if j.never {
		return false
	}
	forms, hidden := 0, 0
	for i := range columns {
		c := &columns[i]
		if c.Hidden() {
			if now, ok := j.columns[c.ID-segment.HiddenID]; !ok || !now.hidden {
				return false
			}
			forms++
			continue
		}
		now, ok := j.columns[c.ID]
		if !ok || now.typ != c.Type {
			return false
		}
		if now.hidden {
			hidden++
		}
	}
	return forms == hidden
}

// Alike reports whether objects that May allows can become one object: they are of the same version of the table, or
// have the same columns. Otherwise a committed schema may fit some of them, and not the others.
func Alike(objects []*segment.Meta) bool {
	first := objects[0]
	return !slices.ContainsFunc(objects, func(m *segment.Meta) bool { return m.SchemaVersion != first.SchemaVersion }) ||
		!slices.ContainsFunc(objects, func(m *segment.Meta) bool { return !sameColumns(m.Columns, first.Columns) })
}

// sameColumns reports whether two lists differ at most in names.
func sameColumns(a, b []segment.Column) bool {
	return slices.EqualFunc(a, b, func(a, b segment.Column) bool { return a.ID == b.ID && a.Type == b.Type })
}

// Fills returns the defaults that replace nulls in the objects of a table that is shown. Queries show a default in each
// row that is older than its column, but to Iceberg it would be null.
func Fills(t *schema.Table) (fills []segment.Fill) {
	if FormatOf(t) == 0 {
		return nil
	}
	for i := range t.Columns {
		if f, ok := fillOf(&t.Columns[i]); ok {
			fills = append(fills, f)
		}
	}
	return fills
}

// fillOf returns the default of a column that replaces nulls. ok is false if there is none, or if it cannot be
// converted.
func fillOf(c *schema.Column) (f segment.Fill, ok bool) {
	text, ok := filled(c)
	if !ok || len(text) > maxFill {
		return f, false
	}
	f.Column = *c
	var err error
	switch {
	case c.Type == schema.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		f.Int, f.Float = int64(n), float64(n)
	case c.Type.IsInteger():
		f.Int, err = strconv.ParseInt(text, 10, 64)
		f.Float = float64(f.Int)
	case c.Type.IsFloat():
		// A file that is older than the type may have integers; their default is one.
		f.Float, err = strconv.ParseFloat(text, 64)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.Int = n
		}
	case c.Type == schema.Boolean:
		var yes bool
		if yes, err = strconv.ParseBool(strings.ToLower(text)); yes {
			f.Int = 1
		}
	case c.Type == schema.String:
		f.Bytes = []byte(text)
	default: // queries bring a JSON text into another form
		return f, false
	}
	return f, err == nil
}

// Joined reports whether an object was made from others: its key has the number of the join, which is higher than that
// of its set.
func Joined(o *cold.Object) bool {
	_, rest, ok := strings.Cut(path.Base(o.Key), "-") // behind the incarnation
	cut, _, more := strings.Cut(rest, "-")
	n, err := strconv.ParseUint(cut, 10, 64)
	return ok && more && err == nil && n > o.Cut
}

// Held returns what a table shows that keeps its schema. It returns nil if nothing was committed.
func (st *State) Held() *Held {
	s := st.Metadata.schema()
	if s == nil {
		return nil
	}
	h := &Held{
		Schema: s, format: st.Metadata.Format, version: math.MaxUint32, fields: make(map[int32]*Field, len(s.Fields)),
		filled: st.Metadata.filledColumns(),
	}
	if v, ok := st.Metadata.version(); ok {
		h.version = v
	}
	for i := range s.Fields {
		h.fields[s.Fields[i].ID] = &s.Fields[i]
	}
	return h
}

// Held is the schema of a table that keeps it, because an object does not fit the present definition.
type Held struct {
	Schema  *Schema
	format  Format
	version uint32 // of the table, as of the last commit that was not held
	fields  map[int32]*Field
	filled  []uint32 // columns that all objects that the table shows have
}

// Knows reports whether an object may have rows that the table shows: it is not of a later version, and has the columns
// without which no object was shown.
func (h *Held) Knows(o *cold.Object) bool {
	return o.Meta.SchemaVersion <= h.version && !slices.ContainsFunc(h.filled, func(id uint32) bool {
		return !slices.ContainsFunc(o.Meta.Columns, func(c segment.Column) bool { return c.ID == id })
	})
}

// Fits reports whether an object can be shown with the schema. nulls returns how many nulls the object has in a column
// that it has.
func (h *Held) Fits(columns []segment.Column, nulls func(id uint32) int64) bool {
	has := make(map[uint32]bool, len(columns))
	for i := range columns {
		has[columns[i].ID] = true
	}
	for i := range columns {
		c := &columns[i]
		if c.Hidden() {
			continue
		}
		typ, hidden := h.format.typeOf(c.Type)
		id, other := int32(c.ID), int32(c.ID+segment.HiddenID)
		if hidden {
			id, other = other, id
		}
		if h.fields[other] != nil {
			return false
		}
		f := h.fields[id]
		if f == nil {
			continue // it was added or dropped
		}
		if hidden && !has[uint32(id)] || !promotes(typ, f.Type) ||
			(f.Default != nil || slices.Contains(h.filled, c.ID)) && nulls(c.ID) > 0 {
			return false
		}
	}
	return true
}
