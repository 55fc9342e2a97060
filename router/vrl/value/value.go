// Package value has the values of the language, and of the log records that programs process: null, boolean,
// integer, float, string, timestamp, array, object and regular expression.
//
// A Value is three machine words and is passed by value. It contains scalars directly, so creating, comparing and
// copying them allocates no memory. A string is a pointer and a length and may point anywhere: into a request body,
// into a program's constants, or into a block that a run has allocated.
//
// # Strings
//
// The bytes under a string value never change as long as anything refers to them. So
// who hands out a buffer as strings (NewBytes, ParseJSON) gives the buffer away: it
// may be used again only when every value made from it is gone. Strings hold any
// bytes; what must be text is decoded when it is written, with one U+FFFD for each
// maximal ill-formed subsequence.
//
// # Containers and sharing
//
// Arrays and objects are behind pointers. Assigning a Value copies the pointer, so
// two places may hold one container. A container is therefore either owned by the one
// place that holds it, or shared; a shared one never changes again. The rules:
//
//   - What New… returns is owned.
//   - Every reader that takes a container out of another one (Array.At, Object.Get,
//     Value.Get, …) marks it as shared, since it is now in two places. Readers called
//     Peek… do not mark; what they return is for looking at, never for keeping.
//   - To change a container that a Value holds, go through the holder:
//     Value.MutArray, Value.MutObject, Insert, Remove. They put a copy in its place
//     first if it is shared. A copy is shallow: it marks what it holds as shared. So
//     a change deep inside copies the containers along its path and nothing else.
//   - Who keeps a container in a second place by other means calls Share.
//   - Freeze marks a whole tree, so that goroutines may read it at once.
//
// Nothing here locks. A tree belongs to one goroutine unless it is frozen.
package value

import (
	"math"
	"strings"
	"time"
	"unsafe"

	"cordwood/router/vrl/pattern"
)

// Kind is what a Value is.
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
	// Undefined is not a value at all: an optional argument that was not given, a field
	// that is not there. It never occurs inside a container.
	Undefined
)

var kindNames = [...]string{
	"null", "boolean", "integer", "float", "string", "timestamp", "regex", "array", "object", "undefined",
}

// String returns the kind's name as the language's messages spell it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// A Value is one value. It is comparable only with Equal.
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

// NewFloat returns a float, which must not be NaN: null takes its place.
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

// NewBytes returns a string made of b without copying it: b must not change any more.
func NewBytes(b []byte) Value {
	return Value{kind: String, p: unsafe.Pointer(unsafe.SliceData(b)), n: uint64(len(b))}
}

// NewTimestamp returns an instant of nanosecond precision. The zone of t is dropped.
func NewTimestamp(t time.Time) Value { return NewUnix(t.Unix(), uint32(t.Nanosecond())) }

// NewUnix returns the instant that is sec seconds and nsec nanoseconds, below one
// second, after 1970 began.
func NewUnix(sec int64, nsec uint32) Value {
	return Value{kind: Timestamp, n: uint64(sec), aux: nsec}
}

// NewUnixNano returns the instant that is ns nanoseconds after 1970 began.
func NewUnixNano(ns int64) Value {
	sec, nsec := ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return NewUnix(sec, uint32(nsec))
}

// NewRegex returns a regular expression.
func NewRegex(r *pattern.Regex) Value { return Value{kind: Regex, p: unsafe.Pointer(r)} }

// Kind returns what v is.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// IsString reports whether v is a string.
func (v Value) IsString() bool { return v.kind == String }

// IsDefined reports whether v is a value at all: anything but None.
func (v Value) IsDefined() bool { return v.kind != Undefined }

// Bool returns the boolean that v holds; false if it is of another kind.
func (v Value) Bool() bool { return v.kind == Bool && v.n != 0 }

// IsTrue is Bool, and IsFalsy reports whether v is null or false.
func (v Value) IsTrue() bool { return v.kind == Bool && v.n != 0 }

// IsFalsy reports whether v is null or false, which the logical operators treat alike.
func (v Value) IsFalsy() bool { return v.kind == Null || v.kind == Bool && v.n == 0 }

// Int returns the integer that v holds; 0 if it is of another kind.
func (v Value) Int() int64 {
	if v.kind != Int {
		return 0
	}
	return int64(v.n)
}

// Float returns the float that v holds; 0 if it is of another kind.
func (v Value) Float() float64 {
	if v.kind != Float {
		return 0
	}
	return math.Float64frombits(v.n)
}

// Number returns the integer or float that v holds as a float.
func (v Value) Number() (float64, bool) {
	switch v.kind {
	case Int:
		return float64(int64(v.n)), true
	case Float:
		return math.Float64frombits(v.n), true
	}
	return 0, false
}

// Str returns the bytes that v holds as a Go string, without copying; "" if v is of
// another kind. They need not be valid UTF-8 (see Text).
func (v Value) Str() string {
	if v.kind != String {
		return ""
	}
	return unsafe.String((*byte)(v.p), int(v.n))
}

// Text returns the string that v holds as valid UTF-8: ill-formed parts become U+FFFD.
// Strings that are well formed, as nearly all are, are not copied.
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

// Time returns the instant that v holds, in UTC; the zero time if v is of another kind.
func (v Value) Time() time.Time {
	if v.kind != Timestamp {
		return time.Time{}
	}
	return time.Unix(int64(v.n), int64(v.aux)).UTC()
}

// Unix returns the instant that v holds as seconds and nanoseconds since 1970.
func (v Value) Unix() (sec int64, nsec uint32) {
	if v.kind != Timestamp {
		return 0, 0
	}
	return int64(v.n), v.aux
}

// UnixNano returns the instant that v holds in nanoseconds since 1970, and false if it
// does not fit (it is before 1677 or after 2262) or v is not a timestamp.
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

// Regex returns the regular expression that v holds; nil if v is of another kind.
func (v Value) Regex() *pattern.Regex {
	if v.kind != Regex {
		return nil
	}
	return (*pattern.Regex)(v.p)
}

// Shared reports whether v is a container that is copied before it is changed.
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

// Array returns the array that v holds, to be read; nil if v is of another kind.
func (v Value) Array() *Items {
	if v.kind != Array {
		return nil
	}
	return v.items()
}

// Object returns the object that v holds, to be read; nil if v is of another kind.
func (v Value) Object() *Fields {
	if v.kind != Object {
		return nil
	}
	return v.fields()
}

// MutArray returns the array that v holds, to be changed, after putting a copy in its
// place if it was shared; nil if v is of another kind.
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
		o = o.copy(8) // who changes an object often adds fields
		v.p = unsafe.Pointer(o)
	}
	return o
}

// Share marks the container that v holds, if it is one, as held in more than one
// place, and returns v.
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

// Freeze marks v and all containers inside it as shared, so that v may be read by any
// number of goroutines, and returns v.
func (v Value) Freeze() Value {
	v.Share()
	switch v.kind {
	case Array:
		for _, x := range v.items().list {
			x.Freeze()
		}
	case Object:
		for i := range v.fields().list {
			v.fields().list[i].Value.Freeze()
		}
	}
	return v
}

// Detach returns v with all strings and containers copied, so that it refers to no
// buffer that v referred to. Object keys are copied too.
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
		src := v.fields().list
		list := make([]Field, len(src))
		for i := range src {
			list[i] = Field{Key: strings.Clone(src[i].Key), Value: src[i].Value.Detach()}
		}
		return NewObject(&Fields{list: list})
	}
	return v
}
