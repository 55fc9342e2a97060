package processor

import (
	"strings"

	"cordwood/router/vrl/value"
)

// compileSimpleExtract: simple_extract extracts a value from an object.
//
//	key: names of members joined by dots, as in a.b.c; "" (default) is the object itself
//
// A missing value becomes null. Only objects are searched, not arrays. The field itself must be an object, so null
// is an error and does not count as missing. With an empty key, it may be anything except null.
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
