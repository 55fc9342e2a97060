package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/value"
)

// storeMany stores the elements of an array, each as a row: all or none of them. With Request.SkipError and without
// WholeRecords, it stores those that do not fail.
func (r *runner) storeMany(v value.Value) error {
	r.marks = r.marks[:0]
	top := r.top()
	for i, e := range v.Array().Peek() {
		before, lost := top.notes, top.lost
		d, err := r.storeElement(i, e)
		if err != nil {
			if e.Kind() == value.Object && !r.rec.Quiet {
				err = &elementError{i, err}
			}
			if !r.skipsElement(err) {
				return r.undo(err)
			}
			top.notes, top.lost = before, lost
			r.refuseElement(err)
			continue
		}
		r.marks = append(r.marks, mark{d, d.rows.Rows() - 1})
	}
	for _, m := range r.marks {
		if err := m.d.endRecord(); err != nil {
			return err
		}
	}
	return nil
}

// elementError is the error for one row of a record that a processor turned into several rows.
type elementError struct {
	index int
	err   error
}

func (e *elementError) Error() string {
	return fmt.Sprintf("element %d of the list that the processors made: %v", e.index, e.err)
}

func (e *elementError) Unwrap() error { return e.err }

func (r *runner) storeElement(i int, e value.Value) (*dest, error) {
	if e.Kind() != value.Object {
		return nil, &kindError{SkipProcessor, errs.New(errs.InvalidArguments,
			"element %d of the list that the processors made must be a map: %s", i, processor.Describe(e))}
	}
	r.rec.Value = e
	return r.store()
}

// skipsElement reports whether a failed element is skipped and the others are stored.
func (r *runner) skipsElement(err error) bool {
	f := (*fatal)(nil)
	return r.req.SkipError && !r.req.WholeRecords && !errors.As(err, &f)
}

// refuseElement counts a skipped element.
func (r *runner) refuseElement(err error) {
	if r.trace != nil {
		r.trace.refused(err)
	}
	r.top().skips.add(r.records, err, r.req.OnSkip)
}

func (r *runner) undo(err error) error {
	for i := len(r.marks) - 1; i >= 0; i-- {
		r.marks[i].d.rewind(r.marks[i].rows)
	}
	return err
}

// store makes a row from the object after the processors: it converts the listed columns, reads the variables,
// finds the table, and writes the row.
func (r *runner) store() (*dest, error) {
	rec := r.rec
	r.conv.text = r.conv.text[:0]
	r.timeCut = false
	if r.seen != nil {
		r.seen.note(r.p, rec)
	}
	for i, c := range r.p.transform {
		if err := c.read(&r.cells[i], rec, &r.conv); err != nil {
			if rec.Quiet {
				return nil, errSkippedTransform
			}
			return nil, &kindError{SkipTransform, err}
		}
		switch {
		case r.conv.loss == lossNone:
		case i == r.p.timeAt && r.conv.loss == lossUnit:
			r.timeCut = true // counted once, together with digits that the table's column cannot hold
		default:
			r.noteLoss(r.conv.loss, c.column.Name)
		}
	}
	d, err := r.findDest(rec)
	if err != nil {
		return nil, err
	}
	if d.err != nil {
		return nil, d.err
	}
	d.texts = 0
	if err := r.storeRow(d, rec); err != nil {
		d.drop()
		return nil, err
	}
	if err := d.grew(d.texts); err != nil {
		return nil, &fatal{err}
	}
	if r.trace != nil {
		r.trace.row(r, d)
	}
	return d, nil
}

// findDest finds the table of a record by its variables and the suffix template.
func (r *runner) findDest(rec *processor.Record) (*dest, error) {
	opts, suffix := r.base, r.suffix[:0]
	hasSuffix := false
	if r.readVariables(rec.Value.Object()) {
		if r.trace != nil {
			r.trace.variables(r, rec.Value)
		}
		var err error
		if opts, err = r.optionsFor(&r.vars); err != nil {
			return nil, WithKind(SkipOption, err)
		}
		if hasSuffix = r.vars.set[varSuffix]; hasSuffix {
			suffix = append(suffix, r.vars.text[varSuffix]...)
		}
	}
	if t := r.p.suffix; t != nil && !hasSuffix {
		suffix = t.append(suffix, rec)
	}
	r.suffix = suffix
	if d := r.last; d != nil && d.opts == opts && d.table[len(r.req.Table):] == string(suffix) {
		return d, nil
	}
	d, err := r.destFor(suffix, opts)
	if err == nil {
		r.last = d
	}
	return d, err
}

// readVariables reads the texts of the variables that a record sets into r.vars, and
// reports whether there are any.
func (r *runner) readVariables(o *value.Fields) bool {
	if h := o.Shape(); h != nil && r.isPlain(h) {
		return false
	}
	i, _ := o.Find("svc_")
	found := false
	for ; i < o.Len(); i++ {
		key := o.Key(i)
		if !strings.HasPrefix(key, "svc_") {
			break
		}
		k := variableOf(bytesOf(key))
		if k < 0 {
			continue
		}
		v := o.PeekAt(i)
		if v.IsNull() || r.p.flatten && v.Kind() == value.Object && r.req.MaxNestedLevels > 1 {
			continue // not set, or an ordinary object
		}
		if !found {
			found = true
			r.vars.set = [varCount]bool{}
		}
		text, ok := r.conv.string(v)
		if v.Kind() == value.Float {
			text = r.conv.json(v) // like svc_identity
		}
		if !ok {
			continue
		}
		r.vars.set[k], r.vars.text[k] = true, text
	}
	return found
}

