package format

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// TypeKey is the key in the metadata of an Arrow field for a type that Arrow does not have, for example Json.
const TypeKey = "cordwood.type"

// TypeName returns the type of a result column as clients see it.
func TypeName(f arrow.Field) string {
	if name, ok := f.Metadata.GetValue(TypeKey); ok && name != "" {
		return name
	}
	return dataTypeName(f.Type)
}

// plainNames are the names of types that have no parts.
var plainNames = map[arrow.Type]string{
	arrow.NULL: "Null", arrow.BOOL: "Boolean",
	arrow.INT8: "Int8", arrow.INT16: "Int16", arrow.INT32: "Int32", arrow.INT64: "Int64",
	arrow.UINT8: "UInt8", arrow.UINT16: "UInt16", arrow.UINT32: "UInt32", arrow.UINT64: "UInt64",
	arrow.FLOAT16: "Float32", arrow.FLOAT32: "Float32", arrow.FLOAT64: "Float64",
	arrow.STRING: "String", arrow.LARGE_STRING: "String", arrow.STRING_VIEW: "String",
	arrow.BINARY: "Binary", arrow.LARGE_BINARY: "Binary", arrow.BINARY_VIEW: "Binary", arrow.FIXED_SIZE_BINARY: "Binary",
	arrow.DATE32: "Date", arrow.DATE64: "Date",
	arrow.INTERVAL_MONTHS: "Interval", arrow.INTERVAL_DAY_TIME: "Interval", arrow.INTERVAL_MONTH_DAY_NANO: "Interval",
}

// dataTypeName returns the name of a type as users see it.
func dataTypeName(t arrow.DataType) string {
	if name := plainNames[t.ID()]; name != "" {
		return name
	}
	switch t := t.(type) {
	case *arrow.TimestampType:
		return "Timestamp" + unitName(t.Unit)
	case *arrow.Time32Type:
		return "Time" + unitName(t.Unit)
	case *arrow.Time64Type:
		return "Time" + unitName(t.Unit)
	case *arrow.DurationType:
		return "Duration" + unitName(t.Unit)
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
	case arrow.ExtensionType:
		switch t.ExtensionName() {
		case "arrow.json":
			return "Json"
		case "arrow.uuid":
			return "String"
		}
		return dataTypeName(t.StorageType())
	}
	return "String" // other types are written as text
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

// rightAligned reports whether values of the type are aligned to the right in a table.
func rightAligned(t arrow.DataType) bool {
	if _, ok := t.(arrow.DecimalType); ok {
		return true
	}
	return arrow.IsPrimitive(t.ID()) && (arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()))
}
