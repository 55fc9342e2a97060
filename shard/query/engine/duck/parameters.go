package duck

import (
	"fmt"
	"strconv"

	duckdb "github.com/duckdb/duckdb-go-bindings"
)

// typeNames are the types that a parameter may have, besides DECIMAL and lists.
var typeNames = map[duckdb.Type]string{
	duckdb.TypeBoolean: "BOOLEAN", duckdb.TypeTinyInt: "TINYINT", duckdb.TypeSmallInt: "SMALLINT",
	duckdb.TypeInteger: "INTEGER", duckdb.TypeBigInt: "BIGINT", duckdb.TypeHugeInt: "HUGEINT",
	duckdb.TypeUTinyInt: "UTINYINT", duckdb.TypeUSmallInt: "USMALLINT", duckdb.TypeUInteger: "UINTEGER",
	duckdb.TypeUBigInt: "UBIGINT", duckdb.TypeUHugeInt: "UHUGEINT", duckdb.TypeFloat: "FLOAT", duckdb.TypeDouble: "DOUBLE",
	duckdb.TypeVarchar: "VARCHAR", duckdb.TypeBlob: "BLOB", duckdb.TypeUUID: "UUID", duckdb.TypeDate: "DATE",
	duckdb.TypeTime: "TIME", duckdb.TypeTimeTZ: "TIME WITH TIME ZONE", duckdb.TypeInterval: "INTERVAL",
	duckdb.TypeTimestamp: "TIMESTAMP", duckdb.TypeTimestampS: "TIMESTAMP_S", duckdb.TypeTimestampMS: "TIMESTAMP_MS",
	duckdb.TypeTimestampNS: "TIMESTAMP_NS", duckdb.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE",
	duckdb.TypeTimeNS: "TIME_NS", duckdb.TypeBigNum: "BIGNUM",
}

// ParameterTypes returns the types that the statement expects for its parameters $1 to $n. The type
// is empty if the statement does not determine it.
func (s *Session) ParameterTypes(text string, n int) ([]string, error) {
	var stmt duckdb.PreparedStatement
	defer duckdb.DestroyPrepare(&stmt)
	if duckdb.Prepare(s.conn, text, &stmt) == duckdb.StateError {
		return nil, EngineError(duckdb.PrepareError(stmt), duckdb.ErrorTypeInvalid)
	}
	out := make([]string, n)
	for i := range duckdb.NParams(stmt) {
		number, err := strconv.Atoi(duckdb.ParameterName(stmt, i+1))
		if err != nil || number < 1 || number > n {
			continue
		}
		kind := duckdb.ParamLogicalType(stmt, i+1)
		if kind.Ptr != nil {
			out[number-1] = typeName(kind)
		}
		duckdb.DestroyLogicalType(&kind)
	}
	return out, nil
}

// typeName returns a type as DuckDB writes it, or "" if no parameter can have it.
func typeName(kind duckdb.LogicalType) string {
	switch id := duckdb.GetTypeId(kind); id {
	case duckdb.TypeDecimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", duckdb.DecimalWidth(kind), duckdb.DecimalScale(kind))
	case duckdb.TypeList:
		of := duckdb.ListTypeChildType(kind)
		defer duckdb.DestroyLogicalType(&of)
		if name := typeName(of); name != "" {
			return name + "[]"
		}
		return ""
	default:
		return typeNames[id]
	}
}
