package format

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/vrl/value"
)

// cell appends the value of row i, which is not checked for null.
type cell func(dst []byte, i int) []byte

// style is how values are formatted.
type style struct {
	// quote writes JSON: texts are quoted, NaN and infinities are null.
	quote bool
	// times writes timestamps as RFC 3339 text rather than integers of their unit.
	times bool
	// safe writes integers beyond ±(2^53−1), decimals with more than 15 significant digits, NaN and infinities as texts
	// in JSON.
	safe bool
}

// nullable returns the cell of a, with null for null.
func nullable(a arrow.Array, s style) cell {
	c := cellOf(a, s)
	if a.NullN() == 0 && a.DataType().ID() != arrow.DICTIONARY && a.DataType().ID() != arrow.NULL {
		return c
	}
	return func(dst []byte, i int) []byte {
		if isNull(a, i) {
			return append(dst, "null"...)
		}
		return c(dst, i)
	}
}

// isNull reports whether the value is null, even if only by its dictionary.
func isNull(a arrow.Array, i int) bool {
	switch a := a.(type) {
	case *array.Null:
		return true
	case *array.Dictionary:
		return a.IsNull(i) || isNull(a.Dictionary(), a.GetValueIndex(i))
	}
	return a.IsNull(i)
}

// quoted wraps a cell that writes plain ASCII without quotes or backslashes.
func (s style) quoted(c cell) cell {
	if !s.quote {
		return c
	}
	return func(dst []byte, i int) []byte {
		return append(c(append(dst, '"'), i), '"')
	}
}

// text returns the cell of a column of any texts.
func (s style) text(at func(i int) string) cell {
	if s.quote {
		return func(dst []byte, i int) []byte { return value.AppendJSONString(dst, at(i)) }
	}
	return func(dst []byte, i int) []byte { return append(dst, at(i)...) }
}

type signed interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

func intCell[T signed](v []T) cell {
	return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(v[i]), 10) }
}

func uintCell[T unsigned](v []T) cell {
	return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, uint64(v[i]), 10) }
}

// integerCell returns the cell of an array of integers, or nil for others.
func integerCell(a arrow.Array) cell {
	switch a := a.(type) {
	case *array.Int8:
		return intCell(a.Int8Values())
	case *array.Int16:
		return intCell(a.Int16Values())
	case *array.Int32:
		return intCell(a.Int32Values())
	case *array.Int64:
		return intCell(a.Int64Values())
	case *array.Uint8:
		return uintCell(a.Uint8Values())
	case *array.Uint16:
		return uintCell(a.Uint16Values())
	case *array.Uint32:
		return uintCell(a.Uint32Values())
	case *array.Uint64:
		return uintCell(a.Uint64Values())
	}
	return nil
}

// cellOf returns the cell of the array. Types without a form of their own are
// written as Arrow prints them.
func cellOf(a arrow.Array, s style) cell {
	if c := integerCell(a); c != nil {
		if s.safe && a.DataType().(arrow.FixedWidthDataType).BitWidth() == 64 {
			return quoteUnsafe(c)
		}
		return c
	}
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return strconv.AppendBool(dst, a.Value(i)) }
	case *array.Float16:
		return func(dst []byte, i int) []byte { return s.appendFloat(dst, float64(a.Value(i).Float32()), 32) }
	case *array.Float32:
		v := a.Float32Values()
		return func(dst []byte, i int) []byte { return s.appendFloat(dst, float64(v[i]), 32) }
	case *array.Float64:
		v := a.Float64Values()
		return func(dst []byte, i int) []byte { return s.appendFloat(dst, v[i], 64) }
	case *array.String:
		return s.text(a.Value)
	case *array.LargeString:
		return s.text(a.Value)
	case *array.StringView:
		return s.text(a.Value)
	case interface{ Value(i int) []byte }: // Binary, LargeBinary, BinaryView, FixedSizeBinary
		return s.quoted(func(dst []byte, i int) []byte { return base64.StdEncoding.AppendEncode(dst, a.Value(i)) })
	case *array.Dictionary:
		values := cellOf(a.Dictionary(), s)
		return func(dst []byte, i int) []byte { return values(dst, a.GetValueIndex(i)) }
	}
	if c := temporalCell(a, s); c != nil {
		return c
	}
	if c := decimalCell(a); c != nil {
		if s.safe {
			return quoteUnsafe(c)
		}
		return c
	}
	if c := nestedCell(a, style{quote: true, times: s.times, safe: s.safe}); c != nil {
		return c
	}
	if e, ok := a.(array.ExtensionArray); ok {
		return extensionCell(e, s)
	}
	return s.text(a.ValueStr)
}

