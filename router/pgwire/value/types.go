// Package value has PostgreSQL's types for columns and parameters, and formats and parses their values in text and
// binary format.
//
// Rows arrive as Arrow. A Cell appends the value of a row directly from the column's buffer. A parameter becomes an SQL
// literal. All functions are pure and may be called concurrently.
package value

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/router/query/format"
)

// kind is the way in which values of a type are encoded.
type kind uint8

const (
	kindText kind = iota
	kindBool
	kindInt
	kindNumeric
	kindFloat
	kindBytes
	kindDate
	kindTime
	kindTimeTZ
	kindMoment
	kindInterval
	kindUUID
	kindJSON
	kindArray
	kindVector // int2vector
)

// Type is a type of PostgreSQL.
type Type struct {
	OID uint32
	// Array is the OID of its array type, or 0 if it has none.
	Array uint32
	// Len is its size in bytes, or -1 if the size varies.
	Len int16
	// Mod is its type modifier, as in numeric(10,2), or -1 if it has none.
	Mod int32
	// Name is its name in pg_type.
	Name string

	kind kind
	elem *Type
	// nested is the array type for lists of lists (see Nested).
	nested *Type
	// cast is the engine's type for parameters of this type.
	cast string
}

// Elem returns the type of the elements of an array type, or nil for other types.
func (t *Type) Elem() *Type { return t.elem }

// IsNumber reports whether values of the type are numbers.
func (t *Type) IsNumber() bool {
	return t.kind == kindInt || t.kind == kindNumeric || t.kind == kindFloat
}

// Engine returns the name of the engine's type for parameters of this type.
func (t *Type) Engine() string { return t.cast }

// The types.
var (
	Bool        = &Type{OID: 16, Array: 1000, Len: 1, Mod: -1, Name: "bool", kind: kindBool, cast: "BOOLEAN"}
	Bytea       = &Type{OID: 17, Array: 1001, Len: -1, Mod: -1, Name: "bytea", kind: kindBytes, cast: "BLOB"}
	Char        = &Type{OID: 18, Array: 1002, Len: 1, Mod: -1, Name: "char", kind: kindText, cast: "VARCHAR"}
	Name        = &Type{OID: 19, Array: 1003, Len: 64, Mod: -1, Name: "name", kind: kindText, cast: "VARCHAR"}
	Int8        = &Type{OID: 20, Array: 1016, Len: 8, Mod: -1, Name: "int8", kind: kindInt, cast: "BIGINT"}
	Int2        = &Type{OID: 21, Array: 1005, Len: 2, Mod: -1, Name: "int2", kind: kindInt, cast: "SMALLINT"}
	Int2Vector  = &Type{OID: 22, Array: 1006, Len: -1, Mod: -1, Name: "int2vector", kind: kindVector, elem: Int2}
	Int4        = &Type{OID: 23, Array: 1007, Len: 4, Mod: -1, Name: "int4", kind: kindInt, cast: "INTEGER"}
	Regproc     = &Type{OID: 24, Array: 1008, Len: 4, Mod: -1, Name: "regproc", kind: kindText, cast: "VARCHAR"}
	Text        = &Type{OID: 25, Array: 1009, Len: -1, Mod: -1, Name: "text", kind: kindText, cast: "VARCHAR"}
	OID         = &Type{OID: 26, Array: 1028, Len: 4, Mod: -1, Name: "oid", kind: kindInt, cast: "BIGINT"}
	OIDVector   = &Type{OID: 30, Array: 1013, Len: -1, Mod: -1, Name: "oidvector", kind: kindVector, elem: OID}
	JSON        = &Type{OID: 114, Array: 199, Len: -1, Mod: -1, Name: "json", kind: kindJSON, cast: "JSON"}
	Float4      = &Type{OID: 700, Array: 1021, Len: 4, Mod: -1, Name: "float4", kind: kindFloat, cast: "FLOAT"}
	Float8      = &Type{OID: 701, Array: 1022, Len: 8, Mod: -1, Name: "float8", kind: kindFloat, cast: "DOUBLE"}
	Unknown     = &Type{OID: 705, Len: -2, Mod: -1, Name: "unknown", kind: kindText, cast: "VARCHAR"}
	BPChar      = &Type{OID: 1042, Array: 1014, Len: -1, Mod: -1, Name: "bpchar", kind: kindText, cast: "VARCHAR"}
	Varchar     = &Type{OID: 1043, Array: 1015, Len: -1, Mod: -1, Name: "varchar", kind: kindText, cast: "VARCHAR"}
	Date        = &Type{OID: 1082, Array: 1182, Len: 4, Mod: -1, Name: "date", kind: kindDate, cast: "DATE"}
	Time        = &Type{OID: 1083, Array: 1183, Len: 8, Mod: -1, Name: "time", kind: kindTime, cast: "TIME"}
	Timestamp   = &Type{OID: 1114, Array: 1115, Len: 8, Mod: -1, Name: "timestamp", kind: kindMoment, cast: "TIMESTAMP_NS"}
	TimestampTZ = &Type{
		OID: 1184, Array: 1185, Len: 8, Mod: -1, Name: "timestamptz", kind: kindMoment, cast: "TIMESTAMP_NS",
	}
	Interval = &Type{OID: 1186, Array: 1187, Len: 16, Mod: -1, Name: "interval", kind: kindInterval, cast: "INTERVAL"}
	TimeTZ   = &Type{
		OID: 1266, Array: 1270, Len: 12, Mod: -1, Name: "timetz", kind: kindTimeTZ, cast: "TIME WITH TIME ZONE",
	}
	Numeric = &Type{OID: 1700, Array: 1231, Len: -1, Mod: -1, Name: "numeric", kind: kindNumeric, cast: "DECIMAL(38,10)"}
	UUID    = &Type{OID: 2950, Array: 2951, Len: 16, Mod: -1, Name: "uuid", kind: kindUUID, cast: "UUID"}
	JSONB   = &Type{OID: 3802, Array: 3807, Len: -1, Mod: -1, Name: "jsonb", kind: kindJSON, cast: "JSON"}
)

