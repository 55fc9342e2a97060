package kind

import (
	"sort"

	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

var emptyRegex = func() value.Value {
	r, _ := pattern.Compile("")
	return value.NewRegex(r)
}()

// maxKnown limits the number of fields and elements that are tracked individually. The others are combined in
// unknown, which keeps compile time linear.
const maxKnown = 512

// maxSize limits the size of the tree of knowledge about a container. Kinds share parts, so a short program can
// describe an infinite tree. Beyond it, only the kind of the container is kept.
const maxSize = 1 << 13

// newFields returns the knowledge about an object's fields, or nothing if it is too large.
func newFields(known []Field, unknown *Kind) *Fields {
	n := 1
	for i := range known {
		n += known[i].Kind.size()
	}
	if unknown != nil && unknown.obj != Any.obj {
		n += unknown.size()
	}
	if n > maxSize {
		return Any.obj
	}
	return &Fields{known, unknown, n}
}

// newElems returns the knowledge about an array's elements, or nothing if it is too large.
func newElems(known []Kind, unknown *Kind) *Elems {
	n := 1
	for i := range known {
		n += known[i].size()
	}
	if unknown != nil && unknown.obj != Any.obj {
		n += unknown.size()
	}
	if n > maxSize {
		return Any.arr
	}
	return &Elems{known, unknown, n}
}

func (k Kind) size() int {
	n := 1
	if k.obj != nil {
		n += k.obj.size
	}
	if k.arr != nil {
		n += k.arr.size
	}
	return n
}

// Union returns the kind of values of k or o.
func (k Kind) Union(o Kind) Kind {
	out := Kind{set: k.set | o.set}
	switch {
	case k.obj == nil || k.obj == o.obj:
		out.obj = o.obj
	case o.obj == nil:
		out.obj = k.obj
	default:
		out.obj = unionFields(k.obj, o.obj)
	}
	switch {
	case k.arr == nil || k.arr == o.arr:
		out.arr = o.arr
	case o.arr == nil:
		out.arr = k.arr
	default:
		out.arr = unionElems(k.arr, o.arr)
	}
	return out
}

func unionUnknown(a, b *Kind) *Kind {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	case a.IsAny():
		return a
	case b.IsAny():
		return b
	}
	k := a.Union(*b)
	return &k
}

func unionFields(a, b *Fields) *Fields {
	if a.isAny() || b.isAny() {
		return Any.obj
	}
	known := make([]Field, 0, max(len(a.known), len(b.known)))
	i, j := 0, 0
	for i < len(a.known) || j < len(b.known) {
		switch {
		case j == len(b.known) || i < len(a.known) && a.known[i].Name < b.known[j].Name:
			known = append(known, Field{a.known[i].Name, a.known[i].Kind.Union(b.missing())})
			i++
		case i == len(a.known) || b.known[j].Name < a.known[i].Name:
			known = append(known, Field{b.known[j].Name, b.known[j].Kind.Union(a.missing())})
			j++
		default:
			known = append(known, Field{a.known[i].Name, a.known[i].Kind.Union(b.known[j].Kind)})
			i++
			j++
		}
	}
	return newFields(known, unionUnknown(a.unknown, b.unknown))
}

// missing returns the kind of a field that is not known.
func (f *Fields) missing() Kind {
	if f.unknown == nil {
		return Undefined
	}
	return f.unknown.OrUndefined()
}

func (e *Elems) missing() Kind {
	if e.unknown == nil {
		return Undefined
	}
	return e.unknown.OrUndefined()
}

func unionElems(a, b *Elems) *Elems {
	if a.isAny() || b.isAny() {
		return Any.arr
	}
	known := make([]Kind, max(len(a.known), len(b.known)))
	for i := range known {
		known[i] = a.at(i).Union(b.at(i))
	}
	return newElems(known, unionUnknown(a.unknown, b.unknown))
}

func (e *Elems) at(i int) Kind {
	if i < len(e.known) {
		return e.known[i]
	}
	return e.missing()
}

