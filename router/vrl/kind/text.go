package kind

import (
	"strconv"
	"strings"

	"cordwood/router/vrl/value"
)

var setNames = []struct {
	bit  Set
	name string
}{
	{StringBit, "string"},
	{IntegerBit, "integer"},
	{FloatBit, "float"},
	{BooleanBit, "boolean"},
	{TimestampBit, "timestamp"},
	{RegexBit, "regex"},
	{NullBit, "null"},
	{UndefinedBit, "undefined"},
	{ArrayBit, "array"},
	{ObjectBit, "object"},
}

// String returns k in the form used in messages: `string`, `integer, float or boolean`, `{ a: integer }`, `any`.
func (k Kind) String() string {
	switch {
	case k.set == 0:
		return "never"
	case k.set|UndefinedBit == anyBits:
		return "any"
	case k.set == ObjectBit && k.obj.unknown == nil && len(k.obj.known) > 0:
		return k.obj.text()
	case k.set == ArrayBit && k.arr.unknown == nil && len(k.arr.known) > 0:
		return k.arr.text()
	}
	return k.set.String()
}

// String returns the names of the members: `string, integer or null`.
func (s Set) String() string {
	var names []string
	for _, n := range setNames {
		if s&n.bit != 0 {
			names = append(names, n.name)
		}
	}
	if len(names) == 0 {
		return "never"
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func (f *Fields) text() string {
	var b strings.Builder
	b.WriteString("{ ")
	for i, x := range f.known {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(value.Path{value.Name(x.Name)}.String())
		b.WriteString(": ")
		b.WriteString(x.Kind.String())
	}
	b.WriteString(" }")
	return b.String()
}

func (e *Elems) text() string {
	parts := make([]string, len(e.known))
	for i, k := range e.known {
		parts[i] = k.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// debugNames are the names of the scalar kinds in the output of Debug.
var debugNames = []struct {
	bit  Set
	name string
}{
	{StringBit, "bytes"},
	{IntegerBit, "integer"},
	{FloatBit, "float"},
	{BooleanBit, "boolean"},
	{TimestampBit, "timestamp"},
	{RegexBit, "regex"},
	{NullBit, "null"},
	{UndefinedBit, "undefined"},
}

// Debug returns a value that shows everything known about k: "any", or an object with a member for each kind.
func (k Kind) Debug() value.Value {
	switch {
	case k.IsAny():
		return value.NewString("any")
	case k.set == 0:
		return value.NewString("never")
	case k.set == JSON.set && k.obj == JSON.obj:
		return value.NewString("json")
	}
	o := value.MakeFields(4)
	for _, n := range debugNames {
		if k.set&n.bit != 0 {
			o.Set(n.name, value.NewBool(true))
		}
	}
	if k.obj != nil {
		known := value.MakeFields(len(k.obj.known))
		for _, f := range k.obj.known {
			known.Set(f.Name, f.Kind.Debug())
		}
		o.Set("object", debugContainer(known, k.obj.unknown))
	}
	if k.arr != nil {
		known := value.MakeFields(len(k.arr.known))
		for i, x := range k.arr.known {
			known.Set(strconv.Itoa(i), x.Debug())
		}
		o.Set("array", debugContainer(known, k.arr.unknown))
	}
	return value.NewObject(o)
}

func debugContainer(known *value.Fields, unknown *Kind) value.Value {
	if unknown != nil {
		u := value.MakeFields(2)
		if known.Len() > 0 {
			u.Set("known", value.NewObject(known))
		}
		u.Set("unknown", unknown.Debug())
		return value.NewObject(u)
	}
	return value.NewObject(known)
}
