package merge

import (
	"bytes"
	"cmp"
	"math"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// Identity compares rows of several batches by tags and time index, in the order of segment.Sort.
type Identity struct {
	tags []tag
}

type tag struct {
	id    uint32
	typ   schema.Type
	views []*column.View // by batch; nil where the batch lacks it
}

// NewIdentity returns the order of a table's rows in batches.
func NewIdentity(table *schema.Table, batches []*column.Batch) *Identity {
	x := &Identity{}
	for _, c := range table.Tags() {
		x.tags = append(x.tags, tag{id: c.ID, typ: c.Type})
	}
	for _, b := range batches {
		x.Add(b)
	}
	return x
}

// Add adds a batch after the existing ones.
func (x *Identity) Add(b *column.Batch) {
	for i := range x.tags {
		x.tags[i].views = append(x.tags[i].views, b.Column(x.tags[i].id))
	}
}

// Reset removes all batches.
func (x *Identity) Reset() {
	for i := range x.tags {
		clear(x.tags[i].views)
		x.tags[i].views = x.tags[i].views[:0]
	}
}

// Equal reports whether two rows have the same identity.
func (x *Identity) Equal(a, b segment.RowRef) bool { return a.Time == b.Time && x.Compare(a, b) == 0 }

// Compare compares two rows by tags, null first, and by time.
func (x *Identity) Compare(a, b segment.RowRef) int {
	for i := range x.tags {
		t := &x.tags[i]
		if c := compare(t.typ, t.views[a.Batch], int(a.Row), t.views[b.Batch], int(b.Row)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.Time, b.Time)
}

func compare(typ schema.Type, v *column.View, i int, w *column.View, j int) int {
	noV, noW := v == nil || v.IsNull(i), w == nil || w.IsNull(j)
	switch {
	case noV && noW:
		return 0
	case noV:
		return -1
	case noW:
		return 1
	case typ.IsBytes():
		return bytes.Compare(v.Bytes(i), w.Bytes(j))
	case typ.IsFloat():
		return cmp.Compare(ordered(v.Float(i)), ordered(w.Float(j)))
	case typ == schema.Uint64:
		return cmp.Compare(uint64(v.Int(i)), uint64(w.Int(j)))
	}
	return cmp.Compare(v.Int(i), w.Int(j))
}

// ordered maps a number to an unsigned number that sorts in the order of files. This is the total order of the
// bits, so NaNs also have a place.
func ordered(f float64) uint64 {
	const sign = 1 << 63
	bits := math.Float64bits(f)
	if bits&sign != 0 {
		return ^bits
	}
	return bits | sign
}
