package value

import (
	"errors"
	"slices"
	"strconv"
)

// Segment is one step of a path: into an object by name, or into an array by index,
// where a negative index counts from the end.
type Segment struct {
	Name    string
	Index   int
	IsIndex bool
}

// Name returns the segment of an object's field.
func Name(s string) Segment { return Segment{Name: s} }

// Index returns the segment of an array's element.
func Index(i int) Segment { return Segment{Index: i, IsIndex: true} }

// Path is a path from a value to a value inside it. The empty path is the value itself.
type Path []Segment

// String returns the path without the leading dot of an event's path: `a."b c"[0]`.
func (p Path) String() string {
	var b []byte
	for i, s := range p {
		switch {
		case s.IsIndex:
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(s.Index), 10)
			b = append(b, ']')
			continue
		case i > 0:
			b = append(b, '.')
		}
		if IsBareSegment(s.Name) {
			b = append(b, s.Name...)
		} else {
			b = appendQuoted(b, s.Name)
		}
	}
	return string(b)
}

// IsBareSegment reports whether a field name can be written in a path without quotes.
func IsBareSegment(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '@':
		default:
			return false
		}
	}
	return s != ""
}

// HasPrefix reports whether q is a prefix of p.
func (p Path) HasPrefix(q Path) bool {
	return len(p) >= len(q) && slices.Equal(p[:len(q)], q)
}

// Get returns the value at the path. It finds nothing in a value of the wrong kind.
func (v Value) Get(p Path) (Value, bool) {
	x, ok := v.Peek(p)
	return x.Share(), ok
}

// Peek is Get for reading; see the package comment.
func (v Value) Peek(p Path) (Value, bool) {
	for i := range p {
		s := &p[i]
		if s.IsIndex {
			if v.kind != Array {
				return Value{}, false
			}
			list := v.items().list
			at := s.Index
			if at < 0 {
				at += len(list)
			}
			if at < 0 || at >= len(list) {
				return Value{}, false
			}
			v = list[at]
			continue
		}
		if v.kind != Object {
			return Value{}, false
		}
		var ok bool
		if v, ok = v.fields().PeekGet(s.Name); !ok {
			return Value{}, false
		}
	}
	return v, true
}

// MaxIndex limits how far beyond the ends of an array Insert may write.
const MaxIndex = 1 << 16

// ErrIndex is returned for a write too far beyond the ends of an array.
var ErrIndex = errors.New("array index is out of bounds: at most 65536 elements beyond the end can be filled")

// Insert stores x at the path inside *v. If a value on the path is not a container of the required kind, it is
// replaced by an empty one. An index after the end fills the array with null. A negative index before the start
// puts x first, followed by nulls. If the error is ErrIndex, *v is unchanged.
func Insert(v *Value, p Path, x Value) error {
	if len(p) == 0 {
		*v = x
		return nil
	}
	for _, s := range p {
		// This is checked before anything changes. Existing arrays may be longer than the bound.
		if s.IsIndex && (s.Index > MaxIndex || s.Index < -MaxIndex) {
			if old, ok := v.Peek(p); !ok || !old.IsDefined() {
				return ErrIndex
			}
		}
	}
	for i := range p {
		v = step(v, &p[i])
	}
	*v = x
	return nil
}

// step returns the value to which a segment leads inside *v. It creates it if necessary.
func step(v *Value, s *Segment) *Value {
	if !s.IsIndex {
		if v.kind != Object {
			*v = NewObject(MakeFields(1))
		}
		return v.MutObject().place(s.Name)
	}
	if v.kind != Array {
		*v = NewArray(nil)
	}
	a := v.MutArray()
	at := s.Index
	if at < 0 {
		at += len(a.list)
	}
	if at < 0 {
		fresh := make([]Value, -at+len(a.list))
		copy(fresh[-at:], a.list)
		a.list = fresh
		at = 0
	}
	for at >= len(a.list) {
		a.list = append(a.list, Value{})
	}
	return &a.list[at]
}

// Remove removes the value at the path from *v and returns it. If compact is set, it also removes the containers
// around it that become empty. The empty path removes everything: *v becomes an empty container if it was a
// container, otherwise null.
func Remove(v *Value, p Path, compact bool) (Value, bool) {
	if len(p) == 0 {
		old := *v
		switch v.kind {
		case Object:
			*v = NewObject(&Fields{})
		case Array:
			*v = NewArray(nil)
		default:
			*v = Value{}
		}
		return old, true
	}
	if _, ok := v.Peek(p); !ok {
		return Value{}, false
	}
	return remove(v, p, compact), true
}

// remove is Remove for a path that exists and is not empty.
func remove(v *Value, p Path, compact bool) Value {
	s := &p[0]
	if s.IsIndex {
		a := v.MutArray()
		at := s.Index
		if at < 0 {
			at += len(a.list)
		}
		if len(p) > 1 {
			old := remove(&a.list[at], p[1:], compact)
			if compact && isEmptyContainer(a.list[at]) {
				a.list = slices.Delete(a.list, at, at+1)
			}
			return old
		}
		old := a.list[at]
		a.list = slices.Delete(a.list, at, at+1)
		return old
	}
	o := v.MutObject()
	i, _ := o.Find(s.Name)
	if len(p) > 1 {
		inner := o.place(s.Name)
		old := remove(inner, p[1:], compact)
		if compact && isEmptyContainer(*inner) {
			o.removeAt(i)
		}
		return old
	}
	return o.removeAt(i)
}

func isEmptyContainer(v Value) bool {
	return (v.kind == Array || v.kind == Object) && v.Len() == 0
}
