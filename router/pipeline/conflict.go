package pipeline

import (
	"errors"
	"math"
	"strconv"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
)

// put writes v, which is not null, to the column according to the table's on_type_conflict. A value fits if the
// column can hold it without loss. With schema.ConflictError it must also have the column's type. With widening, a
// column of integers becomes Float64 at its first fraction, if no integer exceeds schema.MaxExact. A column of this
// batch that has no negative integer becomes UInt64 at the first integer that exceeds int64.
//
// After an error the row is unchanged. The error is errConflict, which has no text, if the value can be set aside.
func (d *dest) put(col *column.Col, row int, v *cell) error {
	switch {
	case v.kind == kindBig && (col.Type != schema.JSON || d.rule == schema.ConflictError):
		return d.rangeError(col, v)
	case d.rule == schema.ConflictError && !v.is(col.Type):
		return d.typeError(col, v)
	}
	switch t := col.Type; {
	case t == schema.String:
		if v.kind == kindString || v.kind == kindText {
			return d.putBytes(col, row, v.bytes)
		}
	case t.IsInteger():
		return d.putInteger(col, row, v)
	case t.IsFloat():
		return d.putFloat(col, row, v)
	case t == schema.Boolean:
		if v.kind == kindBool {
			col.SetInt(row, v.i)
			return nil
		}
	case t == schema.JSON:
		return d.putBytes(col, row, d.s.jsonText(v))
	case t.IsTimestamp() && v.kind == kindTime:
		at, ok := convertTime(v.i, v.unit, t)
		if !ok {
			return d.lossError(col, v)
		}
		if finer(v.i, v.unit, t) {
			d.s.top().notes.cut++
		}
		col.SetInt(row, at)
		return nil
	}
	if d.rule == schema.ConflictCast {
		return d.cast(col, row, v)
	}
	return d.typeError(col, v)
}

// is reports whether a column of type t can hold v unchanged.
func (v *cell) is(t schema.Type) bool {
	switch v.kind {
	case kindText:
		return t == schema.String || t == schema.JSON
	case kindTime:
		return t == v.unit
	}
	return t == v.kind.columnType()
}

func (d *dest) putInteger(col *column.Col, row int, v *cell) error {
	t := col.Type
	switch v.kind {
	case kindInt:
		if lo, hi := t.IntRange(); v.i < lo || t != schema.Uint64 && v.i > hi {
			return d.lossError(col, v)
		}
		col.SetInt(row, v.i)
		return nil
	case kindUint:
		if t == schema.Int64 && col.ID == 0 && d.rule.Widens() && !col.Negative() {
			d.retype(col, row)
			col.Type = schema.Uint64
		}
		switch col.Type {
		case schema.Uint64:
			col.SetInt(row, v.i)
			return nil
		case schema.Int64:
			return d.typeError(col, v)
		}
		return d.lossError(col, v)
	case kindFloat:
		if d.rule.Widens() && col.Semantic == schema.Field {
			if !widens(col) {
				return d.blurError(col, v)
			}
			d.retype(col, row)
			col.Widen()
			col.SetFloat(row, v.f)
			return nil
		}
	}
	if d.rule == schema.ConflictCast {
		return d.cast(col, row, v)
	}
	return d.typeError(col, v)
}

// widens reports whether a column of integers can become Float64 without changing integers in the request or in the
// table.
func widens(col *column.Col) bool {
	return !col.Wide() && (col.ID == 0 || col.Exact())
}

func (d *dest) putFloat(col *column.Col, row int, v *cell) error {
	f := v.f
	switch v.kind {
	case kindFloat:
		if col.Type == schema.Float32 && !fitsFloat32(f) {
			return d.lossError(col, v)
		}
	case kindInt, kindUint:
		t := v.kind.columnType()
		f = t.FloatOf(v.i)
		if !t.Exact(v.i) || col.Type == schema.Float32 && float64(float32(f)) != f {
			return d.lossError(col, v)
		}
	default:
		if d.rule == schema.ConflictCast {
			return d.cast(col, row, v)
		}
		return d.typeError(col, v)
	}
	col.SetFloat(row, f)
	return nil
}

// fitsFloat32 reports whether f keeps its value as a float32: exactly, or as the decimal number that was written.
// So 0.1 fits a FLOAT column.
func fitsFloat32(f float64) bool {
	n := float32(f)
	if float64(n) == f {
		return true
	}
	if math.IsInf(float64(n), 0) {
		return false
	}
	var a, b [32]byte
	return string(strconv.AppendFloat(a[:0], f, 'e', -1, 64)) == string(strconv.AppendFloat(b[:0], float64(n), 'e', -1,
		32))
}

// retyped is a column whose type a row of the current record has changed.
type retyped struct {
	col *column.Col
	row int
	// from is the previous type.
	from schema.Type
}