func extensionCell(e array.ExtensionArray, s style) cell {
	storage := e.Storage()
	raw, ok := storage.(*array.FixedSizeBinary)
	if !ok || e.ExtensionType().ExtensionName() != "arrow.uuid" {
		return cellOf(storage, s)
	}
	return s.quoted(func(dst []byte, i int) []byte {
		u := raw.Value(i)
		for part, end := range [...]int{4, 6, 8, 10, 16} {
			from := 0
			if part > 0 {
				from = [...]int{4, 6, 8, 10}[part-1]
				dst = append(dst, '-')
			}
			dst = hex.AppendEncode(dst, u[from:end])
		}
		return dst
	})
}

// appendFloat writes the shortest text that reads back as f and is not the text of an
// integer, so that a value written out and ingested again keeps its type.
func (s style) appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		switch {
		case s.safe:
			return appendNotFinite(dst, f)
		case s.quote:
			return append(dst, "null"...)
		case math.IsNaN(f):
			return append(dst, "NaN"...)
		case f > 0:
			return append(dst, "inf"...)
		}
		return append(dst, "-inf"...)
	}
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	from := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bits)
	for _, c := range dst[from:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

func decimalCell(a arrow.Array) cell {
	switch a := a.(type) {
	case *array.Decimal32:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i).ToString(scale)...) }
	case *array.Decimal64:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i).ToString(scale)...) }
	case *array.Decimal128:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			if low := int64(v.LowBits()); scale == 0 && v.HighBits() == low>>63 {
				return strconv.AppendInt(dst, low, 10)
			}
			return append(dst, v.ToString(scale)...)
		}
	case *array.Decimal256:
		scale := a.DataType().(arrow.DecimalType).GetScale()
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i).ToString(scale)...) }
	}
	return nil
}

// nestedCell writes lists, structs and maps as JSON; s has quote set.
func nestedCell(a arrow.Array, s style) cell {
	switch a := a.(type) {
	case *array.Map:
		keys := cellOf(a.Keys(), style{times: true})
		items := nullable(a.Items(), s)
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '{')
			for k := from; k < to; k++ {
				if k > from {
					dst = append(dst, ',')
				}
				key := keys(nil, int(k))
				dst = append(value.AppendJSONString(dst, string(key)), ':')
				dst = items(dst, int(k))
			}
			return append(dst, '}')
		}
	case array.ListLike:
		values := nullable(a.ListValues(), s)
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '[')
			for k := from; k < to; k++ {
				if k > from {
					dst = append(dst, ',')
				}
				dst = values(dst, int(k))
			}
			return append(dst, ']')
		}
	case *array.Struct:
		t := a.DataType().(*arrow.StructType)
		keys := make([][]byte, t.NumFields())
		fields := make([]cell, t.NumFields())
		for f := range fields {
			if f > 0 {
				keys[f] = append(keys[f], ',')
			}
			keys[f] = append(value.AppendJSONString(keys[f], t.Field(f).Name), ':')
			fields[f] = nullable(a.Field(f), s)
		}
		return func(dst []byte, i int) []byte {
			dst = append(dst, '{')
			for f, c := range fields {
				dst = c(append(dst, keys[f]...), i)
			}
			return append(dst, '}')
		}
	case array.Union:
		children := make([]cell, a.NumFields())
		for f := range children {
			children[f] = nullable(a.Field(f), s)
		}
		dense, isDense := a.(*array.DenseUnion)
		return func(dst []byte, i int) []byte {
			child, at := a.ChildID(i), i
			if isDense {
				at = int(dense.ValueOffset(i))
			}
			return children[child](dst, at)
		}
	}
	return nil
}