// Includes reports whether every value of o is also a value of k.
func (k Kind) Includes(o Kind) bool {
	if o.set&^k.set != 0 {
		return false
	}
	if o.obj != nil && k.obj != o.obj && !k.obj.includes(o.obj) {
		return false
	}
	return o.arr == nil || k.arr == o.arr || k.arr.includes(o.arr)
}

func includesUnknown(a, b *Kind) bool {
	switch {
	case b == nil || a == b:
		return true
	case a == nil:
		return false
	}
	return a.IsAny() || a.Includes(*b)
}

func (f *Fields) includes(o *Fields) bool {
	if f.isAny() {
		return true
	}
	if !includesUnknown(f.unknown, o.unknown) {
		return false
	}
	for _, x := range o.known {
		if k, _ := f.get(x.Name); !k.Includes(x.Kind) {
			return false
		}
	}
	for _, x := range f.known {
		if _, ok := o.get(x.Name); !ok && !x.Kind.Includes(o.missing()) {
			return false
		}
	}
	return true
}

func (e *Elems) includes(o *Elems) bool {
	if e.isAny() {
		return true
	}
	if !includesUnknown(e.unknown, o.unknown) {
		return false
	}
	for i := range max(len(e.known), len(o.known)) {
		if !e.at(i).Includes(o.at(i)) {
			return false
		}
	}
	return true
}

// Intersects reports whether k and o may have a common value. Never, which is the kind of expressions that do not
// return, intersects every kind.
func (k Kind) Intersects(o Kind) bool {
	if k.set == 0 || o.set == 0 {
		return true
	}
	common := k.set & o.set
	if common&^(ObjectBit|ArrayBit) != 0 {
		return true
	}
	if common&ObjectBit != 0 && k.obj.intersects(o.obj) {
		return true
	}
	return common&ArrayBit != 0 && k.arr.intersects(o.arr)
}

func (f *Fields) intersects(o *Fields) bool {
	if f == o || f.isAny() || o.isAny() {
		return true
	}
	for _, x := range f.known {
		k, ok := o.get(x.Name)
		if !ok {
			k = o.missing()
		}
		if !x.Kind.Intersects(k) {
			return false
		}
	}
	for _, x := range o.known {
		if _, ok := f.get(x.Name); !ok && !x.Kind.Intersects(f.missing()) {
			return false
		}
	}
	return true
}

func (e *Elems) intersects(o *Elems) bool {
	if e == o || e.isAny() || o.isAny() {
		return true
	}
	for i := range max(len(e.known), len(o.known)) {
		if !e.at(i).Intersects(o.at(i)) {
			return false
		}
	}
	return true
}

func (f *Fields) find(name string) (int, bool) {
	i := sort.Search(len(f.known), func(i int) bool { return f.known[i].Name >= name })
	return i, i < len(f.known) && f.known[i].Name == name
}

// get returns the kind of the field, and whether it is known.
func (f *Fields) get(name string) (Kind, bool) {
	if i, ok := f.find(name); ok {
		return f.known[i].Kind, true
	}
	return f.missing(), false
}

func (f *Fields) with(name string, k Kind) *Fields {
	i, ok := f.find(name)
	if !ok && len(f.known) >= maxKnown {
		return newFields(f.known, unionUnknown(f.unknown, &k))
	}
	known := make([]Field, 0, len(f.known)+1)
	known = append(known, f.known[:i]...)
	known = append(known, Field{name, k})
	if ok {
		i++
	}
	known = append(known, f.known[i:]...)
	return newFields(known, f.unknown)
}

func (f *Fields) without(name string) *Fields {
	i, ok := f.find(name)
	if f.unknown != nil {
		// An unknown field with that name does not exist either.
		return f.with(name, Undefined)
	}
	if !ok {
		return f
	}
	known := make([]Field, 0, len(f.known))
	known = append(known, f.known[:i]...)
	return newFields(append(known, f.known[i+1:]...), nil)
}

// Containers returns the kinds of containers that k includes, with anything inside.
func (k Kind) Containers() Kind {
	out := Never
	if k.Has(ObjectBit) {
		out = Object
	}
	if k.Has(ArrayBit) {
		out = out.Union(Array)
	}
	return out
}
