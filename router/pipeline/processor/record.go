package processor

import (
	"fmt"
	"strings"
	"unsafe"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// Name is a field name known at compile time. A record remembers for each name what it did to the last records.
type Name struct {
	Text string
	slot int
}

// Names assigns numbers to the field names of a pipeline.
type Names struct {
	slots map[string]int
	list  []string
	// changes is the number of places that set several fields at once.
	changes int
}

// Name returns the number of a field name, and adds the name if it is new.
func (n *Names) Name(text string) Name {
	slot, ok := n.slots[text]
	if !ok {
		if n.slots == nil {
			n.slots = map[string]int{}
		}
		slot = len(n.list)
		text = strings.Clone(text)
		n.slots[text] = slot
		n.list = append(n.list, text)
	}
	return Name{n.list[slot], slot}
}

// change assigns a number to a place that sets several fields at once.
func (n *Names) change() int {
	n.changes++
	return n.changes - 1
}

// List returns all names, in the order of their numbers.
func (n *Names) List() []string { return n.list }

// Record is a record that is being processed by one pipeline. Its memory is reused for the next record.
type Record struct {
	// Value is the record. It is an object, but a vrl processor may make it an array. null means that the record is
	// dropped.
	Value value.Value
	// Quiet means that nobody will read the error messages.
	Quiet bool
	// Work limits the time and memory for the record; see Spend and Reserve.
	Work *fn.Meter
	// Scratch is a buffer in which a processor can build a text. Its content is not kept between uses.
	Scratch []byte

	places  []places        // by Name.slot
	changes []value.Changes // by captures.slot
	meta    value.Value     // of vrl programs, which is empty
	frames  vrl.Frames
	block   []byte
}

// places are the caches for reading, setting and deleting the field of one name.
type places struct{ get, set, del value.Cache }

// NewRecord returns the record of a pipeline that uses the names. The caller must set its Work.
func NewRecord(names *Names) *Record {
	return &Record{places: make([]places, len(names.list)), changes: make([]value.Changes, names.changes)}
}

// Release drops what belongs to the request and its records. It must be called after the last record.
func (r *Record) Release() {
	r.Value, r.Work = value.Value{}, nil
	r.frames.Release()
}

// Get returns the value of a field for reading. To store a container in another place too, call its method Share first.
func (r *Record) Get(n Name) (value.Value, bool) {
	o := r.Value.Object()
	if o == nil {
		return value.Value{}, false
	}
	return o.PeekCached(n.Text, &r.places[n.slot].get)
}

// Set sets the value of a field. Strings must not change until the record is stored. Parts of other strings of the
// record and results of Text and TextOf do not.
func (r *Record) Set(n Name, v value.Value) {
	if r.Value.SetField(v, &r.places[n.slot].set) {
		return
	}
	o := r.Value.MutObject()
	if o == nil {
		return
	}
	o.SetCached(n.Text, v, &r.places[n.slot].set)
}

// SetKey does what Set does, for a name that is not known at compile time.
func (r *Record) SetKey(key string, v value.Value) {
	if o := r.Value.MutObject(); o != nil {
		o.Set(key, v)
	}
}

// Delete removes a field, if it exists.
func (r *Record) Delete(n Name) {
	if o := r.Value.MutObject(); o != nil {
		o.DeleteCached(n.Text, &r.places[n.slot].del)
	}
}

// blockSize is the size of the blocks in which memory for texts is allocated. They are never reused, so texts stay
// valid as long as something refers to them.
const blockSize = 16 << 10

// Text returns a copy of b as a string value.
func (r *Record) Text(b []byte) value.Value { return value.NewString(r.TextOf(b)) }

// TextOf returns a copy of b as a string.
func (r *Record) TextOf(b []byte) string {
	if len(b) > cap(r.block)-len(r.block) {
		if len(b) > blockSize/4 {
			return string(b)
		}
		r.block = make([]byte, 0, blockSize)
	}
	from := len(r.block)
	r.block = append(r.block, b...)
	return unsafe.String(unsafe.SliceData(r.block[from:]), len(b))
}

// errQuiet replaces every error while Quiet is set.
var errQuiet = &Error{Reason: "failed"}

// Fail returns the error for a processor that failed on the value v of a field.
func (r *Record) Fail(field string, v value.Value, format string, args ...any) error {
	if r.Quiet {
		return errQuiet
	}
	e := &Error{Field: strings.Clone(field), Reason: fmt.Sprintf(format, args...)}
	if v.IsDefined() {
		e.Value = Describe(v)
	}
	return e
}

// Missing returns the error for a missing field. If the record has a field with the name after a prefix, the error
// suggests it, because the processor regex adds such prefixes, and the author of the pattern may expect the plain
// name.
func (r *Record) Missing(field string) error {
	if o := r.Value.Object(); o != nil && !r.Quiet && o.Len() <= maxFieldsForHint {
		for _, f := range o.Peek() {
			if strings.HasSuffix(f.Key, "_"+field) && len(f.Key) <= maxHintedField {
				return r.Fail(field, value.None, "missing field, did you mean %q?", f.Key)
			}
		}
	}
	return r.Fail(field, value.None, "missing field")
}

// The limits that keep this suggestion cheap: larger records and longer names get none.
const (
	maxFieldsForHint = 100
	maxHintedField   = 100
)

// WrongType returns the error for a field of the wrong type. want describes the supported types, for example "a
// string".
func (r *Record) WrongType(field string, v value.Value, want string) error {
	if r.Quiet {
		return errQuiet
	}
	return r.Fail(field, v, "expected %s, found %s", want, article(v.Kind()))
}

func article(k value.Kind) string {
	switch k {
	case value.Null:
		return "null"
	case value.Int, value.Array, value.Object:
		return "an " + k.String()
	}
	return "a " + k.String()
}

// errNotMap returns the error for a processor that gets an array which vrl has made from a record.
func (r *Record) errNotMap() error { return r.Fail("", r.Value, "the record must be a map") }
