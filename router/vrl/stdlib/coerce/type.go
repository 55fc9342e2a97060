package coerce

import (
	"encoding/json"
	"strconv"
	"unsafe"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// Functions that accept values of one kind only, so that the compiler knows the kind of the result.
var (
	expectArray     = expect("array", value.Array, kind.Array, `array!(.a)`, `{"a":[1]}`, `[1]`)
	expectBool      = expect("bool", value.Bool, kind.Boolean, `bool!(.a)`, `{"a":true}`, `true`)
	expectFloat     = expect("float", value.Float, kind.Float, `float!(.a)`, `{"a":1.5}`, `1.5`)
	expectInt       = expect("int", value.Int, kind.Integer, `int!(.a)`, `{"a":1}`, `1`)
	expectObject    = expect("object", value.Object, kind.Object, `object!(.a)`, `{"a":{"b":1}}`, `{"b":1}`)
	expectString    = expect("string", value.String, kind.String, `string!(.a)`, `{"a":"b"}`, `"b"`)
	expectTimestamp = expect("timestamp", value.Timestamp, kind.Timestamp, `timestamp(.a) ?? t'2020-01-01T00:00:00Z'`,
		`{"a":"b"}`, `"2020-01-01T00:00:00Z"`)
)

// expect returns the function that returns its argument if it is of kind k, and fails otherwise. full is the kind
// for the compiler. The rest is an example.
func expect(name string, k value.Kind, full kind.Kind, source, event, result string) *fn.Function {
	bit := kind.Bit(k)
	f := &fn.Function{
		Name:  name,
		Group: fn.Type,
		Doc: "Returns the value if it is of the kind " + k.String() +
			" and fails otherwise. The value is not converted; the compiler then knows the kind of the " +
			"value.",
		Params:   []fn.Param{{Name: "value", Doc: "The value to check.", Kind: kind.Any}},
		Returns:  full,
		Fallible: true,
		Asserts:  k,
		Errors:   []string{"the value is of another kind"},
		Examples: []fn.Example{
			{Title: "of the kind", Source: source, Event: event, Result: result},
			{Title: "of another kind", Source: name + `!(null)`, Fails: `expected ` + k.String() + `, got null`},
		},
		Type: func(c *fn.Call) fn.TypeDef {
			known := full
			if c.Kind(0).Has(bit) {
				known = c.Kind(0).Only(bit)
			}
			return fn.TypeDef{Kind: known, Fallible: !c.Kind(0).Is(bit)}
		},
		Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			if v.Kind() == k {
				return v, true
			}
			return f.FailKind(k.String(), v)
		}},
	}
	return f
}

// Functions that test whether a value is of one kind.
var (
	isArray     = is("is_array", value.Array, `is_array([1])`, `is_array("[1]")`)
	isBoolean   = is("is_boolean", value.Bool, `is_boolean(true)`, `is_boolean("true")`)
	isFloat     = is("is_float", value.Float, `is_float(1.0)`, `is_float(1)`)
	isInteger   = is("is_integer", value.Int, `is_integer(1)`, `is_integer(1.0)`)
	isNull      = is("is_null", value.Null, `is_null(.absent)`, `is_null("")`)
	isObject    = is("is_object", value.Object, `is_object({})`, `is_object([])`)
	isRegex     = is("is_regex", value.Regex, `is_regex(r'a')`, `is_regex("a")`)
	isString    = is("is_string", value.String, `is_string("a")`, `is_string(1)`)
	isTimestamp = is("is_timestamp", value.Timestamp, `is_timestamp(t'2020-01-01T00:00:00Z')`,
		`is_timestamp("2020-01-01T00:00:00Z")`)
)

// is returns the function that tests whether its argument is of kind k. yes and no are examples whose results are true
// and false.
func is(name string, k value.Kind, yes, no string) *fn.Function {
	return &fn.Function{
		Name:    name,
		Group:   fn.Type,
		Doc:     "Returns whether the value is of the kind " + k.String() + ".",
		Params:  []fn.Param{{Name: "value", Doc: "The value to check.", Kind: kind.Any, Borrow: true}},
		Returns: kind.Boolean,
		Examples: []fn.Example{
			{Title: "of the kind", Source: yes, Result: `true`},
			{Title: "of another kind", Source: no, Result: `false`},
		},
		Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
			// A missing value is null.
			return value.NewBool(v.Kind() == k || k == value.Null && !v.IsDefined()), true
		}},
	}
}

