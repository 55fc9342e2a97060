package codec

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var encodeProto = &fn.Function{
	Name:  "encode_proto",
	Group: fn.Codec,
	Doc: "Writes an object as a message in protocol buffer format by its descriptor. " +
		"Fields that the type does not have, and fields that are null, are left out.",
	Params: []fn.Param{
		{Name: "value", Doc: "The object.", Kind: kind.Any, Borrow: true},
		protoParams[0], protoParams[1],
		{
			Name: "allow_lossy_string_coercion",
			Doc: "Whether numbers, booleans and timestamps are converted to text for fields of type string. Otherwise the " +
				"call fails.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
		},
	},
	Returns:  kind.String,
	Fallible: true,
	Deep:     true,
	Errors: []string{
		"the value is not an object", "the value of a field is not of its type",
		"the host does not let programs read files",
	},
	Examples: []fn.Example{
		{
			Title:  "reading files is not permitted",
			Source: `encode_proto({}, "person.desc", "acme.Person") ?? "refused"`,
			Result: `"refused"`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		md, err := protoDescriptor(c, 1, 2)
		if err != nil {
			return fn.Impl{}, err
		}
		if md == nil {
			return fn.Refuse("encode_proto", fn.Files), nil
		}
		return fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
			v := args[0]
			if v.Kind() != value.Object {
				return f.FailKind("object", v)
			}
			if !f.Reserve(64 * value.Size(v, f.Left().Bytes/64+1)) {
				return value.Value{}, false
			}
			w := protoWriter{lossy: args[3].Bool()}
			m, err := w.message(md, v, 0)
			if err != nil {
				return f.FailErr("unable to encode protobuf: ", err)
			}
			size := proto.Size(m)
			if !f.Reserve(size) {
				return value.Value{}, false
			}
			b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(make([]byte, 0, size), m)
			if err != nil {
				return f.FailErr("unable to encode protobuf: ", err)
			}
			return value.NewBytes(b), true
		}}, nil
	},
}

// A protoWriter converts values to messages.
type protoWriter struct {
	// lossy converts other scalars to text for fields of type string.
	lossy bool
}

// message converts an object or a timestamp to a message.
func (w protoWriter) message(d protoreflect.MessageDescriptor, v value.Value, depth int) (proto.Message, error) {
	m := dynamicpb.NewMessage(d)
	if depth > maxProtoDepth {
		return nil, fmt.Errorf("messages are nested more than %d deep", maxProtoDepth)
	}
	if v.Kind() == value.Timestamp && d.FullName() == "google.protobuf.Timestamp" {
		sec, nsec := v.Unix()
		m.Set(d.Fields().ByName("seconds"), protoreflect.ValueOfInt64(sec))
		m.Set(d.Fields().ByName("nanos"), protoreflect.ValueOfInt32(int32(nsec)))
		return m, nil
	}
	o := v.Object()
	if o == nil {
		return nil, mismatch("a message", v)
	}
	for _, x := range o.Peek() {
		field := d.Fields().ByName(protoreflect.Name(x.Key))
		if field == nil {
			field = d.Fields().ByJSONName(x.Key)
		}
		if field == nil || x.Value.IsNull() {
			continue
		}
		if err := w.field(m, field, x.Value, depth); err != nil {
			return nil, fmt.Errorf("field %s: %w", field.FullName(), err)
		}
	}
	return m, nil
}

// field sets a field of m.
func (w protoWriter) field(m protoreflect.Message, d protoreflect.FieldDescriptor, v value.Value, depth int) error {
	switch {
	case d.IsMap():
		o := v.Object()
		if o == nil {
			return mismatch("a map", v)
		}
		entries := m.Mutable(d).Map()
		for _, x := range o.Peek() {
			key, err := mapKey(d.MapKey(), x.Key)
			if err != nil {
				return err
			}
			one, err := w.single(d.MapValue(), x.Value, depth)
			if err != nil {
				return err
			}
			entries.Set(key, one)
		}
		return nil
	case d.IsList():
		a := v.Array()
		if a == nil {
			return mismatch("a repeated field", v)
		}
		list := m.Mutable(d).List()
		for _, x := range a.Peek() {
			one, err := w.single(d, x, depth)
			if err != nil {
				return err
			}
			list.Append(one)
		}
		return nil
	}
	one, err := w.single(d, v, depth)
	if err != nil {
		return err
	}
	m.Set(d, one)
	return nil
}

