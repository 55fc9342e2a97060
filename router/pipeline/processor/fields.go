package processor

import (
	"errors"
	"strings"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

// Field is an entry of a field list.
type Field struct {
	// In is the field that is read, and Out is the field that gets the result.
	In, Out Name
	// Renamed is set if the list gives Out.
	Renamed bool
}

// Fields is the field list of a processor.
type Fields struct {
	List []Field
	// IgnoreMissing skips fields that are missing or null. Otherwise they are errors.
	IgnoreMissing bool
}

// Fields reads the options field or fields, one of which must be given, and ignore_missing.
func (o *Options) Fields() Fields {
	fs := o.FieldList()
	fs.IgnoreMissing = o.Bool("ignore_missing", false)
	return fs
}

// FieldList reads the fields like Fields, for processors without the option ignore_missing.
func (o *Options) FieldList() Fields {
	key, n := o.OneOf("field", "fields")
	var fs Fields
	for _, p := range FieldPairs(o.Map, key, n) {
		fs.List = append(fs.List, Field{o.Name(p.In), o.Name(p.Out), p.Renamed})
		delete(o.list.Texts, p.Out)
	}
	return fs
}

// FieldPair is an entry of a field list as it is written.
type FieldPair struct {
	In, Out string
	Renamed bool
	Node    *document.Node
}

// FieldPairs reads the field list n, which is under the key field or fields of m: name, "name, new" or {key: name,
// rename_to: new}. Under fields it is a list of these. If n is nil, this is a fault of m.
func FieldPairs(m *document.Map, key string, n *document.Node) []FieldPair {
	switch {
	case n == nil:
		m.Fault(`"field" or "fields" is required`)
		return nil
	case key == "field" && !n.IsList():
		if p, ok := fieldPair(n); ok {
			return []FieldPair{p}
		}
		return nil
	case key == "fields" && (n.IsString() || n.IsMap()):
		if p, ok := fieldPair(n); ok { // a single entry may be written without a list
			return []FieldPair{p}
		}
		return nil
	case key == "field":
		n.Fault("expected one field; use fields for a list")
		return nil
	}
	list := n.List()
	if len(list) == 0 && n.IsList() {
		n.Fault("the list of fields is empty")
	}
	var pairs []FieldPair
	for _, e := range list {
		if p, ok := fieldPair(e); ok {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

func fieldPair(n *document.Node) (FieldPair, bool) {
	p := FieldPair{Node: n}
	if n.IsMap() {
		m := n.Map()
		var ok bool
		if p.In, ok = m.MustString("key"); !ok {
			return p, false
		}
		p.Out = m.String("rename_to", "")
		m.Done()
	} else {
		text, ok := n.String()
		if !ok {
			return p, false
		}
		parts := strings.Split(text, ",")
		p.In = strings.TrimSpace(parts[0])
		if len(parts) > 1 {
			p.Out = strings.TrimSpace(parts[1])
		}
	}
	if p.In == "" {
		n.Fault("the name of a field is empty")
		return p, false
	}
	p.Renamed = p.Out != ""
	if !p.Renamed {
		p.Out = p.In
	}
	return p, true
}

// Each returns an Apply that calls f for every field of the list that has a value.
func (fs Fields) Each(f func(rec *Record, fl *Field, v value.Value) error) Apply {
	return fs.each(f, true)
}

// EachPresent is like Each, for processors that also handle null.
func (fs Fields) EachPresent(f func(rec *Record, fl *Field, v value.Value) error) Apply {
	return fs.each(f, false)
}

func (fs Fields) each(f func(rec *Record, fl *Field, v value.Value) error, nullIsMissing bool) Apply {
	list, ignore := fs.List, fs.IgnoreMissing
	return func(rec *Record) error {
		if rec.Value.Object() == nil {
			return rec.errNotMap()
		}
		for i := range list {
			fl := &list[i]
			v, ok := rec.Get(fl.In)
			if !ok || nullIsMissing && v.IsNull() {
				if ignore {
					continue
				}
				return rec.Missing(fl.In.Text)
			}
			if err := rec.spendOn(v); err != nil {
				return err
			}
			if err := rec.spendOnSet(); err != nil {
				return err
			}
			if err := f(rec, fl, v); err != nil {
				return err
			}
		}
		return nil
	}
}

// EachString is like Each, for fields that must be strings.
func (fs Fields) EachString(f func(rec *Record, fl *Field, s string) error) Apply {
	return fs.Each(func(rec *Record, fl *Field, v value.Value) error {
		if !v.IsString() {
			return rec.WrongType(fl.In.Text, v, "a string")
		}
		return f(rec, fl, v.Str())
	})
}

// MapStrings returns an Apply that replaces each field, a string, with the result of f, or stores the result under the
// new name in the list. An error of f needs to describe only the fault, because MapStrings adds the field and the
// value.
func (fs Fields) MapStrings(f func(rec *Record, s string) (value.Value, error)) Apply {
	return fs.EachString(func(rec *Record, fl *Field, s string) error {
		v, err := f(rec, s)
		if err != nil {
			if e := (*Error)(nil); errors.As(err, &e) {
				return err // the error is already complete
			}
			return rec.Fail(fl.In.Text, value.NewString(s), "%s", err)
		}
		if n := v.Len(); n > largeText {
			if err := rec.Reserve(n); err != nil {
				return err
			}
		}
		rec.Set(fl.Out, v)
		return nil
	})
}
