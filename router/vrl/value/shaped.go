package value

// Cache remembers what one place of a program did to objects of the last two shapes, and where it found its key in the
// last list. A place always uses its cache for the same key and the same operation. The zero Cache is empty.
type Cache struct {
	last, other change
	hint        int
}

// change is what a place does to an object of the shape from.
type change struct {
	from, to *Shape
	slot     int32 // of the key; -1 if from does not have it
}

// find makes last the change for shape h. It returns false if the place has not seen h recently.
func (c *Cache) find(h *Shape) bool {
	if c.last.from == h {
		return true
	}
	if c.other.from != h {
		return false
	}
	c.last, c.other = c.other, c.last
	return true
}

// put makes last a change that find has not found. The change that was last before is kept too.
func (c *Cache) put(made change) { c.last, c.other = made, c.last }

// Shape returns the shape of o; nil if o is a list.
func (o *Fields) Shape() *Shape { return o.shape }

// Values returns the values by slot, for reading. It is only for objects with a shape.
func (o *Fields) Values() []Value { return o.vals }

// Room returns an empty slice for the values of Fill. It uses the memory of the last values.
func (o *Fields) Room() []Value { return o.vals[:0] }

// Fill makes o, which must be new or recycled, an object of shape h with values by slot. o keeps vals.
func (o *Fields) Fill(h *Shape, vals []Value) { o.shape, o.vals = h, vals }

// settle makes o a list.
func (o *Fields) settle() {
	h := o.shape
	if h == nil {
		return
	}
	list := o.list[:0]
	for _, slot := range h.order {
		list = append(list, Field{Key: h.keys[slot], Value: o.vals[slot]})
	}
	clear(o.vals)
	o.list, o.shape, o.vals = list, nil, o.vals[:0]
}

// settled returns the fields as a list.
func (o *Fields) settled() []Field {
	o.settle()
	return o.list
}

// PeekCached is PeekGet for a place of a program.
func (o *Fields) PeekCached(key string, c *Cache) (Value, bool) {
	h := o.shape
	if h == nil {
		var v Value
		var ok bool
		v, c.hint, ok = o.PeekHint(key, c.hint)
		return v, ok
	}
	if !c.find(h) {
		c.put(change{from: h, slot: h.Slot(key)})
	}
	if c.last.slot < 0 {
		return Value{}, false
	}
	return o.vals[c.last.slot], true
}

// PeekField is PeekCached for the value v. It returns null if v is no object, or does not have the field.
func (v Value) PeekField(key string, c *Cache) Value {
	if v.kind != Object {
		return Value{}
	}
	o := v.fields()
	if h := o.shape; h != nil && c.last.from == h && c.last.slot >= 0 {
		return o.vals[c.last.slot]
	}
	x, _ := o.PeekCached(key, c)
	return x
}

// SetCached is Set for a place of a program.
func (o *Fields) SetCached(key string, v Value, c *Cache) {
	h := o.shape
	if h == nil {
		c.hint = o.SetHint(key, v, c.hint)
		return
	}
	if !c.find(h) {
		slot, to := h.Slot(key), h
		if slot < 0 {
			slot, to = int32(len(h.keys)), h.With(key)
		}
		if to == nil {
			o.settle()
			c.hint = o.SetHint(key, v, c.hint)
			return
		}
		c.put(change{h, to, slot})
	}
	if c.last.to != h {
		o.vals, o.shape = append(o.vals, v), c.last.to
		return
	}
	o.vals[c.last.slot] = v
}

// SetField is SetCached for the object v, in the usual case: only v refers to the object, it has few fields, and the
// place knows its shape. In all other cases SetField does nothing and returns false.
func (v *Value) SetField(x Value, c *Cache) bool {
	if v.kind != Object {
		return false
	}
	o := v.fields()
	h := o.shape
	if h == nil || o.shared || len(h.order) > manyFields || !c.find(h) {
		return false
	}
	if to := c.last.to; to != h {
		o.vals, o.shape = append(o.vals, x), to
	} else {
		o.vals[c.last.slot] = x
	}
	return true
}

// manyFields is the number of fields up to which SetField sets one. Callers charge for changes of larger objects.
const manyFields = 64

// Changes is a cache for a place that sets several fields at once. The zero value is empty. It must not be used by two
// goroutines at once.
type Changes struct {
	from, to *Shape
	set      uint64
}

// AppendCached sets new fields. set says which fields they are, so that the same set has the same keys in the same
// order. It returns false and does nothing, unless o has a shape for which Note was the last call.
func (o *Fields) AppendCached(c *Changes, set uint64, values []Value) bool {
	if o.shape == nil || o.shape != c.from || c.set != set {
		return false
	}
	o.vals, o.shape = append(o.vals, values...), c.to
	return true
}

// Note records that the fields of set were set in an object of shape from, and made o. The fields must have been set in
// the order in which AppendCached will get their values.
func (c *Changes) Note(from *Shape, set uint64, n int, o *Fields) {
	*c = Changes{}
	if from != nil && o.shape != nil && len(o.shape.keys) == len(from.keys)+n && o.shape.after(from, n) {
		*c = Changes{from, o.shape, set}
	}
}

// after reports whether h is the result of adding n keys to from.
func (h *Shape) after(from *Shape, n int) bool {
	for range n {
		if h = h.parent; h == nil {
			return false
		}
	}
	return h == from
}

// DeleteCached is Delete for a place of a program.
func (o *Fields) DeleteCached(key string, c *Cache) (Value, bool) {
	h := o.shape
	if h == nil {
		return o.Delete(key)
	}
	if !c.find(h) {
		slot, to := h.Slot(key), h
		if slot >= 0 {
			to = h.Without(key)
		}
		if to == nil {
			o.settle()
			return o.Delete(key)
		}
		c.put(change{h, to, slot})
	}
	if c.last.slot < 0 {
		return Value{}, false
	}
	return o.take(c.last.slot, c.last.to), true
}

// take removes the value of a slot, which leads to shape to, and returns it.
func (o *Fields) take(slot int32, to *Shape) Value {
	v := o.vals[slot]
	o.vals[slot] = Value{}
	o.vals, o.shape = o.vals[:len(to.keys)], to
	if to.sparse {
		o.pack()
	}
	return v
}

// pack moves the values of a sparse object together.
func (o *Fields) pack() {
	h := o.shape
	to := h.pack()
	if to == nil {
		return
	}
	for slot, key := range to.keys {
		o.vals[slot] = o.vals[h.Slot(key)] // which is not before slot
	}
	clear(o.vals[len(to.keys):])
	o.vals, o.shape = o.vals[:len(to.keys)], to
}

// place returns the value of the field with the key, which it adds if necessary. The pointer is valid until o changes.
func (o *Fields) place(key string) *Value {
	if h := o.shape; h != nil {
		if slot := h.Slot(key); slot >= 0 {
			return &o.vals[slot]
		}
		if to := h.With(key); to != nil {
			o.vals, o.shape = append(o.vals, Value{}), to
			return &o.vals[len(o.vals)-1]
		}
	}
	i, ok := o.Find(key)
	if !ok {
		o.insert(i, key, Value{})
	}
	return &o.list[i].Value
}
