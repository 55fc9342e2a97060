// Package strict checks protobuf messages of files and logs for unknown fields. Such a field must
// never be skipped: a newer version wrote it, and it has a meaning.
package strict

import "google.golang.org/protobuf/reflect/protoreflect"

// Unknown returns the type of a message within m that has a field which this version does not know,
// or nil.
func Unknown(m protoreflect.Message) (kind protoreflect.MessageDescriptor) {
	if len(m.GetUnknown()) > 0 {
		return m.Descriptor()
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() || fd.Message() == nil: // our maps have string values
		case fd.IsList():
			for i := 0; i < v.List().Len() && kind == nil; i++ {
				kind = Unknown(v.List().Get(i).Message())
			}
		default:
			kind = Unknown(v.Message())
		}
		return kind == nil
	})
	return kind
}
