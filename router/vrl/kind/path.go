package kind

import "cordwood/router/vrl/value"

// Get returns the kind of the value at a path in a value of k. It includes undefined if the value may be missing.
func (k Kind) Get(p value.Path) Kind {
	for i := range p {
		k = k.step(&p[i])
	}
	return k
}

func (k Kind) step(s *value.Segment) Kind {
	if k.set == 0 {
		return k
	}
	want := ObjectBit
	var out Kind
	if s.IsIndex {
		want = ArrayBit
		if k.arr != nil {
			out = k.arr.index(s.Index)
		}
	} else if k.obj != nil {
		out, _ = k.obj.get(s.Name)
	}
	if k.set != want {
		out = out.OrUndefined()
	}
	return out
}

func (e *Elems) index(i int) Kind {
	if i >= 0 {
		return e.at(i)
	}
	if e.unknown == nil {
		// If known elements may be missing, the length of the array is uncertain.
		certain := len(e.known)
		for certain > 0 && e.known[certain-1].Has(UndefinedBit) {
			certain--
		}
		if certain == len(e.known) {
			if len(e.known)+i < 0 {
				return Undefined
			}
			return e.known[len(e.known)+i]
		}
	}
	out := e.missing()
	for _, k := range e.known {
		out = out.Union(k)
	}
	if certain := e.minLen(); certain+i >= 0 {
		out = out.Without(UndefinedBit)
	}
	return out
}

func (e *Elems) minLen() int {
	n := len(e.known)
	for n > 0 && e.known[n-1].Has(UndefinedBit) {
		n--
	}
	return n
}

// Insert returns k after a value of kind x was written to the path.
func (k Kind) Insert(p value.Path, x Kind) Kind {
	if len(p) == 0 {
		return x.Defined()
	}
	if p[0].IsIndex {
		return k.insertElement(p, x)
	}
	f, name := &Fields{}, p[0].Name
	if k.obj != nil {
		f = k.obj
	}
	old, _ := f.get(name)
	if k.set != ObjectBit {
		// The value may not have been an object, and then the object is new.
		old = old.OrUndefined()
		f = f.optional()
	}
	return Kind{set: ObjectBit, obj: f.with(name, old.Insert(p[1:], x))}
}

// insertElement is Insert for a path that starts with the index of an element.
func (k Kind) insertElement(p value.Path, x Kind) Kind {
	e := &Elems{}
	if k.arr != nil {
		e = k.arr
	}
	if k.set != ArrayBit {
		o := &Elems{unknown: e.unknown}
		for _, y := range e.known {
			o.known = append(o.known, y.OrUndefined())
		}
		e = o
	}
	i := p[0].Index
	if i < 0 {
		if e.unknown != nil || e.minLen() != len(e.known) {
			return e.insertAnywhere(p, x)
		}
		i += len(e.known)
		if i < -maxKnown {
			return ArrayAll(e.asKind().Elem().Union(Undefined.Insert(p[1:], x)).OrNull())
		}
		if i < 0 {
			o := &Elems{known: make([]Kind, 0, len(e.known)-i)}
			o.known = append(o.known, Undefined.Insert(p[1:], x))
			for j := 1; j < -i && j < maxKnown; j++ {
				o.known = append(o.known, Null)
			}
			o.known = append(o.known, e.known...)
			return Kind{set: ArrayBit, arr: newElems(o.known, o.unknown)}
		}
	}
	if i >= maxKnown {
		return ArrayAll(e.asKind().Elem().Union(Undefined.Insert(p[1:], x)).OrNull())
	}
	o := &Elems{known: make([]Kind, max(len(e.known), i+1)), unknown: e.unknown}
	for j := range o.known {
		y := e.at(j)
		switch {
		case j < i:
			y = y.Defined()
		case j == i:
			y = y.Insert(p[1:], x)
		}
		o.known[j] = y
	}
	return Kind{set: ArrayBit, arr: newElems(o.known, o.unknown)}
}

// insertAnywhere is insertElement for an index from the end of an array of unknown length: the element may be any
// element, or a new first one.
func (e *Elems) insertAnywhere(p value.Path, x Kind) Kind {
	n := e.missing().OrUndefined().Insert(p[1:], x)
	known := make([]Kind, len(e.known))
	all := n.OrNull()
	for _, y := range e.known {
		all = all.Union(y).Union(y.Insert(p[1:], x))
	}
	if e.unknown != nil {
		all = all.Union(*e.unknown)
	}
	all = all.Without(UndefinedBit)
	for j := range known {
		known[j] = all
		if j >= e.minLen() {
			known[j] = all.OrUndefined()
		}
	}
	if len(known) == 0 {
		known = []Kind{all}
	}
	return Kind{set: ArrayBit, arr: newElems(known, &all)}
}

func (e *Elems) asKind() Kind { return Kind{set: ArrayBit, arr: e} }

func (f *Fields) optional() *Fields {
	if len(f.known) == 0 {
		return f
	}
	o := &Fields{known: make([]Field, len(f.known)), unknown: f.unknown}
	for i, x := range f.known {
		o.known[i] = Field{x.Name, x.Kind.OrUndefined()}
	}
	return o
}

// Remove returns k after the value at the path was removed. If compact is set, containers that became empty are
// removed too.
func (k Kind) Remove(p value.Path, compact bool) Kind {
	if len(p) == 0 {
		return k.remove(p, false)
	}
	there := k.Get(p)
	if there.Is(UndefinedBit) {
		return k
	}
	after := k.remove(p, compact)
	if compact && there.Has(UndefinedBit) {
		// If there is nothing to remove, no container is removed.
		after = after.Union(k)
	}
	return after
}

