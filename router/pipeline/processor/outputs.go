package processor

import "cordwood/router/vrl/value"

// EachStringWith is EachString for processors that prepare something for every field of
// the list, such as the names of the fields that they write. prepare is called once for
// each.
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

// spread takes the fields that a processor finds in a text. They become fields of the
// record; but where the field list gives a new name, members of an object of that name.
type spread struct {
	rec    *Record
	fl     *Field
	prefix string
	into   *value.Fields
}

// spread begins to take what is found in the field fl. Until done, nothing else may be
// done with the record.
func (r *Record) spread(fl *Field, prefix string) spread {
	s := spread{rec: r, fl: fl, prefix: prefix}
	if fl.Renamed {
		s.into = value.MakeFields(16)
	} else {
		s.into = r.Value.MutObject()
	}
	return s
}

// add takes a field. If two have the same name, the later one counts. It replaces a field that the
// record has.
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