// Scalars are all types except array types, by OID.
var Scalars = []*Type{
	Bool, Bytea, Char, Name, Int8, Int2, Int2Vector, Int4, Regproc, Text, OID, OIDVector, JSON, Float4, Float8, Unknown,
	BPChar, Varchar, Date, Time, Timestamp, TimestampTZ, Interval, TimeTZ, Numeric, UUID, JSONB,
}

var byOID = func() map[uint32]*Type {
	m := map[uint32]*Type{}
	for _, t := range Scalars {
		m[t.OID] = t
		if t.Array != 0 {
			m[t.Array] = ArrayOf(t)
		}
	}
	return m
}()

// ByOID returns the type with an OID, or nil if it is unknown.
func ByOID(oid uint32) *Type { return byOID[oid] }

// ArrayOf returns the array type of t, or JSON if there is none.
func ArrayOf(t *Type) *Type {
	if t.Array == 0 {
		return JSON
	}
	a := &Type{OID: t.Array, Len: -1, Mod: t.Mod, Name: "_" + t.Name, kind: kindArray, elem: t}
	if t.cast != "" {
		a.cast = t.cast + "[]"
	}
	return a
}

// numericOf returns the type numeric(precision, scale).
func numericOf(precision, scale int32) *Type {
	t := *Numeric
	t.Mod = (precision<<16 | scale) + 4
	t.cast = fmt.Sprintf("DECIMAL(%d,%d)", precision, scale)
	return &t
}

// wide is the precision of the engine's sums and 128-bit integers.
const wide = 38

// SQLTypeKey is the key in a field's metadata for the engine's type of a column that is sent as text.
const SQLTypeKey = "cordwood.sql_type"

// jsonType is the value of format.TypeKey in a field's metadata for texts that are JSON.
const jsonType = "Json"

// OfField returns the type of a column of a result.
func OfField(f arrow.Field) *Type {
	if name, ok := f.Metadata.GetValue(SQLTypeKey); ok {
		return OfEngine(name)
	}
	if name, ok := f.Metadata.GetValue(format.TypeKey); ok && name == jsonType {
		return JSON
	}
	return ofArrow(f.Type)
}

