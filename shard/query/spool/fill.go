package spool

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// fill copies n values of an Arrow array, starting at from, to a column, starting at row at.
func fill(col *column.Col, at int, from arrow.Array, first, n int) error {
	set := setter(col, from)
	if set == nil {
		return errs.New(errs.Internal, "spool: column %s has the type %s, but the rows have "+
			"%s", col.Name, col.Type, from.DataType())
	}
	nulls := from.NullN() > 0
	for i := range n {
		if nulls && from.IsNull(first+i) {
			col.SetNull(at + i)
		} else {
			set(at+i, first+i)
		}
	}
	return nil
}

// number is a constraint for integers that Arrow has arrays of.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func integers[T number](col *column.Col, values []T) func(at, i int) {
	return func(at, i int) { col.SetInt(at, int64(values[i])) }
}

func doubles[T number](col *column.Col, values []T) func(at, i int) {
	return func(at, i int) { col.SetFloat(at, float64(values[i])) }
}

// setter returns a function that copies a value of an array to a column. It returns nil if the
// types do not match.
func setter(col *column.Col, from arrow.Array) func(at, i int) {
	switch {
	case col.Type.IsBytes():
		return textsOf(col, from)
	case col.Type.IsFloat():
		return doublesOf(col, from)
	case col.Type.IsTimestamp():
		a, ok := from.(*array.Timestamp)
		if !ok || col.Type.UnitsPerSecond() != int64(1e9/a.DataType().(*arrow.TimestampType).Unit.Multiplier()) {
			return nil
		}
		return integers(col, a.Values())
	}
	return numbersOf(col, from)
}

// numbersOf returns a setter for a column of integers or booleans.
func numbersOf(col *column.Col, from arrow.Array) func(at, i int) {
	switch a := from.(type) {
	case *array.Boolean:
		return func(at, i int) {
			v := int64(0)
			if a.Value(i) {
				v = 1
			}
			col.SetInt(at, v)
		}
	case *array.Int8:
		return integers(col, a.Values())
	case *array.Int16:
		return integers(col, a.Values())
	case *array.Int32:
		return integers(col, a.Values())
	case *array.Int64:
		return integers(col, a.Values())
	case *array.Uint8:
		return integers(col, a.Values())
	case *array.Uint16:
		return integers(col, a.Values())
	case *array.Uint32:
		return integers(col, a.Values())
	case *array.Uint64:
		return integers(col, a.Values())
	}
	return nil
}

// textsOf returns a setter for texts and bytes.
func textsOf(col *column.Col, from arrow.Array) func(at, i int) {
	switch a := from.(type) {
	case *array.String:
		return func(at, i int) { col.SetString(at, a.Value(i)) }
	case *array.LargeString:
		return func(at, i int) { col.SetString(at, a.Value(i)) }
	case *array.Binary:
		return func(at, i int) { col.SetBytes(at, a.Value(i)) }
	case *array.LargeBinary:
		return func(at, i int) { col.SetBytes(at, a.Value(i)) }
	}
	return nil
}

// doublesOf returns a setter for a column of floating-point numbers. The array has integers if the
// shard does not know yet that the column was widened to Float64.
func doublesOf(col *column.Col, from arrow.Array) func(at, i int) {
	switch a := from.(type) {
	case *array.Float32:
		return func(at, i int) { col.SetFloat(at, float64(a.Value(i))) }
	case *array.Float64:
		return func(at, i int) { col.SetFloat(at, a.Value(i)) }
	}
	if col.Type == schema.Float32 {
		return nil
	}
	switch a := from.(type) {
	case *array.Int8:
		return doubles(col, a.Values())
	case *array.Int16:
		return doubles(col, a.Values())
	case *array.Int32:
		return doubles(col, a.Values())
	case *array.Int64:
		return doubles(col, a.Values())
	case *array.Uint8:
		return doubles(col, a.Values())
	case *array.Uint16:
		return doubles(col, a.Values())
	case *array.Uint32:
		return doubles(col, a.Values())
	case *array.Uint64:
		return doubles(col, a.Values())
	}
	return nil
}
