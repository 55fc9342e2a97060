package value

import (
	"slices"
	"strings"
	"unsafe"
)

// Items is the content of an array.
type Items struct {
	list   []Value
	shared bool
}

// NewArray returns an array with the values of list. The caller must not use list afterwards.
func NewArray(list []Value) Value {
	return Value{kind: Array, p: unsafe.Pointer(&Items{list: list})}
}

// ArrayOf returns an array of the values given.
func ArrayOf(list ...Value) Value { return NewArray(list) }

// Len returns the number of elements.
func (a *Items) Len() int { return len(a.list) }

// At returns an element.
func (a *Items) At(i int) Value { return a.list[i].Share() }

// PeekAt returns an element for reading; see the package comment.
func (a *Items) PeekAt(i int) Value { return a.list[i] }

// Peek returns the elements for reading. Neither the slice nor a container in it may be changed or kept.
func (a *Items) Peek() []Value { return a.list }

// Share marks the containers among the elements as shared and returns the elements. They may be stored elsewhere
// individually, but the slice itself must not be changed or kept.
func (a *Items) Share() []Value {
	for _, v := range a.list {
		v.Share()
	}
	return a.list
}

// Set replaces an element. The array must be new or come from MutArray.
func (a *Items) Set(i int, v Value) { a.list[i] = v }

// Append appends elements. The array must be new or come from MutArray.
func (a *Items) Append(v ...Value) { a.list = append(a.list, v...) }

// Value returns the value that holds a.
func (a *Items) Value() Value { return Value{kind: Array, p: unsafe.Pointer(a)} }

func (a *Items) copy(room int) *Items {
	list := make([]Value, len(a.list), len(a.list)+room)
	copy(list, a.Share())
	return &Items{list: list}
}

// Field is one entry of an object.
type Field struct {
	Key   string
	Value Value
}

// Fields is the content of an object: its fields, sorted by the bytes of their keys. The zero Fields is an empty
// object.
//
// It has one of two forms. Most objects are a list. The objects of a reader of records have a shape and the values by
// its slots; see shape.go. Code that does not know shapes makes a list of them with settled. That changes the object,
// so an object with a shape belongs to one goroutine. Slots are never visible.
type Fields struct {
	list   []Field // unused memory if there is a shape
	shape  *Shape  // nil for a list
	vals   []Value // unused memory if there is no shape
	shared bool
}

// MakeFields returns an empty object with room for n fields.
func MakeFields(n int) *Fields { return &Fields{list: make([]Field, 0, n)} }

// NewObject returns the value that holds o, which must not be nil.
func NewObject(o *Fields) Value { return Value{kind: Object, p: unsafe.Pointer(o)} }

// ObjectOf returns an object with the given fields, in any order. The caller must not use list afterwards. If a
// key is repeated, the last one wins.
func ObjectOf(list ...Field) Value {
	o := &Fields{list: list}
	o.Sort()
	return NewObject(o)
}

// Value returns the value that holds o.
func (o *Fields) Value() Value { return Value{kind: Object, p: unsafe.Pointer(o)} }

// Len returns the number of fields.
func (o *Fields) Len() int {
	if o.shape != nil {
		return len(o.shape.order)
	}
	return len(o.list)
}

// Key returns the key of field i.
func (o *Fields) Key(i int) string {
	if h := o.shape; h != nil {
		return h.keys[h.order[i]]
	}
	return o.list[i].Key
}

// At returns the value of field i.
func (o *Fields) At(i int) Value { return o.PeekAt(i).Share() }

// PeekAt returns the value of field i for reading; see the package comment.
func (o *Fields) PeekAt(i int) Value {
	if o.shape != nil {
		return o.vals[o.shape.order[i]]
	}
	return o.list[i].Value
}

// Peek returns the fields for reading. Neither the slice nor a container in it may be changed or kept.
func (o *Fields) Peek() []Field { return o.settled() }

// Share marks the containers among the values as shared and returns the fields. They may be stored elsewhere
// individually, but the slice itself must not be changed or kept.
func (o *Fields) Share() []Field {
	list := o.settled()
	for i := range list {
		list[i].Value.Share()
	}
	return list
}

// linear is the number of fields up to which they are searched one by one.
const linear = 12

// Find returns the index of the field with the key. If there is none, it returns the index for inserting it, and
// false.
func (o *Fields) Find(key string) (int, bool) {
	if o.shape != nil {
		return o.shape.find(key)
	}
	list := o.list
	if len(list) <= linear {
		for i := range list {
			if k := list[i].Key; len(k) == len(key) && k == key {
				return i, true
			}
		}
	}
	lo, hi := 0, len(list)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := strings.Compare(list[mid].Key, key); {
		case c < 0:
			lo = mid + 1
		case c > 0:
			hi = mid
		default:
			return mid, true
		}
	}
	return lo, false
}

// Get returns the value of the field with the key.
func (o *Fields) Get(key string) (Value, bool) {
	v, ok := o.PeekGet(key)
	return v.Share(), ok
}

// PeekGet is like Get, for reading only; see the package comment.
func (o *Fields) PeekGet(key string) (Value, bool) {
	if o.shape != nil {
		if slot := o.shape.Slot(key); slot >= 0 {
			return o.vals[slot], true
		}
		return Value{}, false
	}
	list := o.list
	if len(list) <= linear {
		for i := range list {
			if k := list[i].Key; len(k) == len(key) && k == key {
				return list[i].Value, true
			}
		}
		return Value{}, false
	}
	if i, ok := o.Find(key); ok {
		return list[i].Value, true
	}
	return Value{}, false
}