// mapKey converts the name of a field to the key of a map.
func mapKey(d protoreflect.FieldDescriptor, s string) (protoreflect.MapKey, error) {
	if d.Kind() == protoreflect.StringKind {
		return protoreflect.ValueOfString(value.Lossy(s)).MapKey(), nil
	}
	if d.Kind() == protoreflect.BoolKind {
		b, err := strconv.ParseBool(s)
		return protoreflect.ValueOfBool(b).MapKey(), err
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return protoreflect.MapKey{}, fmt.Errorf("key %q is not an integer", s)
	}
	x, err := integerOf(d.Kind(), i)
	if err != nil {
		return protoreflect.MapKey{}, err
	}
	return x.MapKey(), nil
}

// single converts a value to a field that is not repeated, or to an element of a repeated one.
func (w protoWriter) single(d protoreflect.FieldDescriptor, v value.Value, depth int) (protoreflect.Value, error) {
	none := protoreflect.Value{}
	switch d.Kind() {
	case protoreflect.BoolKind:
		if v.Kind() == value.Bool {
			return protoreflect.ValueOfBool(v.Bool()), nil
		}
	case protoreflect.StringKind:
		switch {
		case v.IsString():
			return protoreflect.ValueOfString(v.Text()), nil
		case w.lossy && slices.Contains([]value.Kind{value.Bool, value.Int, value.Float, value.Timestamp}, v.Kind()):
			return protoreflect.ValueOfString(scalarText(v)), nil
		}
	case protoreflect.BytesKind:
		if v.IsString() {
			return protoreflect.ValueOfBytes([]byte(v.Str())), nil
		}
	case protoreflect.EnumKind:
		switch v.Kind() {
		case value.String:
			if e := d.Enum().Values().ByName(protoreflect.Name(v.Str())); e != nil {
				return protoreflect.ValueOfEnum(e.Number()), nil
			}
			return none, fmt.Errorf("%s has no value %q", d.Enum().FullName(), v.Text())
		case value.Int:
			if i := v.Int(); i >= math.MinInt32 && i <= math.MaxInt32 {
				return protoreflect.ValueOfEnum(protoreflect.EnumNumber(i)), nil
			}
			return none, errRange
		}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		if x, ok := v.Number(); ok {
			if d.Kind() == protoreflect.FloatKind {
				return protoreflect.ValueOfFloat32(float32(x)), nil
			}
			return protoreflect.ValueOfFloat64(x), nil
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		m, err := w.message(d.Message(), v, depth+1)
		if err != nil {
			return none, err
		}
		return protoreflect.ValueOfMessage(m.ProtoReflect()), nil
	default:
		if v.Kind() == value.Int {
			return integerOf(d.Kind(), v.Int())
		}
		if v.Kind() == value.Timestamp {
			sec, _ := v.Unix()
			return integerOf(d.Kind(), sec)
		}
	}
	return none, mismatch("a field of type "+d.Kind().String(), v)
}

var errRange = errors.New("the number does not fit the field's type")

// integerOf converts an integer to the type of a field.
func integerOf(k protoreflect.Kind, i int64) (protoreflect.Value, error) {
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		if i >= math.MinInt32 && i <= math.MaxInt32 {
			return protoreflect.ValueOfInt32(int32(i)), nil
		}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if i >= 0 && i <= math.MaxUint32 {
			return protoreflect.ValueOfUint32(uint32(i)), nil
		}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if i >= 0 {
			return protoreflect.ValueOfUint64(uint64(i)), nil
		}
	default:
		return protoreflect.ValueOfInt64(i), nil
	}
	return protoreflect.Value{}, errRange
}

// scalarText converts a scalar to a string as the language does.
func scalarText(v value.Value) string {
	switch v.Kind() {
	case value.Float:
		return string(value.AppendPlainFloat(nil, v.Float()))
	case value.Timestamp:
		return string(value.AppendTime(nil, v.Time()))
	}
	return string(value.AppendJSON(nil, v))
}

// mismatch returns the error for a value of the wrong type.
func mismatch(want string, v value.Value) error {
	return fmt.Errorf("%s cannot be created from a value of kind %s", want, v.Kind())
}
