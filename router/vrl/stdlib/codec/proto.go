package codec

import (
	"fmt"
	"math"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxDescriptor limits the size of a file of descriptors, and maxProtoDepth how deep messages may be nested.
const (
	maxDescriptor = 16 << 20
	maxProtoDepth = 100
)

// protoParams are the parameters that select the message type of a call.
var protoParams = []fn.Param{
	{
		Name: "desc_file",
		Doc:  "The path of a file from `protoc --include_imports -o`. It is read when the program is compiled.",
		Kind: kind.String, Constant: true,
	},
	{Name: "message_type", Doc: "The full name of the message type.", Kind: kind.String, Constant: true},
}

// protoDescriptor returns the message type of a call. The arguments file and name are the path of a descriptor set
// and the name of the type. It returns nil if the host does not let programs read files.
func protoDescriptor(c *fn.Call, file, name int) (protoreflect.MessageDescriptor, error) {
	path, ok := c.Const(file)
	if !ok {
		return nil, c.NotConstant(file)
	}
	message, ok := c.Const(name)
	if !ok {
		return nil, c.NotConstant(name)
	}
	if c.Host.Grants&fn.Files == 0 {
		return nil, nil
	}
	set, err := readDescriptors(path.Str())
	if err != nil {
		return nil, c.BadArgument(file, "%v", err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, c.BadArgument(file, "descriptor file %s: %v", path.Str(), err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(message.Str()))
	if err != nil {
		return nil, c.BadArgument(name, "message type %s is not in the descriptor file", message.Str())
	}
	md, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, c.BadArgument(name, "%s is not a message type", message.Str())
	}
	return md, nil
}

func readDescriptors(path string) (*descriptorpb.FileDescriptorSet, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("unable to read descriptor file: %w", err)
	}
	if info.Size() > maxDescriptor {
		return nil, fmt.Errorf("descriptor file %s is larger than %d bytes", path, maxDescriptor)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unable to read descriptor file: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, set); err != nil {
		return nil, fmt.Errorf("descriptor file %s is not a set of descriptors: %w", path, err)
	}
	return set, nil
}

// fromMessage returns the object of a message. Fields that are not set are left out.
func fromMessage(m protoreflect.Message) value.Value {
	b := value.MakeFields(8)
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		b.Add(string(d.Name()), fromField(d, v))
		return true
	})
	b.Sort()
	return b.Value()
}

func fromField(d protoreflect.FieldDescriptor, v protoreflect.Value) value.Value {
	switch {
	case d.IsMap():
		b := value.MakeFields(v.Map().Len())
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			b.Add(k.String(), fromSingle(d.MapValue(), v))
			return true
		})
		b.Sort()
		return b.Value()
	case d.IsList():
		list := make([]value.Value, v.List().Len())
		for i := range list {
			list[i] = fromSingle(d, v.List().Get(i))
		}
		return value.NewArray(list)
	}
	return fromSingle(d, v)
}

// fromSingle returns the value of a field that is not repeated.
func fromSingle(d protoreflect.FieldDescriptor, v protoreflect.Value) value.Value {
	switch d.Kind() {
	case protoreflect.BoolKind:
		return value.NewBool(v.Bool())
	case protoreflect.EnumKind:
		if e := d.Enum().Values().ByNumber(v.Enum()); e != nil {
			return value.NewString(string(e.Name()))
		}
		return value.NewInt(int64(v.Enum()))
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return value.NewFloat(v.Float())
	case protoreflect.StringKind:
		return value.NewString(v.String())
	case protoreflect.BytesKind:
		return value.NewBytes(v.Bytes())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if m := v.Message(); m.Descriptor().FullName() == "google.protobuf.Timestamp" {
			fields := m.Descriptor().Fields()
			nanos := m.Get(fields.ByName("nanos")).Int()
			if nanos >= 0 && nanos < 1e9 {
				return value.NewUnix(m.Get(fields.ByName("seconds")).Int(), uint32(nanos))
			}
		}
		return fromMessage(v.Message())
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		if u := v.Uint(); u > math.MaxInt64 {
			return value.NewFloat(float64(u))
		}
		return value.NewInt(int64(v.Uint()))
	}
	return value.NewInt(v.Int())
}

var parseProto = &fn.Function{
	Name:  "parse_proto",
	Group: fn.Parse,
	Doc: "Parses a message in protocol buffer format by its descriptor. Enumerated values become their names, " +
		"and fields " +
		"that are not set are left out.",
	Params:   []fn.Param{fn.ValueParam("The bytes of the message."), protoParams[0], protoParams[1]},
	Returns:  kind.Object,
	Fallible: true,
	Errors:   []string{"the bytes are not a message of the type", "the host does not let programs read files"},
	Examples: []fn.Example{
		{
			Title:  "reading files is not permitted",
			Source: `parse_proto("", "person.desc", "acme.Person") ?? {}`,
			Result: `{}`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		md, err := protoDescriptor(c, 1, 2)
		if err != nil {
			return fn.Impl{}, err
		}
		if md == nil {
			return fn.Refuse("parse_proto", fn.Files), nil
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
			if !f.Reserve(32*v.Len()) || !f.Spend(v.Len()/4) {
				return value.Value{}, false
			}
			m := dynamicpb.NewMessage(md)
			if err := (proto.UnmarshalOptions{RecursionLimit: maxProtoDepth}).Unmarshal([]byte(v.Str()), m); err != nil {
				return f.FailErr("unable to parse protobuf: ", err)
			}
			return fromMessage(m), true
		}}, nil
	},
}
