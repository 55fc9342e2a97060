package processor

import (
	"cordwood/router/vrl"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// compileVRL: vrl runs a program on the record. The program's value takes the record's
// place: an object; an array, each element of which becomes a row; or null, which drops
// the record.
//
//	source: the program
func compileVRL(o *Options) Apply {
	source, ok := o.MustString("source")
	if !ok {
		return nil
	}
	at := o.Get("source")
	program, _, err := vrl.Compile(source, vrl.Options{})
	if err != nil {
		at.Fault("Failed to compile VRL, %s", err)
		return nil
	}
	switch result := program.Result(); {
	case result.Has(kind.RegexBit):
		at.Fault("the program's value may be a regular expression, which no column can hold; end it with `.`")
		return nil
	case !result.Has(kind.ObjectBit) && !result.Has(kind.ArrayBit):
		at.Fault("the program's value is %s, expected an object or an array; end it with `.`", result)
		return nil
	}
	return func(rec *Record) error {
		v, err := program.Run(&rec.Value, rec.metadata())
		if err != nil {
			if rec.Quiet {
				return errQuiet
			}
			return rec.Fail("", value.None, "Failed to execute VRL, %s", err)
		}
		switch v.Kind() {
		case value.Object, value.Array, value.Null:
			rec.Value = v
			return nil
		}
		return rec.Fail("", v, "the program's value must be map, or a list of maps, found %s", article(v.Kind()))
	}
}

// metadata is the metadata of the record for a program: none.
func (r *Record) metadata() *value.Value {
	if r.meta.Len() > 0 || r.meta.IsNull() {
		r.meta = value.NewObject(value.MakeFields(0))
	}
	return &r.meta
}
