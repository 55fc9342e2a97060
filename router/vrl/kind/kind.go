// Package kind has the static types of the language: the kinds of values that an expression may have, and what is
// known about the fields of objects and the elements of arrays.
//
// A Kind is small, immutable and passed by value. Kinds share what they know about containers. All operations
// return new kinds. They are safe for concurrent use.
package kind

import (
	"math/bits"

	"cordwood/router/vrl/value"
)

// Set is a set of kinds of values, with one bit for each.
type Set uint16

// The members.
const (
	StringBit Set = 1 << iota
	IntegerBit
	FloatBit
	BooleanBit
	TimestampBit
	RegexBit
	NullBit
	UndefinedBit
	ArrayBit
	ObjectBit

	scalarBits = StringBit | IntegerBit | FloatBit | BooleanBit | TimestampBit | RegexBit | NullBit
	anyBits    = scalarBits | UndefinedBit | ArrayBit | ObjectBit
	jsonBits   = StringBit | IntegerBit | FloatBit | BooleanBit | NullBit | ArrayBit | ObjectBit
)

// A Kind is the set of kinds that a value may have. The zero Kind is never: no value has it.
type Kind struct {
	set Set
	obj *Fields // known if ObjectBit is set
	arr *Elems  // known if ArrayBit is set
}

// Fields is what is known about the fields of an object.
type Fields struct {
	known   []Field // sorted by name
	unknown *Kind   // the kind of all other fields that may exist; nil if there are none
	size    int     // approximate size of the tree below
}

// Field is a known field. If it may be missing, its kind includes undefined.
type Field struct {
	Name string
	Kind Kind
}

// Elems is what is known about the elements of an array: its first ones, and all others.
type Elems struct {
	known   []Kind
	unknown *Kind
	size    int
}

// The scalar kinds.
var (
	Never     = Kind{}
	String    = Kind{set: StringBit}
	Integer   = Kind{set: IntegerBit}
	Float     = Kind{set: FloatBit}
	Boolean   = Kind{set: BooleanBit}
	Timestamp = Kind{set: TimestampBit}
	Regex     = Kind{set: RegexBit}
	Null      = Kind{set: NullBit}
	Undefined = Kind{set: UndefinedBit}
	// Number is integer or float.
	Number = Kind{set: IntegerBit | FloatBit}
)

// The recursive kinds contain themselves, because the elements of containers may again be of any such kind.
var (
	// Any is every kind, including undefined, at every depth.
	Any = endless(anyBits)
	// JSON is every value that JSON can express, at every depth.
	JSON = endless(jsonBits)
	// Object and Array are containers of anything.
	Object = Kind{set: ObjectBit, obj: Any.obj}
	Array  = Kind{set: ArrayBit, arr: Any.arr}
	// Value is Any without undefined: the possible values of an expression.
	Value = Kind{set: anyBits &^ UndefinedBit, obj: Any.obj, arr: Any.arr}
)

func endless(set Set) Kind {
	inner := &Kind{set: set &^ UndefinedBit}
	inner.obj = &Fields{unknown: inner}
	inner.arr = &Elems{unknown: inner}
	k := *inner
	k.set = set
	return k
}

// Or returns the union of kinds, for example Or(String, Null).
func Or(kinds ...Kind) Kind {
	var k Kind
	for _, x := range kinds {
		k = k.Union(x)
	}
	return k
}

// ObjectOf returns objects with exactly the known fields, which may be in any order.
func ObjectOf(fields ...Field) Kind {
	f := &Fields{}
	for _, x := range fields {
		f = f.with(x.Name, x.Kind)
	}
	return Kind{set: ObjectBit, obj: f}
}

// ObjectAll returns objects with any fields of the kind elem.
func ObjectAll(elem Kind) Kind {
	elem = elem.Without(UndefinedBit)
	return Kind{set: ObjectBit, obj: newFields(nil, &elem)}
}

// ArrayOf returns arrays with exactly the given elements.
func ArrayOf(elems ...Kind) Kind {
	return Kind{set: ArrayBit, arr: newElems(elems, nil)}
}

// ArrayAll returns arrays of any length with elements of the kind elem.
func ArrayAll(elem Kind) Kind {
	elem = elem.Without(UndefinedBit)
	return Kind{set: ArrayBit, arr: newElems(nil, &elem)}
}

// WithOthers returns k with further fields and elements of the kind others.
func (k Kind) WithOthers(others Kind) Kind {
	others = others.Without(UndefinedBit)
	if k.obj != nil {
		k.obj = newFields(k.obj.known, &others)
	}
	if k.arr != nil {
		k.arr = newElems(k.arr.known, &others)
	}
	return k
}

// Of returns the exact kind of a value, with all its fields and elements.
func Of(v value.Value) Kind {
	switch v.Kind() {
	case value.Array:
		list := v.Array().Peek()
		known := make([]Kind, len(list))
		for i, x := range list {
			known[i] = Of(x)
		}
		return ArrayOf(known...)
	case value.Object:
		list := v.Object().Peek()
		known := make([]Field, len(list))
		for i := range list {
			known[i] = Field{Name: list[i].Key, Kind: Of(list[i].Value)}
		}
		return Kind{set: ObjectBit, obj: newFields(known, nil)}
	}
	return Kind{set: Bit(v.Kind())}
}

