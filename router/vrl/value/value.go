// Package value has the values of the language, and of the log records that programs process: null, boolean,
// integer, float, string, timestamp, array, object and regular expression.
//
// A Value is three machine words and is passed by value. It contains scalars directly, so creating, comparing and
// copying them allocates no memory. A string is a pointer and a length and may point anywhere: into a request body,
// into a program's constants, or into a block that a run has allocated.
//
// # Strings
//
// The bytes under a string value must not change as long as anything refers to them. So NewBytes and ParseJSON take
// over the buffer that they get: it may be reused only when no value made from it exists any more. Strings may hold
// any bytes. Where valid text is required, they are decoded, with one U+FFFD for each maximal ill-formed subsequence.
//
// # Containers and sharing
//
// Arrays and objects are behind pointers. Assigning a Value copies the pointer, so several places may refer to the same
// container. A container is either owned by one place or shared, and a shared container never changes again:
//
//   - A container from New… is owned.
//   - A function that takes a container out of another one (Items.At, Fields.Get, Value.Get, …) marks it as shared,
//     because two places refer to it now. Functions whose names start with Peek do not mark it. Their results may be
//     read but not kept.
//   - To change a container, use Value.MutArray, Value.MutObject, Insert or Remove on the place that refers to it.
//     If it is shared, they first replace it by a copy. The copy is shallow and marks the containers inside as
//     shared. So a change deep inside copies only the containers on its path.
//   - Code that stores a container in a second place by other means must call Share.
//   - Freeze marks a whole tree as shared, so that several goroutines may read it.
//
// There are no locks. A tree belongs to one goroutine unless it is frozen.
package value

import (
	"math"
	"strings"
	"time"
	"unsafe"

	"cordwood/router/vrl/pattern"
)

// Kind is the kind of a Value.
type Kind uint8

// The kinds. The zero Value is null.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Timestamp
	Regex
	Array
	Object
	// Undefined means that there is no value: an optional argument that is not given, or a field that does not
	// exist. It never occurs inside a container.
	Undefined
)

var kindNames = [...]string{
	"null", "boolean", "integer", "float", "string", "timestamp", "regex", "array", "object", "undefined",
}

// String returns the kind's name, as in the language's messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// A Value is one value. Compare values with Equal or Same, not with ==.
type Value struct {
	p    unsafe.Pointer // String: first byte; Array, Object, Regex: *Items, *Fields, *pattern.Regex
	n    uint64         // Bool, Int, Float: the bits; String: the length; Timestamp: Unix seconds
	aux  uint32         // Timestamp: nanoseconds
	kind Kind
}

// None is the undefined value.
var None = Value{kind: Undefined}

// NewBool returns a boolean.
func NewBool(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.n = 1
	}
	return v
}

// NewInt returns an integer.
func NewInt(i int64) Value { return Value{kind: Int, n: uint64(i)} }

// NewFloat returns a float. If f is NaN, it returns null.
func NewFloat(f float64) Value {
	if f != f {
		return Value{}
	}
	return Value{kind: Float, n: math.Float64bits(f)}
}

// NewString returns a string.
func NewString(s string) Value {
	return Value{kind: String, p: unsafe.Pointer(unsafe.StringData(s)), n: uint64(len(s))}
}

// NewBytes returns a string with the bytes of b, without copying. b must not change afterwards.
func NewBytes(b []byte) Value {
	return Value{kind: String, p: unsafe.Pointer(unsafe.SliceData(b)), n: uint64(len(b))}
}

// NewTimestamp returns an instant with nanosecond precision. The zone of t is dropped.
func NewTimestamp(t time.Time) Value { return NewUnix(t.Unix(), uint32(t.Nanosecond())) }

// NewUnix returns the instant sec seconds and nsec nanoseconds (less than a second) after the start of 1970.
func NewUnix(sec int64, nsec uint32) Value {
	return Value{kind: Timestamp, n: uint64(sec), aux: nsec}
}

// NewUnixNano returns the instant ns nanoseconds after the start of 1970.
func NewUnixNano(ns int64) Value {
	sec, nsec := ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return NewUnix(sec, uint32(nsec))
}

// NewRegex returns a regular expression.
func NewRegex(r *pattern.Regex) Value { return Value{kind: Regex, p: unsafe.Pointer(r)} }

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// IsString reports whether v is a string.
func (v Value) IsString() bool { return v.kind == String }

// IsDefined reports whether v is a value, and not None.
func (v Value) IsDefined() bool { return v.kind != Undefined }

// Bool returns the boolean v; false if v has another kind.
func (v Value) Bool() bool { return v.kind == Bool && v.n != 0 }

// IsTrue reports whether v is true.
func (v Value) IsTrue() bool { return v.kind == Bool && v.n != 0 }

// IsFalsy reports whether v is null or false, which the logical operators treat alike.
func (v Value) IsFalsy() bool { return v.kind == Null || v.kind == Bool && v.n == 0 }

// Int returns the integer v; 0 if v has another kind.
func (v Value) Int() int64 {
	if v.kind != Int {
		return 0
	}
	return int64(v.n)
}

