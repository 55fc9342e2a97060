package pgcatalog

import "cordwood/proto/schema"

// PGType is a type of PostgreSQL.
type PGType struct {
	OID      int64
	Name     string
	Array    int64
	Len      int
	Category string
	// Spoken is the type's name in SQL, as format_type returns it.
	Spoken string
}

// Types has the types of columns and parameters, and types that clients look up.
var Types = []PGType{
	{16, "bool", 1000, 1, "B", "boolean"},
	{17, "bytea", 1001, -1, "U", "bytea"},
	{18, "char", 1002, 1, "Z", `"char"`},
	{19, "name", 1003, 64, "S", "name"},
	{20, "int8", 1016, 8, "N", "bigint"},
	{21, "int2", 1005, 2, "N", "smallint"},
	{22, "int2vector", 1006, -1, "A", "int2vector"},
	{23, "int4", 1007, 4, "N", "integer"},
	{24, "regproc", 1008, 4, "N", "regproc"},
	{25, "text", 1009, -1, "S", "text"},
	{26, "oid", 1028, 4, "N", "oid"},
	{30, "oidvector", 1013, -1, "A", "oidvector"},
	{114, "json", 199, -1, "U", "json"},
	{194, "pg_node_tree", 0, -1, "Z", "pg_node_tree"},
	{700, "float4", 1021, 4, "N", "real"},
	{701, "float8", 1022, 8, "N", "double precision"},
	{705, "unknown", 0, -2, "X", "unknown"},
	{1033, "aclitem", 1034, 12, "U", "aclitem"},
	{1042, "bpchar", 1014, -1, "S", "character"},
	{1043, "varchar", 1015, -1, "S", "character varying"},
	{1082, "date", 1182, 4, "D", "date"},
	{1083, "time", 1183, 8, "D", "time without time zone"},
	{1114, "timestamp", 1115, 8, "D", "timestamp without time zone"},
	{1184, "timestamptz", 1185, 8, "D", "timestamp with time zone"},
	{1186, "interval", 1187, 16, "T", "interval"},
	{1266, "timetz", 1270, 12, "D", "time with time zone"},
	{1700, "numeric", 1231, -1, "N", "numeric"},
	{2205, "regclass", 2210, 4, "N", "regclass"},
	{2206, "regtype", 2211, 4, "N", "regtype"},
	{2249, "record", 2287, -1, "P", "record"},
	{2276, "any", 0, 4, "P", `"any"`},
	{2278, "void", 0, 4, "P", "void"},
	{2950, "uuid", 2951, 16, "U", "uuid"},
	{3802, "jsonb", 3807, -1, "U", "jsonb"},
}

// typeOf returns the OID and the modifier of the type of a stored column.
func typeOf(t schema.Type) (oid int64, mod int) {
	switch {
	case t == schema.Boolean:
		return 16, -1
	case t == schema.Int8, t == schema.Uint8, t == schema.Int16:
		return 21, -1
	case t == schema.Uint16, t == schema.Int32:
		return 23, -1
	case t == schema.Uint32, t == schema.Int64:
		return 20, -1
	case t == schema.Uint64:
		return 1700, 20<<16 + 4
	case t == schema.Float32:
		return 700, -1
	case t == schema.Float64:
		return 701, -1
	case t == schema.Binary:
		return 17, -1
	case t == schema.JSON:
		return 114, -1
	case t.IsTimestamp():
		return 1184, -1
	}
	return 25, -1
}

// catalogTypes has the OIDs of the types of the catalog's own columns.
var catalogTypes = map[Type]int64{
	OID: 26, Name: 19, Text: 25, Bool: 16, Int2: 21, Int4: 23, Int8: 20, Char: 18, Regproc: 24, Moment: 1184, OIDs: 1028,
	Texts: 1009, Int2s: 1005, Chars: 1002, Vector: 22, OIDVector: 30,
}

// TypeOID returns the OID of the type of a column of the catalog.
func TypeOID(t Type) int64 { return catalogTypes[t] }

var lengths = func() map[int64]int {
	m := map[int64]int{}
	for _, t := range Types {
		m[t.OID] = t.Len
		m[t.Array] = -1
	}
	return m
}()

// TypeByName returns the OID of a type with either name, or 0 if it is unknown.
func TypeByName(name string) int64 {
	for _, t := range Types {
		switch name {
		case t.Name, t.Spoken:
			return t.OID
		case "_" + t.Name, t.Spoken + "[]", t.Name + "[]":
			return t.Array
		}
	}
	switch name {
	case "int":
		return 23
	case "decimal":
		return 1700
	}
	return 0
}
