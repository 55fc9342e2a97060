// Package strict reads protobuf messages of files and logs, in which a field that is
// not known must never be skipped: it was written by a newer version, and means
// something.
package strict

import "google.golang.org/protobuf/reflect/protoreflect"

// Unknown returns the kind of a message within m that has a field which this version
// does not know, or nil.
func Unknown(m protoreflect.Message) (kind protoreflect.MessageDescriptor) {
	if len(m.GetUnknown()) > 0 {
		return m.Descriptor()
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() || fd.Message() == nil: // our maps are of strings
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
