package pipeline

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/pipeline/processor"
)

// maxAsides limits the number of columns of a table whose set-aside values are counted separately. Values of further
// columns are counted under the last one's name.
const maxAsides = 64

// adapted is a value in a row of the current record that was converted or set aside.
type adapted struct {
	row   int
	count *Aside
}

// aside reports whether values that do not fit the column are set aside. Values of tags and of the time index are never
// set aside, because they identify rows. Values of a NOT NULL column are not set aside either.
func (d *dest) aside(col *column.Col) bool {
	return d.rule.PutsAside() && col.Semantic == schema.Field && !col.NotNull
}

// store writes the value like put, but sets it aside if it does not fit the column and the rules allow that.
func (d *dest) store(col *column.Col, row int, v *cell) error {
	if n := len(d.adapted); n > 0 && d.adapted[n-1].row == row && col.Has(row) {
		return d.asideTaken(col)
	}
	err := d.put(col, row, v)
	if err == errConflict { //nolint:errorlint // it is never wrapped
		return d.putAside(col.Name, col, row, v)
	}
	return err
}

// newColumn returns the column for the value of a field, like column. It returns nil if the value fits no column and
// was set aside.
func (d *dest) newColumn(name []byte, row int, v *cell) (*column.Col, error) {
	if v.kind == kindBig && d.rule.PutsAside() && d.byName[string(name)] == nil && d.existingColumn(name) == nil {
		return nil, d.putAside(string(name), nil, row, v)
	}
	return d.column(name, v.kind.columnType())
}

// putAside writes the value as text into the column for values that do not fit the named column. The named column
// is null in this row.
func (d *dest) putAside(name string, col *column.Col, row int, v *cell) error {
	to, err := d.column([]byte(name+schema.ConflictSuffix), schema.String)
	switch {
	case err != nil:
		return err
	case to.Type != schema.String || to.Semantic != schema.Field:
		return &kindError{SkipType, errs.New(errs.InvalidArguments,
			"column %q: %s does not fit, and cannot be set aside: the column %q for such values is a %s %s", name,
			processor.Cut(string(d.text(v))), to.Name, to.Type, to.Semantic)}
	case to.Has(row):
		return d.asideTaken(to)
	}
	text := d.text(v)
	if col != nil {
		col.SetNull(row) // the default does not apply to such values
	}
	d.adapt(row, d.asideOf(name), text)
	return d.putBytes(to, row, text)
}

func (d *dest) asideTaken(col *column.Col) error {
	return &kindError{SkipType, errs.New(errs.InvalidArguments,
		"column %q: the record has a field of that name, and a value of another field is set aside there; rename one "+
			"of them", col.Name)}
}

// text returns v as the text that is stored when the value is set aside.
func (d *dest) text(v *cell) []byte {
	switch v.kind {
	case kindString, kindText, kindJSON, kindBig:
		return v.bytes
	}
	return bytes.Trim(d.s.jsonText(v), `"`) // a time is in quotes
}

// asideOf returns the counter of the values of a column that are set aside.
func (d *dest) asideOf(name string) *Aside {
	for _, a := range d.asides {
		if a.Column == name {
			return a
		}
	}
	if n := len(d.asides); n == maxAsides {
		return d.asides[n-1]
	}
	a := &Aside{Column: name}
	d.asides = append(d.asides, a)
	return a
}

// adapt counts a value that was converted or set aside. unadapt undoes the count if the row is removed.
func (d *dest) adapt(row int, a *Aside, text []byte) {
	if a.Count++; a.Count == 1 {
		a.First = processor.Cut(string(text))
	}
	d.adapted = append(d.adapted, adapted{row, a})
}

// unadapt undoes the counts for the removed rows, which are row and all rows after it.
func (d *dest) unadapt(row int) {
	n := len(d.adapted)
	for ; n > 0 && d.adapted[n-1].row >= row; n-- {
		d.adapted[n-1].count.Count--
	}
	d.adapted = d.adapted[:n]
}

// cast writes v to a column of another type if no information is lost.
func (d *dest) cast(col *column.Col, row int, v *cell) error {
	w, ok := v.convert(col.Type, d)
	if !ok {
		return d.typeError(col, v)
	}
	if err := d.put(col, row, &w); err != nil {
		return err
	}
	d.adapt(row, &d.casts, nil)
	return nil
}

// convert returns v as a cell for a column of type t, if no information is lost.
func (v *cell) convert(t schema.Type, d *dest) (w cell, ok bool) {
	switch {
	case t == schema.String:
		return cell{kind: kindString, bytes: d.text(v)}, true
	case v.kind == kindFloat && t.IsInteger():
		// From MaxExact on, several integers have the same float, so the client may have sent another integer than this one.
		return cell{kind: kindInt, i: int64(v.f)}, v.f == math.Trunc(v.f) && math.Abs(v.f) < schema.MaxExact
	case v.kind != kindString:
		return w, false
	case t.IsInteger(), t.IsFloat():
		if w, ok = numberOf(v.bytes); ok && w.kind == kindFloat && t.IsInteger() {
			return w.convert(t, d)
		}
		return w, ok
	case t == schema.Boolean:
		switch string(v.bytes) {
		case "true":
			return cell{kind: kindBool, i: 1}, true
		case "false":
			return cell{kind: kindBool}, true
		}
	case t.IsTimestamp() && len(v.bytes) <= 64:
		when, err := time.Parse(time.RFC3339Nano, string(v.bytes))
		if err != nil {
			return w, false
		}
		at, ok := unixIn(when.Unix(), int64(when.Nanosecond()), t)
		exact := when.Nanosecond()%int(1e9/t.UnitsPerSecond()) == 0
		return cell{kind: kindTime, i: at, unit: t}, ok && exact
	}
	return w, false
}

// maxTold limits the number of columns that one answer names because values were set aside.
const maxTold = 4

// AsideWarnings returns warnings about values that were stored in the column for set-aside values or converted to their
// column's type.
func (t *TableRows) AsideWarnings() (out []string) {
	more := 0
	for i, a := range t.Asides {
		if i >= maxTold {
			more += a.Count
			continue
		}
		out = append(out, fmt.Sprintf(
			"%s of the column %s of table %s.%s %s put aside, as text in %s: %s is not the column's; the first is %s",
			words.Count(a.Count, "value"), a.Column, t.Database, t.Table, words.Pick(a.Count, "was", "were"),
			a.Column+schema.ConflictSuffix, words.Pick(a.Count, "its type", "their type"), a.First))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%s of %s of table %s.%s %s put aside",
			words.Count(more, "value"), words.Count(len(t.Asides)-maxTold, "more column"), t.Database, t.Table,
			words.Pick(more, "was", "were")))
	}
	if t.Cast > 0 {
		out = append(out, fmt.Sprintf("%s converted to the %s in table %s.%s", words.Say(t.Cast, "value was", "values were"),
			words.Pick(t.Cast, "type of its column", "types of their columns"), t.Database, t.Table))
	}
	return out
}