var isEmpty = &fn.Function{
	Name:  "is_empty",
	Group: fn.Type,
	Doc:   "Returns whether the string, object or array has the length 0.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to check.", Kind: kind.Or(kind.String, kind.Object, kind.Array), Borrow: true},
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "an empty array", Source: `is_empty([])`, Result: `true`},
		{Title: "a blank is not empty", Source: `is_empty(" ")`, Result: `false`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		return value.NewBool(v.Len() == 0), true
	}},
}

var isJSON = &fn.Function{
	Name:  "is_json",
	Group: fn.Type,
	Doc:   "Returns whether the whole string is a JSON text, and optionally whether it is of a certain kind.",
	Params: []fn.Param{
		{Name: "value", Doc: "The text.", Kind: kind.String, Borrow: true},
		{
			Name: "variant", Doc: "The type of the outermost value.", Kind: kind.String, Optional: true, Constant: true,
			Enum: []fn.Enum{
				{Value: "object", Doc: "an object"},
				{Value: "array", Doc: "an array"},
				{Value: "string", Doc: "a string"},
				{Value: "number", Doc: "a number"},
				{Value: "bool", Doc: "true or false"},
				{Value: "null", Doc: "null"},
			},
		},
	},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "an object", Source: `is_json("{}")`, Result: `true`},
		{Title: "not complete", Source: `is_json("{")`, Result: `false`},
		{Title: "of another kind", Source: `is_json("{}", variant: "array")`, Result: `false`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		v, _ := c.Const(1)
		variant := v.Str()
		return fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
			s := v.Str()
			if variant != "" && jsonVariant(s) != variant {
				return value.NewBool(false), true
			}
			// json.Valid only reads the bytes.
			return value.NewBool(json.Valid(unsafe.Slice(unsafe.StringData(s), len(s)))), true
		}}, nil
	},
}

// jsonVariant returns the kind of a JSON text, judging by the first character.
func jsonVariant(s string) string {
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			continue
		case '{':
			return "object"
		case '[':
			return "array"
		case '"':
			return "string"
		case 't', 'f':
			return "bool"
		case 'n':
			return "null"
		default:
			if c == '-' || c >= '0' && c <= '9' {
				return "number"
			}
		}
		break
	}
	return ""
}

var isNullish = &fn.Function{
	Name:    "is_nullish",
	Group:   fn.Type,
	Doc:     "Returns whether the value is null, the string \"-\", or a string that is empty or only white space.",
	Params:  []fn.Param{{Name: "value", Doc: "The value to check.", Kind: kind.Any, Borrow: true}},
	Returns: kind.Boolean,
	Examples: []fn.Example{
		{Title: "the dash of access logs", Source: `is_nullish("-")`, Result: `true`},
		{Title: "white space", Source: `is_nullish(" \n")`, Result: `true`},
		{Title: "a number is not nullish", Source: `is_nullish(0)`, Result: `false`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		return value.NewBool(v.Nullish()), true
	}},
}

