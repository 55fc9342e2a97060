package processor

import (
	"slices"
	"strconv"
	"unsafe"

	"cordwood/router/vrl/value"
)

// captures are the fields that a processor takes out of one text, known when it is
// compiled. The values of one record are in a slice with one place for each.
type captures struct {
	names []Name // in the order of their texts, each once
}

// fewCaptures is the number of captures whose values find room on the stack, as
// var few [fewCaptures]value.Value; values := c.values(few[:]).
const fewCaptures = 24

// newCaptures returns the captures of those names, and the place of each name.
func newCaptures(o *Options, names []string) (c captures, places []int) {
	sorted := slices.Clone(names)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	for _, n := range sorted {
		c.names = append(c.names, o.Name(n))
	}
	for _, n := range names {
		at, _ := slices.BinarySearch(sorted, n)
		places = append(places, at)
	}
	return c, places
}

// values returns room for one record's values, few if that is enough. All are None.
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

// set gives the record the values that are not None.
func (c *captures) set(rec *Record, values []value.Value) {
	o := rec.Value.MutObject()
	if o == nil {
		return
	}
	if o.Len() > 2*len(values) || o.Len()+len(values) > 24 { // then sorting costs more than inserting
		if len(values) > fewCaptures && rec.Spend(len(values)*o.Len()/16) != nil {
			return // the next step fails the record
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
	o.Sort() // of two fields of one name the later stays
}

// bytesAsString is b as a string that is valid until b changes.
func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func itoa(n int) string { return strconv.Itoa(n) }