// remove does what Remove does, for a path that has a value.
func (k Kind) remove(p value.Path, compact bool) Kind {
	if len(p) == 0 {
		var out Kind
		if k.set&ObjectBit != 0 {
			out = out.Union(ObjectOf())
		}
		if k.set&ArrayBit != 0 {
			out = out.Union(ArrayOf())
		}
		if k.set&^(ObjectBit|ArrayBit) != 0 {
			out = out.OrNull()
		}
		return out
	}
	switch {
	case p[0].IsIndex && k.arr != nil:
		return k.removeElement(p, compact)
	case !p[0].IsIndex && k.obj != nil:
		return k.removeField(p, compact)
	}
	return k
}

// removeField is remove for a path that starts with the name of a field, and a kind that includes objects.
func (k Kind) removeField(p value.Path, compact bool) Kind {
	name := p[0].Name
	old, _ := k.obj.get(name)
	if len(p) == 1 {
		k.obj = k.obj.without(name)
		return k
	}
	if !old.Has(ObjectBit | ArrayBit) {
		return k
	}
	after := old.remove(p[1:], compact)
	if compact && after.mayBeEmpty() {
		after = after.OrUndefined()
		if after.mustBeEmpty() {
			k.obj = k.obj.without(name)
			return k
		}
	}
	k.obj = k.obj.with(name, after)
	return k
}

// removeElement is remove for a path that starts with the index of an element, and a kind that includes arrays.
func (k Kind) removeElement(p value.Path, compact bool) Kind {
	e, i := k.arr, p[0].Index
	if i < 0 && e.unknown == nil && e.minLen() == len(e.known) {
		if i += len(e.known); i < 0 {
			return k
		}
	}
	if len(p) == 1 && i >= 0 && i < len(e.known) {
		o := &Elems{unknown: e.unknown}
		o.known = append(o.known, e.known[:i]...)
		o.known = append(o.known, e.known[i+1:]...)
		k.arr = newElems(o.known, o.unknown)
		return k
	}
	if len(p) > 1 && i >= 0 && i < len(e.known) && !compact {
		o := &Elems{known: append([]Kind(nil), e.known...), unknown: e.unknown}
		o.known[i] = o.known[i].remove(p[1:], false)
		k.arr = newElems(o.known, o.unknown)
		return k
	}
	// It is not known which element is removed, or whether one is removed. Each element may be removed or move up.
	if e.unknown == nil && len(e.known) == 0 {
		return k
	}
	elem := k.Only(ArrayBit).Elem()
	if len(p) > 1 {
		elem = elem.Union(elem.remove(p[1:], compact))
	}
	o := &Elems{unknown: &elem}
	for range max(e.minLen()-1, 0) {
		o.known = append(o.known, elem)
	}
	k.arr = newElems(o.known, o.unknown)
	return k
}

func (k Kind) mayBeEmpty() bool {
	if k.obj != nil {
		for _, f := range k.obj.known {
			if !f.Kind.Has(UndefinedBit) {
				return k.arr != nil && k.arr.minLen() == 0
			}
		}
		return true
	}
	return k.arr != nil && k.arr.minLen() == 0
}

func (k Kind) mustBeEmpty() bool {
	k = k.Without(UndefinedBit)
	if k.Is(ObjectBit) {
		return len(k.obj.known) == 0 && k.obj.unknown == nil
	}
	return k.Is(ArrayBit) && len(k.arr.known) == 0 && k.arr.unknown == nil
}

// Merge returns the kind of the objects of k after all fields of the objects of o have been added, replacing equal
// names, one level deep.
func (k Kind) Merge(o Kind) Kind {
	if k.obj == nil || o.obj == nil {
		return Object
	}
	a, b := k.obj, o.obj
	if b.isAny() {
		return Object
	}
	out := &Fields{unknown: unionUnknown(a.unknown, b.unknown)}
	i, j := 0, 0
	for i < len(a.known) || j < len(b.known) {
		switch {
		case j == len(b.known) || i < len(a.known) && a.known[i].Name < b.known[j].Name:
			x := a.known[i]
			if b.unknown != nil {
				x.Kind = x.Kind.Union(*b.unknown)
			}
			out.known = append(out.known, x)
			i++
		case i == len(a.known) || b.known[j].Name < a.known[i].Name:
			x := b.known[j]
			if x.Kind.Has(UndefinedBit) {
				x.Kind = x.Kind.Union(a.missing())
			}
			out.known = append(out.known, x)
			j++
		default:
			x := b.known[j]
			if x.Kind.Has(UndefinedBit) {
				x.Kind = x.Kind.Without(UndefinedBit).Union(a.known[i].Kind)
			}
			out.known = append(out.known, x)
			i++
			j++
		}
	}
	return Kind{set: ObjectBit, obj: newFields(out.known, out.unknown)}
}

// MapElems returns k with all fields and elements replaced by values of kind x.
func (k Kind) MapElems(x Kind) Kind {
	x = x.Defined()
	if k.obj != nil {
		o := &Fields{known: make([]Field, len(k.obj.known))}
		for i, f := range k.obj.known {
			o.known[i] = Field{f.Name, x}
			if f.Kind.Has(UndefinedBit) {
				o.known[i].Kind = x.OrUndefined()
			}
		}
		if k.obj.unknown != nil {
			o.unknown = &x
		}
		k.obj = newFields(o.known, o.unknown)
	}
	if k.arr != nil {
		a := &Elems{known: make([]Kind, len(k.arr.known))}
		for i, y := range k.arr.known {
			a.known[i] = x
			if y.Has(UndefinedBit) {
				a.known[i] = x.OrUndefined()
			}
		}
		if k.arr.unknown != nil {
			a.unknown = &x
		}
		k.arr = newElems(a.known, a.unknown)
	}
	return k
}
