package processor

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
