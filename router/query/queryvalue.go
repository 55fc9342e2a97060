package query

import (
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
)

// converter converts the value in a row of a column of a query's result.
type converter func(row int) (value, error)

// checkStorable returns an error if values of a result column never are values of the table's column. Texts of such
// values would be stored in a form that nobody has asked for.
func checkStorable(f arrow.Field, c *schema.Column) error {
	refuse := func(hint string) error {
		return errs.New(errs.InvalidArguments, "column %q is of type %s, but its value in the query is of type %s; %s",
			c.Name, c.Type, format.TypeName(f), hint)
	}
	t := f.Type
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	if t.ID() == arrow.NULL {
		return nil
	}
	switch t.(type) {
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		if c.Type != schema.Binary {
			return refuse("convert it, for example by decode(…) or base64(…)")
		}
		return nil
	case *arrow.TimestampType, *arrow.Date32Type, *arrow.Date64Type:
		if !c.Type.IsTimestamp() && c.Type != schema.String {
			return refuse("convert it, for example by epoch_ms(…) or strftime(…)")
		}
		return nil
	}
	if _, nested := t.(arrow.NestedType); nested && c.Type != schema.JSON {
		return refuse("convert it, for example by to_json(…) or a cast")
	}
	if c.Type == schema.Binary {
		return refuse("convert it by encode(…) or a cast to BLOB")
	}
	if c.Type.IsTimestamp() && !isText(t) && !arrow.IsInteger(t.ID()) {
		return refuse("select a timestamp")
	}
	return nil
}

// isText reports whether the values of a type are texts.
func isText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}

// converterOf returns the converter for a column of a result. Values are converted by the same rules as literals in
// INSERT … VALUES, so a value that the column cannot hold is an error.
func converterOf(a arrow.Array, f arrow.Field, c *schema.Column, now time.Time) (converter, error) {
	if err := checkStorable(f, c); err != nil {
		return nil, err
	}
	convert := directly(a, c.Type)
	if convert == nil {
		convert = asLiteral(a, c.Type, now)
	}
	return func(row int) (value, error) {
		if format.IsNull(a, row) {
			return value{null: true}, nil
		}
		return convert(row)
	}, nil
}

// asLiteral returns a converter that writes each value as a literal first.
func asLiteral(a arrow.Array, t schema.Type, now time.Time) converter {
	kind := statement.Text
	if id := a.DataType().ID(); arrow.IsInteger(id) || arrow.IsFloating(id) || arrow.IsDecimal(id) {
		kind = statement.Number
	}
	text := format.Text(a)
	if text == nil {
		cell := format.TextCell(a)
		var buf []byte
		text = func(row int) string {
			buf = cell(buf[:0], row)
			return string(buf)
		}
	}
	return func(row int) (value, error) {
		return valueOf(statement.Literal{Kind: kind, Text: text(row)}, t, now)
	}
}

// directly returns a converter for types whose values need no text, or nil.
func directly(a arrow.Array, t schema.Type) converter {
	switch a := a.(type) {
	case *array.Int64:
		return integers(a.Int64Values(), t)
	case *array.Int32:
		return integers(a.Int32Values(), t)
	case *array.Int16:
		return integers(a.Int16Values(), t)
	case *array.Int8:
		return integers(a.Int8Values(), t)
	case *array.Float64:
		if t == schema.Float64 {
			v := a.Float64Values()
			return func(row int) (value, error) { return value{f: v[row]}, nil }
		}
	case *array.Float32:
		if t == schema.Float64 || t == schema.Float32 {
			v := a.Float32Values()
			return func(row int) (value, error) { return value{f: float64(v[row])}, nil }
		}
	case *array.Timestamp:
		if t.IsTimestamp() {
			unit := a.DataType().(*arrow.TimestampType).Unit
			return moments(func(row int) int64 { return int64(a.Value(row)) }, math.MaxInt64, perSecond(unit), t)
		}
	case *array.Date32:
		if t.IsTimestamp() {
			return moments(func(row int) int64 { return int64(a.Value(row)) * secondsOfDay }, math.MaxInt32*secondsOfDay, 1, t)
		}
	}
	if b, ok := a.(interface{ Value(int) []byte }); ok && t == schema.Binary {
		return func(row int) (value, error) { return value{s: string(b.Value(row))}, nil }
	}
	return nil
}

const secondsOfDay = 24 * 60 * 60

func perSecond(u arrow.TimeUnit) int64 { return int64(time.Second / u.Multiplier()) }

// integers returns a converter of integers to a type of integers, or nil for another type.
func integers[T int8 | int16 | int32 | int64](v []T, t schema.Type) converter {
	if !t.IsInteger() || t == schema.Uint64 {
		return nil
	}
	lo, hi := t.IntRange()
	return func(row int) (value, error) {
		i := int64(v[row])
		if i < lo || i > hi {
			return valueOf(literalOf(i), t, time.Time{}) // this returns the error
		}
		return value{i: i}, nil
	}
}

func literalOf(i int64) statement.Literal {
	return statement.Literal{Kind: statement.Number, Text: strconv.FormatInt(i, 10)}
}

// moments returns a converter of times with per units in a second to a type of timestamps. Times with a finer
// resolution are cut, and counted. infinity and its negative are the engine's infinite times.
func moments(at func(row int) int64, infinity, per int64, t schema.Type) converter {
	to := t.UnitsPerSecond()
	lo, hi := t.TimeRange()
	return func(row int) (value, error) {
		i, v := at(row), value{}
		switch {
		case i == infinity || i == -infinity:
			return value{}, errs.New(errs.InvalidArguments, "infinity is not a value of type %s", t)
		case to >= per:
			high, low := bits.Mul64(magnitude(i), uint64(to/per))
			if high != 0 || low > math.MaxInt64 {
				return value{}, beyond(t)
			}
			v.i = i * (to / per)
		default:
			by := per / to
			v.i = i / by
			if i%by != 0 {
				v.changed.Cut = 1
				if i < 0 {
					v.i--
				}
			}
		}
		if v.i < lo || v.i > hi {
			return value{}, beyond(t)
		}
		return v, nil
	}
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return -uint64(i)
	}
	return uint64(i)
}

// beyond returns the error for a time outside of the range of a type.
func beyond(t schema.Type) error {
	return errs.New(errs.InvalidArguments, "the time is not a value of type %s, whose range is %s", t, t.TimeSpan())
}
