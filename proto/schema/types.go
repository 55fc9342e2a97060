package schema

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// sqlTypes maps type names in statements, in capitals and without the length that character types
// may have. INT with a number has that many bits; TIMESTAMP without a precision has milliseconds.
var sqlTypes = map[string]Type{
	"BOOLEAN": Boolean, "BOOL": Boolean,

	"TINYINT": Int8, "INT8": Int8,
	"SMALLINT": Int16, "INT16": Int16,
	"INT": Int32, "INTEGER": Int32, "INT32": Int32,
	"BIGINT": Int64, "INT64": Int64,

	"TINYINT UNSIGNED": Uint8, "INT8 UNSIGNED": Uint8, "UNSIGNED TINYINT": Uint8, "UTINYINT": Uint8, "UINT8": Uint8,
	"SMALLINT UNSIGNED": Uint16, "INT16 UNSIGNED": Uint16, "UNSIGNED SMALLINT": Uint16, "USMALLINT": Uint16,
	"UINT16":       Uint16,
	"INT UNSIGNED": Uint32, "INTEGER UNSIGNED": Uint32, "INT32 UNSIGNED": Uint32, "UNSIGNED INT": Uint32,
	"UNSIGNED INTEGER": Uint32, "UINTEGER": Uint32, "UINT32": Uint32,
	"BIGINT UNSIGNED": Uint64, "INT64 UNSIGNED": Uint64, "UNSIGNED BIGINT": Uint64, "UBIGINT": Uint64, "UINT64": Uint64,

	"FLOAT": Float32, "REAL": Float32, "FLOAT32": Float32,
	"DOUBLE": Float64, "DOUBLE PRECISION": Float64, "FLOAT64": Float64,

	"STRING": String, "TEXT": String, "VARCHAR": String, "CHAR": String, "CHARACTER VARYING": String,
	"TINYTEXT": String, "MEDIUMTEXT": String, "LONGTEXT": String,
	"BINARY": Binary, "VARBINARY": Binary, "BLOB": Binary, "BYTEA": Binary,
	"JSON": JSON, "JSONB": JSON, "UUID": String,

	"TIMESTAMP":    TimestampMillisecond,
	"TIMESTAMP(0)": TimestampSecond, "TIMESTAMP_S": TimestampSecond, "TIMESTAMP_SEC": TimestampSecond,
	"TIMESTAMPSECOND": TimestampSecond, "TIMESTAMP_SECOND": TimestampSecond,
	"TIMESTAMP(3)": TimestampMillisecond, "TIMESTAMP_MS": TimestampMillisecond,
	"TIMESTAMPMILLISECOND": TimestampMillisecond, "TIMESTAMP_MILLISECOND": TimestampMillisecond,
	"TIMESTAMP(6)": TimestampMicrosecond, "TIMESTAMP_US": TimestampMicrosecond,
	"TIMESTAMPMICROSECOND": TimestampMicrosecond, "TIMESTAMP_MICROSECOND": TimestampMicrosecond,
	"TIMESTAMP(9)": TimestampNanosecond, "TIMESTAMP_NS": TimestampNanosecond,
	"TIMESTAMPNANOSECOND": TimestampNanosecond, "TIMESTAMP_NANOSECOND": TimestampNanosecond,
	"TIMESTAMPTZ": TimestampMicrosecond, "TIMESTAMP WITH TIME ZONE": TimestampMicrosecond,
	"TIMESTAMP WITHOUT TIME ZONE": TimestampMicrosecond,
}

// ParseType returns the type for a name in a statement or in one of our answers, in any case:
// `BIGINT`, `Int64`, `varchar(20)`, `TIMESTAMP (9)`. The length of a character or binary type is
// accepted and ignored.
//
// INT8 has 8 bits, and TIMESTAMP without a precision is TIMESTAMP(3). TIMESTAMP WITH TIME ZONE and
// WITHOUT TIME ZONE have microseconds, as in PostgreSQL, and are in UTC like all times. The error
// has code InvalidSyntax.
func ParseType(text string) (Type, error) {
	name := strings.Join(strings.Fields(strings.ToUpper(text)), " ")
	base, length, found := strings.Cut(name, "(")
	if found {
		base = strings.TrimSpace(base)
		length, rest, closed := strings.Cut(length, ")")
		length = strings.TrimSpace(length)
		if zone := strings.TrimSpace(rest); base == "TIMESTAMP" && (zone == "WITH TIME ZONE" || zone == "WITHOUT TIME ZONE") {
			rest = ""
		}
		switch t := sqlTypes[base]; {
		case !closed || strings.TrimSpace(rest) != "" || length == "" || leading(length, isDigit) != len(length):
			return Invalid, typeError(text)
		case t == String || t == Binary:
			return t, nil
		case base == "FLOAT" && len(length) <= 2:
			return floatOf(length), nil
		case base == "TIMESTAMPTZ":
			base = "TIMESTAMP"
		}
		name = base + "(" + length + ")"
	}
	if t, ok := sqlTypes[name]; ok {
		return t, nil
	}
	return Invalid, typeError(text)
}

// floatOf returns the type FLOAT(bits): DOUBLE if FLOAT has too few bits.
func floatOf(bits string) Type {
	if n, err := strconv.Atoi(bits); err == nil && n > 24 {
		return Float64
	}
	return Float32
}

func typeError(text string) error {
	return errs.New(errs.InvalidSyntax, "Unknown column type %s: use BOOLEAN, TINYINT, SMALLINT, INT, BIGINT (also "+
		"UNSIGNED), FLOAT, DOUBLE, STRING, BINARY, JSON or TIMESTAMP(0, 3, 6 or 9)", quoteShort(text))
}

// TimeRange returns the range of a timestamp type, in its unit. Seconds and milliseconds are
// limited to values that fit an int64 as microseconds. The largest int64 and its negative mean
// infinity to the query engine, so they are not times.
func (t Type) TimeRange() (lo, hi int64) {
	hi = 1<<63 - 2
	if per := t.UnitsPerSecond(); per <= 1000 {
		hi = 9_200_000_000_000 * per
	}
	return -hi, hi
}
