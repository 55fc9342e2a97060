package plan

import "cordwood/proto/schema"

// TypeKey is the key of the field metadata with a column's own type, for types that Arrow does not
// have. TypeJSON is its value for JSON.
const (
	TypeKey  = "cordwood.type"
	TypeJSON = "Json"
	// SQLTypeKey is the key of the field metadata that has the engine's name of the type of a column that is sent as
	// text because Arrow lacks the type.
	SQLTypeKey = "cordwood.sql_type"
)

// EngineTypes are DuckDB's types: their SQL names, and their numbers in the C interface.
var EngineTypes = map[schema.Type]struct {
	SQL    string
	Number int
}{
	schema.Boolean:              {"BOOLEAN", 1},
	schema.Int8:                 {"TINYINT", 2},
	schema.Int16:                {"SMALLINT", 3},
	schema.Int32:                {"INTEGER", 4},
	schema.Int64:                {"BIGINT", 5},
	schema.Uint8:                {"UTINYINT", 6},
	schema.Uint16:               {"USMALLINT", 7},
	schema.Uint32:               {"UINTEGER", 8},
	schema.Uint64:               {"UBIGINT", 9},
	schema.Float32:              {"FLOAT", 10},
	schema.Float64:              {"DOUBLE", 11},
	schema.TimestampMicrosecond: {"TIMESTAMP", 12},
	schema.String:               {"VARCHAR", 17},
	schema.JSON:                 {"VARCHAR", 17},
	schema.Binary:               {"BLOB", 18},
	schema.TimestampSecond:      {"TIMESTAMP_S", 20},
	schema.TimestampMillisecond: {"TIMESTAMP_MS", 21},
	schema.TimestampNanosecond:  {"TIMESTAMP_NS", 22},
}
