package processor

import (
	"errors"

	"cordwood/router/vrl/value"
)

// compileJSONParse: json_parse parses strings that contain a JSON object or array.
//
//	into_root:     false (default): the value takes the place of the string, or stands
//	               under the name that the field list gives.
//	               true: the members of an object become fields of the record and replace
//	               those of the same name; an array is an error.
//	remove_source: true removes the string itself; default false. Only with into_root,
//	               and before the members come, so that one of the same name stays.
//
// An integer outside int64 is an error, because a field cannot hold it, and a float would be another number.
//
// null does not count as missing. It is an error, because it has the wrong type.
func compileJSONParse(o *Options) Apply {
	fields := o.Fields()
	intoRoot, remove := o.Bool("into_root", false), o.Bool("remove_source", false)
	if remove && !intoRoot {
		o.Get("remove_source").Fault("remove_source goes with into_root: true")
	}
	for _, f := range fields.List {
		if intoRoot && f.Renamed {
			o.Fault("with into_root the field %q cannot have a new name, %q", Cut(f.In.Text), Cut(f.Out.Text))
		}
	}
	return fields.EachPresent(func(rec *Record, fl *Field, v value.Value) error {
		if !v.IsString() {
			return rec.WrongType(fl.In.Text, v, "a string")
		}
		parsed, err := parseJSON(rec, fl, v)
		if err != nil {
			return err
		}
		if k := parsed.Kind(); k != value.Object && (k != value.Array || intoRoot) {
			return rec.Fail(fl.In.Text, v, "expected %s, found %s", expectedJSON(intoRoot), article(k))
		}
		if !intoRoot {
			rec.Set(fl.Out, parsed)
			return nil
		}
		if remove {
			rec.Delete(fl.In)
		}
		root := rec.Value.MutObject()
		for _, f := range parsed.Object().Peek() { // no other code uses parsed
			root.Add(f.Key, f.Value)
		}
		root.Sort()
		return nil
	})
}

// parseJSON parses the text v of the field fl, within the budget of the record.
func parseJSON(rec *Record, fl *Field, v value.Value) (value.Value, error) {
	// A number with two characters takes 24 bytes. For most texts the factor is much smaller.
	if err := rec.Reserve(4 * v.Len()); err != nil {
		return v, err
	}
	if err := rec.Spend(v.Len() / 8); err != nil {
		return v, err
	}
	parsed, err := value.ParseJSON(v.Str(), value.JSONOptions{Exact: true, Vanished: rec.vanished()})
	if e := (*value.JSONError)(nil); errors.As(err, &e) && e.Problem == value.BigInteger {
		return v, rec.Fail(fl.In.Text, v, "%s; send it as text", err)
	}
	if err != nil {
		return v, rec.Fail(fl.In.Text, v, "invalid JSON: %s", err)
	}
	return parsed, nil
}

func expectedJSON(intoRoot bool) string {
	if intoRoot {
		return "a JSON object"
	}
	return "a JSON object or array"
}
