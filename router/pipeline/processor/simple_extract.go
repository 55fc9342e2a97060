package processor

import (
	"strings"

	"cordwood/router/vrl/value"
)

// compileSimpleExtract: simple_extract takes a value out of an object.
//
//	key: names of members joined by dots, as in a.b.c; "" (default) is the object itself
//
// What is not there becomes null. Only objects are entered, no arrays. The field itself
// must be an object, so that null is not a missing field but an error; with an empty key it
// may be anything but null.
func compileSimpleExtract(o *Options) Apply {
	fields := o.Fields()
	var path value.Path
	if n := o.Get("key"); n != nil {
		if key, ok := n.String(); ok && key != "" {
			for part := range strings.SplitSeq(key, ".") {
				if part == "" {
					n.Fault("the path %q has an empty part", Cut(key))
					break
				}
				path = append(path, value.Name(part))
			}
		}
	}
	return fields.EachPresent(func(rec *Record, fl *Field, v value.Value) error {
		if v.Kind() != value.Object && (len(path) > 0 || v.IsNull()) {
			return rec.WrongType(fl.In.Text, v, "an object")
		}
		found, ok := v.Get(path)
		if !ok {
			found = value.Value{}
		}
		rec.Set(fl.Out, found)
		return nil
	})
}