var tagTypesExternally = &fn.Function{
	Name:  "tag_types_externally",
	Group: fn.Type,
	Doc: "Wraps each scalar in an object with its kind as the key: string, integer, float, boolean, timestamp or regex. " +
		"In objects and arrays, each value is treated in this way; null stays null.",
	Params: []fn.Param{{Name: "value", Doc: "The value to tag.", Kind: kind.Any}},
	Deep:   true,
	Examples: []fn.Example{
		{Title: "a number", Source: `tag_types_externally(1)`, Result: `{"integer":1}`},
		{Title: "an object", Source: `tag_types_externally({"a": ["x", null]})`, Result: `{"a":[{"string":"x"},null]}`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		k := c.Kind(0).Defined()
		out := kind.Never
		if k.Has(kind.ArrayBit) {
			out = out.Union(kind.Array)
		}
		if k.Has(kind.NullBit) {
			out = out.Union(kind.Null)
		}
		if !k.Within(kind.ArrayBit | kind.NullBit) {
			out = out.Union(kind.Object)
		}
		return fn.TypeDef{Kind: out}
	},
	Impl: fn.Impl{F1: tagTypes},
}

func tagTypes(f *fn.Frame, v value.Value) (value.Value, bool) {
	switch v.Kind() {
	case value.Null, value.Undefined:
		return value.Value{}, true
	case value.Array, value.Object:
		return value.Map(v, func(x value.Value) (value.Value, bool) { return tagTypes(f, x) })
	}
	if !f.Reserve(value.FieldBytes) {
		return value.Value{}, false
	}
	o := value.MakeFields(1)
	o.Add(v.Kind().String(), v)
	return o.Value(), true
}

var typeDef = &fn.Function{
	Name:  "type_def",
	Group: fn.Type,
	Doc: "Returns the kinds that the compiler expects for the value, as an object with a field for each " +
		"possible kind. Use it to find out why a program does not compile.",
	Params: []fn.Param{{Name: "value", Doc: "The expression whose kind is returned.", Kind: kind.Any, Borrow: true}},
	Examples: []fn.Example{
		{Title: "a number", Source: `type_def(42)`, Result: `{"integer":true}`},
		{Title: "one of two", Source: `type_def({ if .a == 1 { "x" } })`, Result: `{"bytes":true,"null":true}`},
	},
	Type: func(*fn.Call) fn.TypeDef { return fn.TypeDef{Kind: kind.Value} },
	Compile: func(c *fn.Call) (fn.Impl, error) {
		known := describeKind(c.Kind(0)).Freeze()
		// The expression itself is not evaluated.
		return fn.Impl{Raw: func(*fn.Frame) (value.Value, bool) { return known, true }}, nil
	},
}

// scalarKinds are the kinds that a description only names.
var scalarKinds = []struct {
	name string
	bit  kind.Set
}{
	{"boolean", kind.BooleanBit},
	{"bytes", kind.StringBit},
	{"float", kind.FloatBit},
	{"integer", kind.IntegerBit},
	{"null", kind.NullBit},
	{"regex", kind.RegexBit},
	{"timestamp", kind.TimestampBit},
	{"undefined", kind.UndefinedBit},
}

// describeKind returns an object that describes a kind. Known fields of objects are in the member object. If other
// fields may exist, their kind is in object_unknown_exact if it is known, and in object_unknown_infinite otherwise.
// Arrays are described in the same way.
func describeKind(k kind.Kind) value.Value {
	yes := value.NewBool(true)
	switch {
	case k.IsAny():
		return value.ObjectOf(value.Field{Key: "any", Value: yes})
	case k.IsNever():
		return value.ObjectOf(value.Field{Key: "never", Value: yes})
	}
	o := value.MakeFields(4)
	for _, s := range scalarKinds {
		if k.Has(s.bit) {
			o.Set(s.name, yes)
		}
	}
	others := func(name string, x kind.Kind, ok bool) {
		switch {
		case !ok:
		case x.IsAny():
			o.Set(name+"_unknown_infinite", describeKind(x))
		case kind.JSON.Includes(x) && x.Includes(kind.JSON):
			o.Set(name+"_unknown_infinite", value.ObjectOf(value.Field{Key: "json", Value: yes}))
		case x.Has(kind.ObjectBit | kind.ArrayBit):
			o.Set(name+"_unknown_exact", describeKind(x.OrUndefined()))
		default:
			o.Set(name+"_unknown_infinite", describeKind(x.OrUndefined()))
		}
	}
	if fields := k.Only(kind.ObjectBit).Object(); fields != nil {
		known := value.MakeFields(len(fields.Known()))
		for _, f := range fields.Known() {
			known.Set(f.Name, describeKind(f.Kind))
		}
		o.Set("object", known.Value())
		x, ok := fields.Unknown()
		others("object", x, ok)
	}
	if elems := k.Only(kind.ArrayBit).Array(); elems != nil {
		known := value.MakeFields(len(elems.Known()))
		for i, e := range elems.Known() {
			known.Set(strconv.Itoa(i), describeKind(e))
		}
		o.Set("array", known.Value())
		x, ok := elems.Unknown()
		others("array", x, ok)
	}
	return o.Value()
}