// Float returns the float v; 0 if v has another kind.
func (v Value) Float() float64 {
	if v.kind != Float {
		return 0
	}
	return math.Float64frombits(v.n)
}

// Number returns the integer or float v as a float.
func (v Value) Number() (float64, bool) {
	switch v.kind {
	case Int:
		return float64(int64(v.n)), true
	case Float:
		return math.Float64frombits(v.n), true
	}
	return 0, false
}

// Str returns the bytes of the string v as a Go string, without copying; "" if v has another kind. They need not
// be valid UTF-8 (see Text).
func (v Value) Str() string {
	if v.kind != String {
		return ""
	}
	return unsafe.String((*byte)(v.p), int(v.n))
}

// Text returns the string v as valid UTF-8: ill-formed parts become U+FFFD. Well-formed strings, which are the
// usual case, are not copied.
func (v Value) Text() string { return Lossy(v.Str()) }

// Len returns the length in bytes of a string, or the number of elements of a container.
func (v Value) Len() int {
	switch v.kind {
	case String:
		return int(v.n)
	case Array:
		return v.items().Len()
	case Object:
		return v.fields().Len()
	}
	return 0
}

// Time returns the timestamp v in UTC; the zero time if v has another kind.
func (v Value) Time() time.Time {
	if v.kind != Timestamp {
		return time.Time{}
	}
	return time.Unix(int64(v.n), int64(v.aux)).UTC()
}

// Unix returns the timestamp v as seconds and nanoseconds since 1970.
func (v Value) Unix() (sec int64, nsec uint32) {
	if v.kind != Timestamp {
		return 0, 0
	}
	return int64(v.n), v.aux
}

// UnixNano returns the timestamp v in nanoseconds since 1970. It returns false if this does not fit (before 1677
// or after 2262) or v is not a timestamp.
func (v Value) UnixNano() (int64, bool) {
	if v.kind != Timestamp {
		return 0, false
	}
	sec := int64(v.n)
	const limit = math.MaxInt64 / 1_000_000_000
	if sec < -limit || sec >= limit {
		return 0, false
	}
	return sec*1_000_000_000 + int64(v.aux), true
}

// Regex returns the regular expression v; nil if v has another kind.
func (v Value) Regex() *pattern.Regex {
	if v.kind != Regex {
		return nil
	}
	return (*pattern.Regex)(v.p)
}

// Shared reports whether v is a container that must be copied before it is changed.
func (v Value) Shared() bool {
	switch v.kind {
	case Array:
		return v.items().shared
	case Object:
		return v.fields().shared
	}
	return false
}

func (v Value) items() *Items   { return (*Items)(v.p) }
func (v Value) fields() *Fields { return (*Fields)(v.p) }

// Array returns the array v for reading; nil if v has another kind.
func (v Value) Array() *Items {
	if v.kind != Array {
		return nil
	}
	return v.items()
}

// Object returns the object v for reading; nil if v has another kind.
func (v Value) Object() *Fields {
	if v.kind != Object {
		return nil
	}
	return v.fields()
}

// MutArray returns the array v for changes. If it is shared, MutArray first replaces it by a copy. It returns nil
// if v has another kind.
func (v *Value) MutArray() *Items {
	if v.kind != Array {
		return nil
	}
	a := v.items()
	if a.shared {
		a = a.copy(0)
		v.p = unsafe.Pointer(a)
	}
	return a
}

// MutObject is MutArray for an object.
func (v *Value) MutObject() *Fields {
	if v.kind != Object {
		return nil
	}
	o := v.fields()
	if o.shared {
		o = o.copy(8) // code that changes an object often adds fields
		v.p = unsafe.Pointer(o)
	}
	return o
}

// Share marks v as shared, if it is a container, and returns v.
func (v Value) Share() Value {
	switch v.kind {
	case Array:
		if a := v.items(); !a.shared {
			a.shared = true
		}
	case Object:
		if o := v.fields(); !o.shared {
			o.shared = true
		}
	}
	return v
}

// Freeze marks v and all containers inside it as shared, so that any number of goroutines may read v, and returns
// v.
func (v Value) Freeze() Value {
	v.Share()
	switch v.kind {
	case Array:
		for _, x := range v.items().list {
			x.Freeze()
		}
	case Object:
		list := v.fields().settled()
		for i := range list {
			list[i].Value.Freeze()
		}
	}
	return v
}

// Detach returns a copy of v with copies of all strings, object keys and containers, so that it does not refer to
// any buffer of v.
func (v Value) Detach() Value {
	switch v.kind {
	case String:
		return NewString(strings.Clone(v.Str()))
	case Array:
		a := make([]Value, len(v.items().list))
		for i, x := range v.items().list {
			a[i] = x.Detach()
		}
		return NewArray(a)
	case Object:
		src := v.fields().settled()
		list := make([]Field, len(src))
		for i := range src {
			list[i] = Field{Key: strings.Clone(src[i].Key), Value: src[i].Value.Detach()}
		}
		return NewObject(&Fields{list: list})
	}
	return v
}
