package processor

import "cordwood/router/vrl/value"

// EachStringWith is like EachString, for processors that prepare data for each field of the list, such as the names of
// the fields that they write. prepare is called once for each field.
func (fs Fields) EachStringWith(prepare func(fl Field) func(rec *Record, s string) error) Apply {
	steps := make([]Apply, len(fs.List))
	for i, fl := range fs.List {
		one := Fields{fs.List[i : i+1], fs.IgnoreMissing}
		f := prepare(fl)
		steps[i] = one.EachString(func(rec *Record, _ *Field, s string) error { return f(rec, s) })
	}
	if len(steps) == 1 {
		return steps[0]
	}
	return func(rec *Record) error {
		for _, step := range steps {
			if err := step(rec); err != nil {
				return err
			}
		}
		return nil
	}
}

// spread receives the fields that a processor finds in a text. They become fields of the record or, if the field
// list gives a new name, members of an object with that name.
type spread struct {
	rec    *Record
	fl     *Field
	prefix string
	into   *value.Fields
}

// spread starts a spread for the field fl. The record must not be used otherwise until done is called.
func (r *Record) spread(fl *Field, prefix string) spread {
	s := spread{rec: r, fl: fl, prefix: prefix}
	if fl.Renamed {
		s.into = value.MakeFields(16)
	} else {
		s.into = r.Value.MutObject()
	}
	return s
}

// add adds a field. If a name is repeated, the last one counts. It replaces an existing field of the record.
func (s *spread) add(key string, v value.Value) {
	if s.prefix != "" {
		b := append(s.rec.Scratch[:0], s.prefix...)
		s.rec.Scratch = append(b, key...)
		key = s.rec.TextOf(s.rec.Scratch)
	}
	s.into.Add(key, v)
}

// done must be called at the end, also after an error.
func (s *spread) done() {
	s.into.Sort()
	if s.fl.Renamed {
		s.rec.Set(s.fl.Out, s.into.Value())
	}
}
