package value

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/query/format"
)

// Format is the format of a value in a message.
type Format int16

// The formats.
const (
	FormatText   Format = 0
	FormatBinary Format = 1
)

// Cell appends the value of a row. The value must not be null.
type Cell func(dst []byte, row int) ([]byte, error)

// IsNull reports whether a value is null.
func IsNull(a arrow.Array, row int) bool { return format.IsNull(a, row) }

// CellOf returns the Cell for a column whose type is t.
func CellOf(a arrow.Array, t *Type, f Format) Cell {
	if d, ok := a.(*array.Dictionary); ok {
		inner := CellOf(d.Dictionary(), t, f)
		return func(dst []byte, row int) ([]byte, error) { return inner(dst, d.GetValueIndex(row)) }
	}
	switch t.kind {
	case kindBool:
		return boolCell(a, f)
	case kindInt:
		return intCell(a, t, f)
	case kindNumeric:
		return numericCell(a, t, f)
	case kindFloat:
		return floatCell(a, t, f)
	case kindBytes:
		return bytesCell(a, f)
	case kindArray, kindVector:
		return arrayCell(a, t, f)
	case kindJSON:
		return jsonCell(a, t, f)
	case kindText:
		return textCell(a)
	}
	return timeCell(a, t, f)
}

// plain returns a Cell that cannot fail.
func plain(c func(dst []byte, row int) []byte) Cell {
	return func(dst []byte, row int) ([]byte, error) { return c(dst, row), nil }
}

// textCell formats a column as text. Values other than texts are formatted as in JSON.
func textCell(a arrow.Array) Cell {
	if text := format.Text(a); text != nil {
		return plain(func(dst []byte, row int) []byte { return append(dst, text(row)...) })
	}
	if _, ok := a.(*array.Null); ok {
		return plain(func(dst []byte, _ int) []byte { return dst })
	}
	return plain(format.TextCell(a))
}

func jsonCell(a arrow.Array, t *Type, f Format) Cell {
	inner := textCell(a)
	if format.Text(a) == nil {
		inner = plain(format.JSONCell(a))
	}
	if t == JSONB && f == FormatBinary {
		return func(dst []byte, row int) ([]byte, error) { return inner(append(dst, 1), row) }
	}
	return inner
}

func boolCell(a arrow.Array, f Format) Cell {
	b, ok := a.(*array.Boolean)
	if !ok {
		return textCell(a)
	}
	values := [2]byte{'f', 't'}
	if f == FormatBinary {
		values = [2]byte{0, 1}
	}
	return plain(func(dst []byte, row int) []byte {
		if b.Value(row) {
			return append(dst, values[1])
		}
		return append(dst, values[0])
	})
}

// number returns the integers of a column, or nil if the column has none.
func number(a arrow.Array) func(row int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Int16:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Int32:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Int64:
		return a.Value
	case *array.Uint8:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Uint16:
		return func(row int) int64 { return int64(a.Value(row)) }
	case *array.Uint32:
		return func(row int) int64 { return int64(a.Value(row)) }
	}
	return nil
}

// intCell formats integers. In binary format, an integer that does not fit into the type is an error.
func intCell(a arrow.Array, t *Type, f Format) Cell {
	n := number(a)
	if n == nil {
		return textCell(a)
	}
	if f == FormatText {
		return plain(func(dst []byte, row int) []byte { return appendInt(dst, n(row)) })
	}
	switch t.Len {
	case 2:
		return plain(func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint16(dst, uint16(n(row))) })
	case 4:
		return plain(func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n(row))) })
	}
	return plain(func(dst []byte, row int) []byte { return binary.BigEndian.AppendUint64(dst, uint64(n(row))) })
}

func floatCell(a arrow.Array, t *Type, f Format) Cell {
	var value func(row int) float64
	switch a := a.(type) {
	case *array.Float64:
		value = a.Value
	case *array.Float32:
		value = func(row int) float64 { return float64(a.Value(row)) }
	default:
		return textCell(a)
	}
	bits := 8 * int(t.Len)
	if f == FormatText {
		return plain(func(dst []byte, row int) []byte { return appendFloat(dst, value(row), bits) })
	}
	if bits == 32 {
		return plain(func(dst []byte, row int) []byte {
			return binary.BigEndian.AppendUint32(dst, math.Float32bits(float32(value(row))))
		})
	}
	return plain(func(dst []byte, row int) []byte {
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(value(row)))
	})
}

func bytesCell(a arrow.Array, f Format) Cell {
	var value func(row int) []byte
	switch a := a.(type) {
	case *array.Binary:
		value = a.Value
	case *array.LargeBinary:
		value = a.Value
	case *array.BinaryView:
		value = a.Value
	case *array.FixedSizeBinary:
		value = a.Value
	default:
		return textCell(a)
	}
	if f == FormatBinary {
		return plain(func(dst []byte, row int) []byte { return append(dst, value(row)...) })
	}
	return plain(func(dst []byte, row int) []byte { return appendHex(append(dst, '\\', 'x'), value(row)) })
}
