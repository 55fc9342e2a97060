package pgcatalog

import (
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

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
	{650, "cidr", 651, -1, "I", "cidr"},
	{700, "float4", 1021, 4, "N", "real"},
	{701, "float8", 1022, 8, "N", "double precision"},
	{705, "unknown", 0, -2, "X", "unknown"},
	{829, "macaddr", 1040, 6, "U", "macaddr"},
	{869, "inet", 1041, -1, "I", "inet"},
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

// function returns the name of the function that reads (in, recv) or writes (out, send) values of the type. Clients
// choose their own conversions by these names.
func (t PGType) function(what string) string {
	binary := what == "recv" || what == "send"
	switch t.Name {
	case "aclitem", "any":
		if binary {
			return "-"
		}
	case "cidr", "macaddr", "inet", "json", "jsonb", "pg_node_tree", "date", "time", "timetz", "timestamp",
		"timestamptz", "interval", "numeric", "uuid", "record", "void":
		return t.Name + "_" + what
	}
	if t.Name == "any" {
		return "any_" + what
	}
	return t.Name + what
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

// otherTypes has the OIDs of PostgreSQL's types that no value has here, and that statements of clients name.
var otherTypes = func() map[string]int64 {
	m := map[string]int64{}
	for entry := range strings.SplitSeq(otherTypesText, ";") {
		if f := strings.Fields(entry); len(f) == 2 {
			m[f[0]], _ = strconv.ParseInt(f[1], 10, 64) // the text is part of the program
		}
	}
	return m
}()

const otherTypesText = `
	tid 27; xid 28; cid 29; pg_ddl_command 32; xml 142; table_am_handler 269; index_am_handler 325;
	point 600; lseg 601; path 602; box 603; polygon 604; line 628; circle 718; macaddr8 774;
	money 790; bit 1560; varbit 1562; refcursor 1790; regprocedure 2202;
	regoper 2203; regoperator 2204; cstring 2275; anyarray 2277; trigger 2279; language_handler 2280;
	internal 2281; anyelement 2283; anynonarray 2776; txid_snapshot 2970; fdw_handler 3115; pg_lsn 3220;
	tsm_handler 3310; pg_ndistinct 3361; pg_dependencies 3402; anyenum 3500; tsvector 3614; tsquery 3615;
	gtsvector 3642; regconfig 3734; regdictionary 3769; anyrange 3831; event_trigger 3838; int4range 3904;
	numrange 3906; tsrange 3908; tstzrange 3910; daterange 3912; int8range 3926; jsonpath 4072;
	regnamespace 4089; regrole 4096; regcollation 4191; int4multirange 4451; nummultirange 4532;
	tsmultirange 4533; tstzmultirange 4534; datemultirange 4535; int8multirange 4536; anymultirange 4537;
	anycompatiblemultirange 4538; pg_brin_bloom_summary 4600; pg_brin_minmax_multi_summary 4601;
	pg_mcv_list 5017; pg_snapshot 5038; xid8 5069; anycompatible 5077; anycompatiblearray 5078;
	anycompatiblenonarray 5079; anycompatiblerange 5080;
`

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
	case "decimal", "dec":
		return 1700
	}
	return otherTypes[name]
}
