package processor

import (
	"slices"
	"strconv"
	"unsafe"

	"cordwood/router/vrl/value"
)

// captures are the fields that a processor extracts from one text, known at compile time. The values of one record
// are in a slice with one element for each.
type captures struct {
	names []Name // sorted and without duplicates
	slot  int    // in Record.changes
}

// fewCaptures is the number of captures whose values fit on the stack: var few [fewCaptures]value.Value; values :=
// c.values(few[:]).
const fewCaptures = 24

// newCaptures returns captures with the given names, and the index of each name.
func newCaptures(o *Options, names []string) (c captures, places []int) {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	c.slot = o.names.change()
	for _, n := range sorted {
		c.names = append(c.names, o.Name(n))
	}
	for _, n := range names {
		at, _ := slices.BinarySearch(sorted, n)
		places = append(places, at)
	}
	return c, places
}

// values returns a slice for one record's values, which is few if it is large enough. All values are None.
func (c *captures) values(few []value.Value) []value.Value {
	if len(c.names) > len(few) {
		few = make([]value.Value, len(c.names))
	}
	few = few[:len(c.names)]
	for i := range few {
		few[i] = value.None
	}
	return few
}

// set stores the values that are not None in the record.
func (c *captures) set(rec *Record, values []value.Value) {
	o := rec.Value.MutObject()
	if o == nil {
		return
	}
	if len(values) > fewCaptures {
		c.setEach(rec, o, values)
		return
	}
	var few [fewCaptures]value.Value
	defined, which := few[:0], uint64(0)
	for i, v := range values {
		if v.IsDefined() {
			defined, which = append(defined, v), which|1<<i
		}
	}
	changes := &rec.changes[c.slot]
	if o.AppendCached(changes, which, defined) {
		return
	}
	from := o.Shape()
	c.setEach(rec, o, values)
	changes.Note(from, which, len(defined), o)
}

// setEach does what set does, one value after the other.
func (c *captures) setEach(rec *Record, o *value.Fields, values []value.Value) {
	if o.Shape() != nil || o.Len() > 2*len(values) || o.Len()+len(values) > 24 { // then sorting is slower than setting
		if len(values) > fewCaptures && rec.Spend(len(values)*o.Len()/16) != nil {
			return // the next step makes the record fail
		}
		for i, v := range values {
			if v.IsDefined() {
				rec.Set(c.names[i], v)
			}
		}
		return
	}
	for i, v := range values {
		if v.IsDefined() {
			o.Add(c.names[i].Text, v)
		}
	}
	o.Sort() // if a field is repeated, the last one stays
}

// bytesAsString returns b as a string without copying. It is valid until b changes.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func itoa(n int) string { return strconv.Itoa(n) }