// retype records that the column is about to get another type because of the row.
func (d *dest) retype(col *column.Col, row int) {
	d.retyped = append(d.retyped, retyped{col, row, col.Type})
	d.s.top().retyped = true
}

// typeAgain restores the types that columns had before row was written.
func (d *dest) typeAgain(row int) {
	n := len(d.retyped)
	for ; n > 0 && d.retyped[n-1].row >= row; n-- {
		r := &d.retyped[n-1]
		if r.col.Widened() {
			r.col.Narrow()
		}
		r.col.Type = r.from
		d.s.top().retyped = true
	}
	d.retyped = d.retyped[:n]
}

// valueError is the error for a record with a value that does not fit a column.
type valueError struct {
	table, column, value string // the value as formatted by Cut
	err                  error
}

func (e *valueError) Error() string { return e.err.Error() }
func (e *valueError) Unwrap() error { return e.err }

// errConflict is the error for a value that can be set aside.
var errConflict = errors.New("the value goes aside")

// unsaid returns a placeholder for a value's error if nobody will read the error's text, and nil otherwise. Formatting
// the text is slow.
func (d *dest) unsaid(col *column.Col) error {
	switch {
	case d.aside(col):
		return errConflict
	case d.s.quiet():
		return errSkipped
	}
	return nil
}

// wayOut returns what the client can do about a value of another type. It returns "" if the request already skips such
// records.
func (d *dest) wayOut(col *column.Col) string {
	switch {
	case d.s.req.SkipError:
		return ""
	case col.Semantic != schema.Field || col.NotNull || d.rule.PutsAside():
		return "; set skip_error=true to drop such rows"
	}
	return "; set the table option on_type_conflict=aside to keep such rows, or skip_error=true to drop them"
}

func (d *dest) typeError(col *column.Col, v *cell) error {
	if err := d.unsaid(col); err != nil {
		return err
	}
	shown := processor.Cut(string(d.s.jsonText(v)))
	var err error
	if col.ID != 0 {
		err = errs.New(errs.InvalidArguments, "column %q of table %q: expected %s, actual %s: %s%s", col.Name, d.table,
			col.Type, v.kind.columnType(), shown, d.wayOut(col))
	} else {
		err = errs.New(errs.InvalidArguments, "column %q: expected %s as in an earlier record, actual %s: %s%s", col.Name,
			col.Type, v.kind.columnType(), shown, d.wayOut(col))
	}
	return &kindError{SkipType, &valueError{d.table, col.Name, shown, err}}
}

// rangeError returns the error for an integer that no column can hold exactly.
func (d *dest) rangeError(col *column.Col, v *cell) error {
	if err := d.unsaid(col); err != nil {
		return err
	}
	shown := processor.Cut(string(v.bytes))
	return &kindError{SkipType, &valueError{d.table, col.Name, shown, errs.New(errs.InvalidArguments,
		"column %q: the integer %s is beyond -9223372036854775808 to 18446744073709551615, and no 64-bit float holds it "+
			"exactly; send it as text", col.Name, shown)}}
}

func (d *dest) lossError(col *column.Col, v *cell) error {
	if err := d.unsaid(col); err != nil {
		return err
	}
	shown := processor.Cut(string(d.s.jsonText(v)))
	whose := strconv.Quote(col.Name)
	if col.ID != 0 {
		whose += " of table " + strconv.Quote(d.table)
	}
	return &kindError{SkipType, &valueError{d.table, col.Name, shown, errs.New(errs.InvalidArguments,
		"column %s: expected %s, actual %s %s, which it cannot hold without loss%s", whose, col.Type, v.kind.columnType(),
		shown, d.wayOut(col))}}
}

// blurError returns the error for a fraction in a column of integers that cannot become Float64.
func (d *dest) blurError(col *column.Col, v *cell) error {
	if err := d.unsaid(col); err != nil {
		return err
	}
	shown := processor.Cut(string(d.s.jsonText(v)))
	var err error
	if col.Wide() {
		err = errs.New(errs.InvalidArguments, "column %q: expected %s, actual Float64: %s; the column cannot become "+
			"Float64, which would round an integer beyond 2^53 of an earlier record",
			col.Name, col.Type, shown)
	} else {
		err = errs.New(errs.InvalidArguments, "column %q of table %q: expected %s, actual Float64: %s; it may hold "+
			"integers beyond 2^53, which Float64 would round; run ALTER TABLE %s MODIFY COLUMN %s DOUBLE, which checks the "+
			"stored values",
			col.Name, d.table, col.Type, shown, schema.QuoteIdent(d.table), schema.QuoteIdent(col.Name))
	}
	return &kindError{SkipType, &valueError{d.table, col.Name, shown, err}}
}