// recordTime returns the time of a record in r.timeUnit.
func (r *runner) recordTime(rec *processor.Record) (int64, error) {
	p := r.p
	if p.timeAt >= 0 {
		if c := &r.cells[p.timeAt]; c.kind != kindNone {
			return c.i, nil
		}
		if c := p.transform[p.timeAt]; !c.now {
			if rec.Quiet {
				return 0, errQuiet
			}
			return 0, errs.New(errs.InvalidArguments, "time index %q must not be null: field %q is missing, null or not a time",
				c.column.Name, c.in.Text)
		}
		return r.nowIn(), nil
	}
	if p.timeField.Text == "" {
		return r.nowIn(), nil
	}
	v, ok := rec.Get(p.timeField)
	switch {
	case !ok || v.IsNull():
	case v.Kind() == value.Timestamp:
		t, ok := instant(v, r.timeUnit)
		if !ok {
			return 0, errs.New(errs.InvalidArguments, "time index %q: %s is out of the range of a %s, which is %s", r.timeName,
				processor.Describe(v), r.timeUnit, r.timeUnit.TimeSpan())
		}
		r.timeCut = finerInstant(v, r.timeUnit)
		return t, nil
	case p.transform == nil && p.timeName != "":
		if rec.Quiet {
			return 0, errQuiet
		}
		return 0, errs.New(errs.InvalidArguments, "time index %q: expected a timestamp after all processors, found %s: %s%s",
			r.timeName, v.Kind(), processor.Describe(v), timeAdvice(v, r.timeUnit))
	default:
		r.top().notes.replaced++
	}
	return r.nowIn(), nil
}

// nowIn returns the time for a record without a time, in r.timeUnit.
func (r *runner) nowIn() int64 {
	t, _ := convertTime(r.moment(), schema.TimestampNanosecond, r.timeUnit)
	return t
}

// storeRow writes the row. After an error the caller must drop it.
func (r *runner) storeRow(d *dest, rec *processor.Record) error {
	row := d.rows.Rows()
	if r.p.flatten {
		return r.storeFlat(d, rec.Value.Object(), row)
	}
	t, err := r.recordTime(rec)
	if err != nil {
		return &kindError{SkipTimeIndex, err}
	}
	for i, c := range r.p.transform {
		if i == r.p.timeAt || r.cells[i].kind == kindNone {
			continue
		}
		if err := d.putListed(d.listed[c.at], row, &r.cells[i], c.column.Type); err != nil {
			return err
		}
	}
	if r.p.OpenSchema() {
		if err := r.storeRest(d, rec.Value.Object(), row); err != nil {
			return err
		}
	}
	return d.end(t)
}

// putListed writes a value that was converted to type t.
func (d *dest) putListed(col *column.Col, row int, v *cell, t schema.Type) error {
	if col.Type == t {
		switch {
		case t.IsBytes():
			return d.putBytes(col, row, v.bytes)
		case t.IsFloat():
			col.SetFloat(row, v.f)
		default:
			col.SetInt(row, v.i)
		}
		return nil
	}
	if v.kind == kindTime {
		v.unit = t
	}
	if t == schema.Uint64 && v.i < 0 {
		v.kind = kindUint
	}
	return d.store(col, row, v)
}

// storeRest writes the fields that are not listed, each with the type of its value. The guesses and the fields are
// sorted by key, so both are traversed in parallel.
func (r *runner) storeRest(d *dest, o *value.Fields, row int) error {
	if h := o.Shape(); h != nil {
		return r.storeShaped(d, h, o.Values(), row)
	}
	fields := o.Peek()
	if len(d.guess) > maxGuesses+len(fields) {
		d.guess = d.guess[:0]
	}
	at := 0
	for i := range fields {
		f := &fields[i]
		if f.Value.IsNull() {
			continue // checked first, because fields without a value must not create guesses
		}
		for at < len(d.guess) && d.guess[at].key != f.Key && d.guess[at].key < f.Key {
			at++
		}
		if at == len(d.guess) || d.guess[at].key != f.Key {
			d.guess = slices.Insert(d.guess, at, r.guess(d, f.Key))
		}
		g := &d.guess[at]
		at++
		if err := r.storeField(d, g, f.Value, row); err != nil {
			return err
		}
	}
	return nil
}

// guess returns the meaning of a field in a table.
func (r *runner) guess(d *dest, key string) guess {
	g := guess{key: key, skip: r.skips(key)}
	if !g.skip {
		g.col = d.byName[key]
	}
	return g
}

// storeField writes a field with the meaning g, with the type of its value, which is not null.
func (r *runner) storeField(d *dest, g *guess, x value.Value, row int) error {
	if g.skip {
		if r.p.timeAt < 0 && r.p.timeField.Text == "" && g.key == r.timeName {
			r.top().notes.replaced++
		}
		return nil
	}
	v := &r.auto
	if !r.conv.auto(v, x) {
		return nil
	}
	if r.conv.loss != lossNone {
		r.noteLoss(r.conv.loss, g.key)
	}
	if g.col == nil {
		col, err := d.column(bytesOf(g.key), v.kind.columnType())
		if err != nil {
			return err
		}
		g.col = col
	}
	return d.store(g.col, row, v)
}

// skips reports whether a field does not become a column.
func (r *runner) skips(key string) bool {
	return key == r.timeName || variableOf(bytesOf(key)) >= 0 || r.p.consumed[key]
}
