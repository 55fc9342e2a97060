package processor

import (
	"cordwood/router/vrl/value"
)

// compileJoin: join joins the elements of an array into a string.
//
//	separator: the text between the elements, required, may be empty
//
// Elements that are not strings are converted to text, arrays and objects to JSON.
func compileJoin(o *Options) Apply {
	fields := o.Fields()
	separator, _ := o.MustString("separator")
	if len(separator) > maxSeparatorBytes {
		o.Fault("separator has %d bytes, at most %d are allowed", len(separator), maxSeparatorBytes)
	}
	return fields.Each(func(rec *Record, fl *Field, v value.Value) error {
		list := v.Array()
		if list == nil {
			return rec.WrongType(fl.In.Text, v, "an array")
		}
		if list.Len() == 1 && list.PeekAt(0).IsString() {
			rec.Set(fl.Out, list.PeekAt(0))
			return nil
		}
		if err := rec.Reserve(list.Len()*len(separator) + 8*value.Weight(v, 1<<30)); err != nil {
			return err
		}
		b := rec.Scratch[:0]
		for i, x := range list.Peek() {
			if i > 0 {
				b = append(b, separator...)
			}
			b = appendText(b, x)
		}
		rec.Scratch = b
		rec.Set(fl.Out, rec.Text(b))
		return nil
	})
}

// appendText appends v as text: strings unchanged, times in RFC 3339, other scalars in their usual form, arrays and
// objects as JSON.
func appendText(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.String:
		return append(dst, v.Str()...)
	case value.Float:
		return value.AppendPlainFloat(dst, v.Float())
	case value.Timestamp:
		return value.AppendTime(dst, v.Time())
	}
	return value.AppendJSON(dst, v)
}