// byArrow maps Arrow types without parameters.
var byArrow = map[arrow.Type]*Type{
	arrow.BOOL: Bool, arrow.INT8: Int2, arrow.UINT8: Int2, arrow.INT16: Int2, arrow.UINT16: Int4, arrow.INT32: Int4,
	arrow.UINT32: Int8, arrow.INT64: Int8, arrow.UINT64: numericOf(20, 0), arrow.FLOAT32: Float4, arrow.FLOAT64: Float8,
	arrow.BINARY: Bytea, arrow.LARGE_BINARY: Bytea, arrow.BINARY_VIEW: Bytea, arrow.FIXED_SIZE_BINARY: Bytea,
	arrow.DATE32: Date, arrow.DATE64: Date, arrow.TIME32: Time, arrow.TIME64: Time, arrow.TIMESTAMP: TimestampTZ,
	arrow.INTERVAL_MONTH_DAY_NANO: Interval, arrow.STRUCT: JSON, arrow.MAP: JSON,
}

func ofArrow(t arrow.DataType) *Type {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return ofArrow(t.ValueType)
	case *arrow.MapType:
		return JSON
	case arrow.DecimalType:
		if t.GetPrecision() == wide && t.GetScale() == 0 {
			return Numeric
		}
		return numericOf(t.GetPrecision(), t.GetScale())
	case arrow.ListLikeType:
		elem := ofArrow(t.Elem())
		return listType(elem)
	}
	if found := byArrow[t.ID()]; found != nil {
		return found
	}
	return Text
}

// byEngine maps the engine's types without parameters.
var byEngine = map[string]*Type{
	"BOOLEAN": Bool, "TINYINT": Int2, "SMALLINT": Int2, "UTINYINT": Int2, "INTEGER": Int4, "USMALLINT": Int4,
	"BIGINT": Int8, "UINTEGER": Int8, "UBIGINT": numericOf(20, 0), "HUGEINT": Numeric, "UHUGEINT": Numeric,
	"BIGNUM": Numeric, "FLOAT": Float4, "DOUBLE": Float8, "BLOB": Bytea, "DATE": Date, "TIME": Time, "TIME_NS": Time,
	"TIME WITH TIME ZONE": TimeTZ, "TIMESTAMP": TimestampTZ, "TIMESTAMP_S": TimestampTZ, "TIMESTAMP_MS": TimestampTZ,
	"TIMESTAMP_NS": TimestampTZ, "TIMESTAMP WITH TIME ZONE": TimestampTZ, "INTERVAL": Interval, "UUID": UUID,
	"JSON": JSON,
}

// nestedAsText are the types that Arrow does not have. A nested type that contains one of them is sent as text.
var nestedAsText = []string{
	"ENUM(", "UNION(", "BIT", "TIME WITH TIME ZONE", "UHUGEINT", "BIGNUM", "TIME_NS", "INTERVAL", "UUID", "GEOMETRY",
	"VARIANT", `"NULL"`,
}

// OfEngine returns the type for the name of an engine's type, such as DECIMAL(18,3) or VARCHAR[].
func OfEngine(name string) *Type {
	if t := byEngine[name]; t != nil {
		return t
	}
	var p, s int32
	if n, _ := fmt.Sscanf(name, "DECIMAL(%d,%d)", &p, &s); n == 2 && strings.HasSuffix(name, ")") {
		if p == wide && s == 0 {
			return Numeric
		}
		return numericOf(p, s)
	}
	switch {
	case strings.HasPrefix(name, "ENUM(") && !strings.HasSuffix(name, "]"):
		return Text
	case strings.HasSuffix(name, "]"):
		return listOf(name[:strings.LastIndexByte(name, '[')])
	case strings.HasPrefix(name, "STRUCT("), strings.HasPrefix(name, "MAP("), strings.HasPrefix(name, "UNION("):
		if holdsText(name) {
			return Text
		}
		return JSON
	}
	return Text
}

func holdsText(name string) bool {
	return slices.ContainsFunc(nestedAsText, func(word string) bool { return strings.Contains(name, word) })
}

// listOf returns the type of a list whose elements have the engine's type elem.
func listOf(elem string) *Type {
	switch t := OfEngine(elem); {
	case elem == "UUID" || elem == "INTERVAL":
		return ArrayOf(t)
	case holdsText(elem):
		return Text
	default:
		return listType(t)
	}
}

// listType returns the type of lists of a type.
func listType(elem *Type) *Type {
	switch {
	case elem.kind == kindArray:
		return nestedOf(elem)
	case elem.nested != nil:
		return elem
	case elem.kind == kindJSON:
		return JSON
	}
	return ArrayOf(elem)
}