// Bit returns the set with a single kind of values.
func Bit(k value.Kind) Set {
	switch k {
	case value.String:
		return StringBit
	case value.Int:
		return IntegerBit
	case value.Float:
		return FloatBit
	case value.Bool:
		return BooleanBit
	case value.Timestamp:
		return TimestampBit
	case value.Regex:
		return RegexBit
	case value.Array:
		return ArrayBit
	case value.Object:
		return ObjectBit
	case value.Undefined:
		return UndefinedBit
	}
	return NullBit
}

// Set returns the kinds that a value of k may have, without regard to what is inside containers.
func (k Kind) Set() Set { return k.set }

// IsNever reports whether no value has the kind k.
func (k Kind) IsNever() bool { return k.set == 0 }

// IsAny reports whether every value has the kind k, including undefined.
func (k Kind) IsAny() bool {
	return k.set|UndefinedBit == anyBits && k.obj.isAny() && k.arr.isAny()
}

func (f *Fields) isAny() bool {
	return f == Any.obj || len(f.known) == 0 && f.unknown != nil && f.unknown.obj == Any.obj && f.unknown.IsAny()
}

func (e *Elems) isAny() bool {
	return e == Any.arr || len(e.known) == 0 && e.unknown != nil && e.unknown.obj == Any.obj && e.unknown.IsAny()
}

// Has reports whether a value of k may have one of the kinds in the set.
func (k Kind) Has(s Set) bool { return k.set&s != 0 }

// Within reports whether all values of k have kinds in the set.
func (k Kind) Within(s Set) bool { return k.set&^s == 0 }

// Is reports whether the kinds of k are exactly the set, without regard to what is inside containers.
func (k Kind) Is(s Set) bool { return k.set == s }

// Mentions reports whether k, or a known field or element in it at any depth, may have a kind in the set. Parts
// that may be anything do not count.
func (k Kind) Mentions(s Set) bool {
	if k.set|UndefinedBit == anyBits {
		return false
	}
	if k.set&s != 0 {
		return true
	}
	if k.obj != nil && k.obj != Any.obj {
		for i := range k.obj.known {
			if k.obj.known[i].Kind.Mentions(s) {
				return true
			}
		}
		if u := k.obj.unknown; u != nil && u.obj != k.obj && u.Mentions(s) {
			return true
		}
	}
	if k.arr != nil && k.arr != Any.arr {
		for _, x := range k.arr.known {
			if x.Mentions(s) {
				return true
			}
		}
		if u := k.arr.unknown; u != nil && u.arr != k.arr && u.Mentions(s) {
			return true
		}
	}
	return false
}

// IsExact reports whether all values of k have the same kind.
func (k Kind) IsExact() bool { return bits.OnesCount16(uint16(k.set)) == 1 }

// Without returns k without the kinds in the set.
func (k Kind) Without(s Set) Kind {
	k.set &^= s
	if k.set&ObjectBit == 0 {
		k.obj = nil
	}
	if k.set&ArrayBit == 0 {
		k.arr = nil
	}
	return k
}

// Only returns k with only the kinds in the set.
func (k Kind) Only(s Set) Kind { return k.Without(^s) }

// OrNull returns k with null.
func (k Kind) OrNull() Kind {
	k.set |= NullBit
	return k
}

// OrUndefined returns k with undefined.
func (k Kind) OrUndefined() Kind {
	k.set |= UndefinedBit
	return k
}

// Defined returns the kind of the result of reading a value of k: undefined becomes null.
func (k Kind) Defined() Kind {
	if k.set&UndefinedBit != 0 {
		k.set = k.set&^UndefinedBit | NullBit
	}
	return k
}

// Object returns what is known about the fields if a value of k is an object; nil if it cannot be one.
func (k Kind) Object() *Fields { return k.obj }

// Array returns what is known about the elements if a value of k is an array; nil if it cannot be one.
func (k Kind) Array() *Elems { return k.arr }

// Known returns the known fields in order. The slice must not be changed.
func (f *Fields) Known() []Field { return f.known }

// Unknown returns the kind of fields that are not known, and false if there are none.
func (f *Fields) Unknown() (Kind, bool) { return deref(f.unknown) }

// Known returns the kinds of the first elements. The slice must not be changed.
func (e *Elems) Known() []Kind { return e.known }

// Unknown returns the kind of elements that are not known, and false if there are none.
func (e *Elems) Unknown() (Kind, bool) { return deref(e.unknown) }

func deref(k *Kind) (Kind, bool) {
	if k == nil {
		return Never, false
	}
	return *k, true
}

// Elem returns the union of the kinds of all elements of a container of k, known and unknown, without undefined.
func (k Kind) Elem() Kind {
	var out Kind
	if k.obj != nil {
		for _, f := range k.obj.known {
			out = out.Union(f.Kind)
		}
		if k.obj.unknown != nil {
			out = out.Union(*k.obj.unknown)
		}
	}
	if k.arr != nil {
		for _, x := range k.arr.known {
			out = out.Union(x)
		}
		if k.arr.unknown != nil {
			out = out.Union(*k.arr.unknown)
		}
	}
	return out.Without(UndefinedBit)
}

// Default returns the value that replaces a failed expression of k: the default of its kind if it has exactly one
// kind, otherwise null.
func (k Kind) Default() value.Value {
	switch k.set {
	case StringBit:
		return value.NewString("")
	case IntegerBit:
		return value.NewInt(0)
	case FloatBit:
		return value.NewFloat(0)
	case BooleanBit:
		return value.NewBool(false)
	case TimestampBit:
		return value.NewUnix(0, 0)
	case RegexBit:
		return emptyRegex
	case ArrayBit:
		return value.NewArray(nil)
	case ObjectBit:
		return value.NewObject(value.MakeFields(0))
	}
	return value.Value{}
}