// PeekHint is like PeekGet, for callers that expect the key at the same index as last time, as in records of one
// stream. It returns the index for the next call.
func (o *Fields) PeekHint(key string, hint int) (v Value, at int, ok bool) {
	list := o.settled()
	if uint(hint) < uint(len(list)) {
		if f := &list[hint]; len(f.Key) == len(key) && f.Key == key {
			return f.Value, hint, true
		}
	}
	if i, ok := o.Find(key); ok {
		return list[i].Value, i, true
	}
	return Value{}, hint, false
}

// Set sets the field with the key. The object must be new or come from MutObject.
func (o *Fields) Set(key string, v Value) { *o.place(key) = v }

// insert adds a field at index i of a list.
func (o *Fields) insert(i int, key string, v Value) {
	o.list = slices.Insert(o.settled(), i, Field{Key: key, Value: v})
}

// SetAt sets the value of field i, under the same condition.
func (o *Fields) SetAt(i int, v Value) {
	if o.shape != nil {
		o.vals[o.shape.order[i]] = v
		return
	}
	o.list[i].Value = v
}

// Add appends a field without sorting. Sort must be called before the object is used.
func (o *Fields) Add(key string, v Value) { o.list = append(o.settled(), Field{Key: key, Value: v}) }

// Delete removes the field with the key and returns its value. The object must be new or come from MutObject.
func (o *Fields) Delete(key string) (Value, bool) {
	i, ok := o.Find(key)
	if !ok {
		return Value{}, false
	}
	return o.removeAt(i), true
}

// removeAt removes field i and returns its value.
func (o *Fields) removeAt(i int) Value {
	if h := o.shape; h != nil {
		slot := h.order[i]
		if to := h.Without(h.keys[slot]); to != nil {
			return o.take(slot, to)
		}
	}
	list := o.settled()
	v := list[i].Value
	o.list = slices.Delete(list, i, i+1)
	return v
}

// Reset removes all fields and keeps their memory. Only an owner that has never shared the object may call it.
func (o *Fields) Reset() {
	clear(o.list)
	clear(o.vals)
	o.list, o.shape, o.vals = o.list[:0], nil, o.vals[:0]
}

// Recycle is Reset for an object that was shared, once nothing refers to it any more.
func (o *Fields) Recycle() {
	o.Reset()
	o.shared = false
}

// Reuse is Recycle, but the memory of an object with a shape keeps the values. Nothing reads them any more, but the
// bytes under them cannot be freed before Forget.
func (o *Fields) Reuse() {
	if o.shape == nil {
		o.Recycle()
		return
	}
	o.shape, o.vals, o.shared = nil, o.vals[:0], false
}

// Forget is Recycle, and also forgets the values that Reuse has kept.
func (o *Fields) Forget() {
	o.Recycle()
	clear(o.vals[:cap(o.vals)])
}

// Grow makes room for n more fields that are added with Add.
func (o *Fields) Grow(n int) { o.list = slices.Grow(o.settled(), n) }

// Sort sorts the fields after Add. If a key is repeated, the last one stays.
func (o *Fields) Sort() {
	list := o.settled()
	sorted := true
	for i := 1; i < len(list); i++ {
		if list[i-1].Key >= list[i].Key {
			sorted = false
			break
		}
	}
	if sorted {
		return
	}
	if len(list) <= 24 {
		for i := 1; i < len(list); i++ {
			for j := i; j > 0 && list[j].Key < list[j-1].Key; j-- {
				list[j], list[j-1] = list[j-1], list[j]
			}
		}
	} else {
		slices.SortStableFunc(list, func(a, b Field) int { return strings.Compare(a.Key, b.Key) })
	}
	n := 0
	for i := range list {
		if n > 0 && list[n-1].Key == list[i].Key {
			list[n-1] = list[i]
			continue
		}
		list[n] = list[i]
		n++
	}
	clear(list[n:])
	o.list = list[:n]
}

func (o *Fields) copy(room int) *Fields {
	if o.shape != nil {
		vals := make([]Value, len(o.vals), len(o.vals)+room)
		for i, v := range o.vals {
			vals[i] = v.Share()
		}
		return &Fields{shape: o.shape, vals: vals}
	}
	list := make([]Field, len(o.list), len(o.list)+room)
	copy(list, o.Share())
	return &Fields{list: list}
}

// SetHint is Set for callers that expect the key at the same index as last time. It returns the index for the next
// call.
func (o *Fields) SetHint(key string, v Value, hint int) int {
	list := o.settled()
	if uint(hint) < uint(len(list)) {
		if f := &list[hint]; len(f.Key) == len(key) && f.Key == key {
			f.Value = v
			return hint
		}
	}
	if uint(hint) <= uint(len(list)) && (hint == 0 || list[hint-1].Key < key) &&
		(hint == len(list) || key < list[hint].Key) {
		o.list = slices.Insert(list, hint, Field{Key: key, Value: v})
		return hint
	}
	i, ok := o.Find(key)
	if ok {
		o.list[i].Value = v
	} else {
		o.insert(i, key, v)
	}
	return i
}

// Is reports whether v and w are the same container, not only equal ones.
func (v Value) Is(w Value) bool { return v.kind >= Array && v.kind == w.kind && v.p == w.p }

// The memory of an element of an array and of a field of an object, in bytes.
const (
	ElementBytes = int(unsafe.Sizeof(Value{}))
	FieldBytes   = int(unsafe.Sizeof(Field{}))
)
