package format

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// TypeKey is the key of Arrow field metadata that names a column's type where
// Arrow has none for it, as Json.
const TypeKey = "cordwood.type"

// TypeName returns the type of a result column as clients see it.
func TypeName(f arrow.Field) string {
	if name, ok := f.Metadata.GetValue(TypeKey); ok && name != "" {
		return name
	}
	return dataTypeName(f.Type)
}

func dataTypeName(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return "Boolean"
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type:
		return fmt.Sprintf("Int%d", t.(arrow.FixedWidthDataType).BitWidth())
	case *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type, *arrow.Uint64Type:
		return fmt.Sprintf("UInt%d", t.(arrow.FixedWidthDataType).BitWidth())
	case *arrow.Float16Type, *arrow.Float32Type:
		return "Float32"
	case *arrow.Float64Type:
		return "Float64"
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		return "String"
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType, *arrow.FixedSizeBinaryType:
		return "Binary"
	case *arrow.TimestampType:
		return "Timestamp" + unitName(t.Unit)
	case *arrow.Date32Type, *arrow.Date64Type:
		return "Date"
	case *arrow.Time32Type:
		return "Time" + unitName(t.Unit)
	case *arrow.Time64Type:
		return "Time" + unitName(t.Unit)
	case *arrow.DurationType:
		return "Duration" + unitName(t.Unit)
	case *arrow.MonthIntervalType, *arrow.DayTimeIntervalType, *arrow.MonthDayNanoIntervalType:
		return "Interval"
	case arrow.DecimalType:
		return fmt.Sprintf("Decimal%d(%d,%d)", t.BitWidth(), t.GetPrecision(), t.GetScale())
	case *arrow.MapType:
		return "Map<" + dataTypeName(t.KeyType()) + ", " + TypeName(t.ItemField()) + ">"
	case arrow.ListLikeType:
		return "List<" + TypeName(t.ElemField()) + ">"
	case *arrow.StructType:
		fields := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = f.Name + ": " + TypeName(f)
		}
		return "Struct<" + strings.Join(fields, ", ") + ">"
	case *arrow.DictionaryType:
		return dataTypeName(t.ValueType)
	case *arrow.NullType:
		return "Null"
	case arrow.ExtensionType:
		switch t.ExtensionName() {
		case "arrow.json":
			return "Json"
		case "arrow.uuid":
			return "String"
		}
		return dataTypeName(t.StorageType())
	}
	return "String" // what has no form of its own is written as text
}

func unitName(u arrow.TimeUnit) string {
	switch u {
	case arrow.Second:
		return "Second"
	case arrow.Millisecond:
		return "Millisecond"
	case arrow.Microsecond:
		return "Microsecond"
	}
	return "Nanosecond"
}

// rightAligned reports whether values of the type stand to the right in a table.
func rightAligned(t arrow.DataType) bool {
	if _, ok := t.(arrow.DecimalType); ok {
		return true
	}
	return arrow.IsPrimitive(t.ID()) && (arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()))
}
