package value

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// arrayOf makes a column from values. Types such as timestamps parse texts.
func arrayOf(t *testing.T, typ arrow.DataType, values ...any) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			b.AppendNull()
		case int64:
			switch b := b.(type) {
			case *array.TimestampBuilder:
				b.Append(arrow.Timestamp(v))
			case *array.Date32Builder:
				b.Append(arrow.Date32(v))
			case *array.Time64Builder:
				b.Append(arrow.Time64(v))
			default:
				t.Fatalf("no %T of an integer", b)
			}
		case float64:
			b.(*array.Float64Builder).Append(v)
		case []byte:
			b.(*array.BinaryBuilder).Append(v)
		case decimal128.Num:
			b.(*array.Decimal128Builder).Append(v)
		case string:
			if s, ok := b.(*array.StringBuilder); ok {
				s.Append(v)
			} else if err := b.AppendValueFromString(v); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.NewArray()
}

func field(typ arrow.DataType, sqlType string) arrow.Field {
	f := arrow.Field{Type: typ}
	if sqlType != "" {
		f.Metadata = arrow.NewMetadata([]string{SQLTypeKey}, []string{sqlType})
	}
	return f
}

// TestCells writes values of all types in both formats.
func TestCells(t *testing.T) {
	ns, us := &arrow.TimestampType{Unit: arrow.Nanosecond}, &arrow.TimestampType{Unit: arrow.Microsecond}
	text, ints := arrow.BinaryTypes.String, arrow.PrimitiveTypes
	num := func(s string, p, scale int32) decimal128.Num {
		n, err := decimal128.FromString(s, p, scale)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	dec := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	for _, tt := range []struct {
		typ          arrow.DataType
		sqlType      string
		v            any
		oid          uint32
		text, binary string
	}{
		{arrow.FixedWidthTypes.Boolean, "", "true", 16, "t", "01"},
		{ints.Int8, "", "-5", 21, "-5", "fffb"},
		{ints.Uint16, "", "65535", 23, "65535", "0000ffff"},
		{ints.Int64, "", "9223372036854775807", 20, "9223372036854775807", "7fffffffffffffff"},
		{ints.Uint64, "", "18446744073709551615", 1700, "18446744073709551615", "000500040000000007341a5802e103bb064f"},
		{dec(9, 4), "", num("-12345.6789", 9, 4), 1700, "-12345.6789", "0003000140000004000109291a85"},
		{dec(9, 4), "", num("0.0001", 9, 4), 1700, "0.0001", "0001ffff000000040001"},
		{dec(38, 0), "", num("0", 38, 0), 1700, "0", "0000000000000000"},
		{dec(10, 2), "", num("0", 10, 2), 1700, "0.00", "0000000000000002"},
		{dec(10, 2), "", num("10000", 10, 2), 1700, "10000.00", "00010001000000020001"},
		{ints.Float64, "", 0.1, 701, "0.1", "3fb999999999999a"},
		{ints.Float64, "", 1e15, 701, "1e+15", "430c6bf526340000"},
		{ints.Float64, "", 1e-5, 701, "1e-05", "3ee4f8b588e368f1"},
		{ints.Float64, "", math.Inf(-1), 701, "-Infinity", "fff0000000000000"},
		{ints.Float64, "", math.Copysign(0, -1), 701, "-0", "8000000000000000"},
		{ints.Float32, "", "1000000", 700, "1e+06", "49742400"},
		{text, "", "Jörg", 25, "Jörg", "4ac3b67267"},
		{arrow.BinaryTypes.Binary, "", []byte{0, 255}, 17, `\x00ff`, "00ff"},
		{arrow.FixedWidthTypes.Date32, "", int64(20458), 1082, "2026-01-05", "0000251d"},
		{arrow.FixedWidthTypes.Date32, "", int64(-735160), 1082, "0044-03-15 BC", "fff49d7b"},
		{arrow.FixedWidthTypes.Date32, "", int64(math.MaxInt32), 1082, "infinity", "7fffffff"},
		{arrow.FixedWidthTypes.Time64us, "", int64(36000500000), 1083, "10:00:00.5", "0000000861cc0920"},
		{ns, "", int64(1767607200123456789), 1184, "2026-01-05 10:00:00.123456+00", "0002ea9fe40c2a40"},
		{ns, "", int64(-1), 1184, "1969-12-31 23:59:59.999999+00", "fffca2fec4c81fff"},
		{us, "", int64(math.MaxInt64), 1184, "infinity", "7fffffffffffffff"},
		{us, "", int64(-math.MaxInt64), 1184, "-infinity", "8000000000000000"},
		{
			text, "INTERVAL", "1 year 2 months 3 days 04:05:06.5", 1186, "1 year 2 mons 3 days 04:05:06.5",
			"000000036c9361a0000000030000000e",
		},
		{text, "INTERVAL", "-1 days 02:00:00", 1186, "-1 days +02:00:00", "00000001ad274800ffffffff00000000"},
		{text, "INTERVAL", "00:00:00", 1186, "00:00:00", "00000000000000000000000000000000"},
		{
			text, "INTERVAL", "10 months 3 days -04:05:06.000001", 1186, "10 mons 3 days -04:05:06.000001",
			"fffffffc93743f7f000000030000000a",
		},
		{text, "INTERVAL", "123:00:00", 1186, "123:00:00", "0000006718efcc000000000000000000"},
		{
			text, "UUID", "2d89ebe6-1e13-47e5-803a-b81c87660b66", 2950, "2d89ebe6-1e13-47e5-803a-b81c87660b66",
			"2d89ebe61e1347e5803ab81c87660b66",
		},
		{text, "TIME WITH TIME ZONE", "10:00:00+02", 1266, "10:00:00+02", "0000000861c46800ffffe3e0"},
		{text, "TIME_NS", "10:00:00.123456789", 1083, "10:00:00.123456", "0000000861c64a40"},
		{
			text, "UHUGEINT", "340282366920938463463374607431768211455", 1700, "340282366920938463463374607431768211455",
			"000a00090000000001540b071a2403aa121a18c111ff10dd1aa505af",
		},
		{
			text, "UUID[]", "[2d89ebe6-1e13-47e5-803a-b81c87660b66, NULL]", 2951,
			"{2d89ebe6-1e13-47e5-803a-b81c87660b66,NULL}", "",
		},
		{
			arrow.ListOf(ints.Int32), "", "[1,null]", 1007, "{1,NULL}",
			"00000001000000010000001700000002000000010000000400000001ffffffff",
		},
		{arrow.ListOf(ints.Int32), "", "[]", 1007, "{}", "000000000000000000000017"},
		{arrow.ListOf(text), "", `["a,b","NULL",""," x","q\"\\"]`, 1009, `{"a,b","NULL",""," x","q\"\\"}`, ""},
		{arrow.ListOf(arrow.ListOf(ints.Int32)), "", "[[1],[2,3]]", 114, "[[1],[2,3]]", "5b5b315d2c5b322c335d5d"},
		{arrow.StructOf(arrow.Field{Name: "a", Type: ints.Int64}), "", `{"a":1}`, 114, `{"a":1}`, "7b2261223a317d"},
	} {
		a := arrayOf(t, tt.typ, tt.v)
		typ := OfField(field(tt.typ, tt.sqlType))
		if typ.OID != tt.oid {
			t.Errorf("%v %s: type %d, want %d", tt.typ, tt.sqlType, typ.OID, tt.oid)
			continue
		}
		got, err := CellOf(a, typ, FormatText)(nil, 0)
		if err != nil || string(got) != tt.text {
			t.Errorf("%v %v: text %q %v, want %q", tt.typ, tt.v, got, err, tt.text)
		}
		got, err = CellOf(a, typ, FormatBinary)(nil, 0)
		if err != nil || tt.binary != "" && hex.EncodeToString(got) != tt.binary {
			t.Errorf("%v %v: binary %x %v, want %s", tt.typ, tt.v, got, err, tt.binary)
		}
	}
}

// TestFarMoments checks that timestamps beyond PostgreSQL's range are refused.
func TestFarMoments(t *testing.T) {
	s := &arrow.TimestampType{Unit: arrow.Second}
	for v, want := range map[int64]string{
		-300_000_000_000: "", 1 << 60: "", -210_866_803_200: "4714-11-24 00:00:00+00 BC", -210_866_803_201: "",
		-62_135_596_801: "0001-12-31 23:59:59+00 BC", 253_402_300_800: "10000-01-01 00:00:00+00",
	} {
		got, err := CellOf(arrayOf(t, s, v), TimestampTZ, FormatText)(nil, 0)
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%d: %q %v, want %q", v, got, err, want)
		}
	}
}

// TestTypes checks the types for the engine's type names.
func TestTypes(t *testing.T) {
	for name, want := range map[string]uint32{
		"BIGINT": 20, "VARCHAR": 25, "DECIMAL(18,3)": 1700, "HUGEINT": 1700, "VARCHAR[]": 1009, "INTEGER[3]": 1007,
		"TIMESTAMP_NS": 1184, "TIMESTAMP WITH TIME ZONE": 1184, "UUID": 2950, "INTERVAL[]": 1187, "STRUCT(a INTEGER)": 114,
		"STRUCT(a UUID)": 25, "MAP(VARCHAR, INTEGER)": 114, "ENUM('a', 'b')": 25, "ENUM('a')[]": 25, "INTEGER[][]": 114,
		"BIT": 25, `"NULL"`: 25, "JSON": 114, "STRUCT(a INTEGER)[]": 114,
	} {
		if got := OfEngine(name).OID; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if m := OfEngine("DECIMAL(18,3)").Mod; m != 18<<16|3+4 {
		t.Errorf("modifier %d", m)
	}
	if m := OfEngine("UBIGINT").Mod; m != 1310724 {
		t.Errorf("modifier %d", m)
	}
	if m := OfEngine("DECIMAL(38,0)").Mod; m != -1 {
		t.Errorf("modifier of a sum %d", m)
	}
}

// TestLiterals checks the literals for values in text format.
func TestLiterals(t *testing.T) {
	for _, tt := range []struct {
		t           *Type
		text, want  string
		wantedState string
	}{
		{Int4, "-5", "CAST((-5) AS INTEGER)", ""},
		{Int2, "40000", "", "22003"},
		{Int8, "1; DROP TABLE x", "", "22P02"},
		{OID, "4294967295", "CAST(4294967295 AS BIGINT)", ""},
		{Text, "it's", "'it''s'", ""},
		{Text, "a\x00b", "", "22021"},
		{Bool, "yes", "TRUE", ""},
		{Bool, "maybe", "", "22P02"},
		{Numeric, "-1.50", "(-1.50)", ""},
		{Numeric, "NaN", "CAST('NaN' AS DOUBLE)", ""},
		{Numeric, "1.5e-3", "0.0015", ""},
		{Numeric, "-12e2", "(-1200)", ""},
		{Numeric, "0.12345678901234567890123456789012345678", ".12345678901234567890123456789012345678", ""},
		{Numeric, "1.234567890123456789012345678901234567800", "1.2345678901234567890123456789012345678", ""},
		{Numeric, "0.123456789012345678901234567890123456789", "", "22003"},
		{Numeric, "123456789012345678901234567890123456789", "", "22003"},
		{Numeric, "1e99999", "", "22003"},
		{Float8, "1e400", "", "22003"},
		{Float4, "1e39", "", "22003"},
		{Numeric, "1e-500", "", "22003"},
		{Numeric, strings.Repeat("9", 39), "", "22003"},
		{Float8, "-Infinity", "CAST('-Infinity' AS DOUBLE)", ""},
		{Bytea, `\x00ff`, "from_hex('00ff')", ""},
		{Bytea, `a\\\001`, "from_hex('615c01')", ""},
		{UUID, "{2D89EBE6-1e13-47e5-803a-b81c87660b66}", "CAST('2d89ebe6-1e13-47e5-803a-b81c87660b66' AS UUID)", ""},
		{UUID, "xyz", "", "22P02"},
		{JSON, `{"a":'}`, `'{"a":''}'::JSON`, ""},
		{TimestampTZ, "2026-01-05T10:00:00.123456789Z", "TIMESTAMP_NS '2026-01-05 10:00:00.123456789'", ""},
		{TimestampTZ, "2026-01-05 10:00:00+05:30", "TIMESTAMP_NS '2026-01-05 04:30:00'", ""},
		{Timestamp, "2026-01-05", "TIMESTAMP_NS '2026-01-05 00:00:00'", ""},
		{TimestampTZ, "9999-12-31 00:00:00+00", "TIMESTAMP '9999-12-31 00:00:00'", ""},
		{TimestampTZ, "9999-12-31 23:59:59.999999+00", "TIMESTAMP '9999-12-31 23:59:59.999999'", ""},
		{TimestampTZ, "294247-01-10 04:00:54.775806+00", "TIMESTAMP '294247-01-10 04:00:54.775806'", ""},
		{TimestampTZ, "294247-01-10 04:00:54.775807+00", "", "22008"},
		{TimestampTZ, "294277-01-01 00:00:00+00", "", "22008"},
		{TimestampTZ, "4714-11-24 00:00:00 BC", "TIMESTAMP '4714-11-24 (BC) 00:00:00'", ""},
		{TimestampTZ, "4714-11-23 23:59:59 BC", "", "22008"},
		{TimestampTZ, "0044-03-15 BC", "TIMESTAMP '0044-03-15 (BC) 00:00:00'", ""},
		{TimestampTZ, "0044-03-15 10:00:00+00 BC", "TIMESTAMP '0044-03-15 (BC) 10:00:00'", ""},
		{TimestampTZ, "0005-02-29 BC", "TIMESTAMP '0005-02-29 (BC) 00:00:00'", ""},
		{Date, "0004-02-29 BC", "", "22008"},
		{Date, "0000-01-01", "", "22008"},
		{Date, "5874897-12-31", "DATE '5874897-12-31'", ""},
		{Date, "5874898-01-01", "", "22008"},
		{Float8, "1e-400", "", "22003"},
		{Float8, "-1E-400", "", "22003"},
		{Float8, "0e-400", "CAST('0e-400' AS DOUBLE)", ""},
		{Float8, "1e400", "", "22003"},
		{Float4, "1e-50", "", "22003"},
		{ArrayOf(Int4), "{{{{{{{1}}}}}}}", "", "54000"},
		{
			ArrayOf(TimestampTZ), "{infinity,2026-01-05}",
			"CAST([TIMESTAMP 'infinity',TIMESTAMP_NS '2026-01-05 00:00:00'] AS TIMESTAMP[])", "",
		},
		{TimestampTZ, "0044-03-15 00:00:00 BC", "TIMESTAMP '0044-03-15 (BC) 00:00:00'", ""},
		{TimestampTZ, "infinity", "TIMESTAMP 'infinity'", ""},
		{TimestampTZ, "now", "", "22007"},
		{TimestampTZ, "2026-02-30", "", "22008"},
		{Date, "0044-03-15 BC", "DATE '0044-03-15 (BC)'", ""},
		{Date, "2026/01/05", "DATE '2026-01-05'", ""},
		{Date, "20260105", "DATE '2026-01-05'", ""},
		{Date, "2026-01-05 10:00:00+02", "DATE '2026-01-05'", ""},
		{Date, "2026-01-05 x", "", "22007"},
		{Interval, "1-2", "(INTERVAL (14) MONTH + INTERVAL (0) DAY + INTERVAL (0) MICROSECOND)", ""},
		{Interval, "1.5 days ago", "(INTERVAL (0) MONTH + INTERVAL (-1) DAY + INTERVAL (-43200000000) MICROSECOND)", ""},
		{Interval, "1 month - 1 day", "(INTERVAL (1) MONTH + INTERVAL (-1) DAY + INTERVAL (0) MICROSECOND)", ""},
		{Interval, "P1Y2M3DT4H", "(INTERVAL (14) MONTH + INTERVAL (3) DAY + INTERVAL (14400000000) MICROSECOND)", ""},
		{Interval, "3 4:05:06", "(INTERVAL (0) MONTH + INTERVAL (3) DAY + INTERVAL (14706000000) MICROSECOND)", ""},
		{Interval, "1 fortnight", "", "22007"},
		{Interval, "1e3 days", "", "22007"},
		{Interval, "9999999999 years", "", "22008"},
		{Date, "2026-01-05", "DATE '2026-01-05'", ""},
		{Time, "10:00", "TIME '10:00:00'", ""},
		{TimeTZ, "10:00:00-02", "CAST('10:00:00-02:00' AS TIME WITH TIME ZONE)", ""},
		{Interval, "1 day", "(INTERVAL (0) MONTH + INTERVAL (1) DAY + INTERVAL (0) MICROSECOND)", ""},
		{ArrayOf(Int4), `{1,NULL,-3}`, "CAST([CAST(1 AS INTEGER),NULL,CAST((-3) AS INTEGER)] AS INTEGER[])", ""},
		{ArrayOf(Text), `{"a,b","NULL",x\"y, z }`, `CAST(['a,b','NULL','x"y','z'] AS VARCHAR[])`, ""},
		{
			ArrayOf(Int4), `{{1,2},{3,4}}`,
			"CAST([[CAST(1 AS INTEGER),CAST(2 AS INTEGER)],[CAST(3 AS INTEGER),CAST(4 AS INTEGER)]] AS INTEGER[][])", "",
		},
		{ArrayOf(Int4), `{1`, "", "22P02"},
		{ArrayOf(Int4), `{1,}`, "", "22P02"},
		{ArrayOf(Int4), `{`, "", "22P02"},
		{ArrayOf(Text), "{" + strings.Repeat("a,", 70_000) + "a}", "", "54000"},
	} {
		got, err := Literal(tt.t, FormatText, []byte(tt.text))
		var e *Error
		if errors.As(err, &e) && e.State != tt.wantedState || (err != nil) != (tt.wantedState != "") ||
			got != tt.want && err == nil {
			t.Errorf("%s %.60q: %s %v, want %s %s", tt.t.Name, tt.text, got, err, tt.want, tt.wantedState)
		}
	}
	if got, _ := Literal(Int4, FormatText, nil); got != "CAST(NULL AS INTEGER)" {
		t.Error(got)
	}
}

// TestRoundTrip decodes values that were encoded in binary format.
func TestRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		t    *Type
		hex  string
		want string
	}{
		{Numeric, "000500040000000007341a5802e103bb064f", "18446744073709551615"},
		{Numeric, "0003000140000004000109291a85", "(-12345.6789)"},
		{Numeric, "0001ffff000000040001", "0.0001"},
		{Numeric, "0001fffe000000080001", "0.00000001"},
		{Numeric, "00010001000000020001", "10000.00"},
		{Numeric, "0000000000000000", "0"},
		{TimestampTZ, "0002ea9fe40c2a40", "TIMESTAMP_NS '2026-01-05 10:00:00.123456'"},
		{Date, "0000251d", "DATE '2026-01-05'"},
		{Time, "0000000861cc0920", "TIME '10:00:00.5'"},
		{TimeTZ, "0000000861c46800ffffe3e0", "CAST('10:00:00+02:00' AS TIME WITH TIME ZONE)"},
		{
			Interval, "000000036c9361a0000000030000000e",
			"(INTERVAL (14) MONTH + INTERVAL (3) DAY + INTERVAL (14706500000) MICROSECOND)",
		},
		{Bool, "01", "TRUE"},
		{Float4, "49742400", "CAST('1e+06' AS FLOAT)"},
		{JSONB, "017b7d", "'{}'::JSON"},
		{
			ArrayOf(Int4), "00000001000000010000001700000002000000010000000400000001ffffffff",
			"CAST([CAST(1 AS INTEGER),NULL] AS INTEGER[])",
		},
	} {
		b, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Literal(tt.t, FormatBinary, b); got != tt.want || err != nil {
			t.Errorf("%s %s: %s %v, want %s", tt.t.Name, tt.hex, got, err, tt.want)
		}
		if got, err := Literal(tt.t, FormatBinary, b[:len(b)-1]); err == nil && tt.t != JSONB {
			t.Errorf("%s: cut short it is %s", tt.t.Name, got)
		}
	}
	huge, _ := hex.DecodeString("000000010000000000000017ffffffff00000001")
	if _, err := Literal(ArrayOf(Int4), FormatBinary, huge); err == nil {
		t.Error("an array of 2^32 elements is taken")
	}
}

// FuzzLiteral parses random values as each type. The result must be exactly one literal.
func FuzzLiteral(f *testing.F) {
	f.Add(uint16(0), false, []byte("1"))
	f.Add(uint16(24), true, []byte{0, 1, 0, 1, 0, 0, 0, 2, 0, 1})
	f.Add(uint16(100), false, []byte(`{"a\"b",NULL,{c}}`))
	f.Add(uint16(19), false, []byte("2026-01-05 10:00:00.5+02 BC"))
	f.Fuzz(func(t *testing.T, which uint16, isBinary bool, in []byte) {
		typ := Scalars[int(which)%len(Scalars)]
		if which >= 100 && typ.Array != 0 {
			typ = ArrayOf(typ)
		}
		format := FormatText
		if isBinary {
			format = FormatBinary
		}
		literal, err := Literal(typ, format, in)
		if err != nil {
			return
		}
		inside := false
		depth := 0
		for _, r := range literal {
			switch {
			case r == '\'':
				inside = !inside
			case inside:
			case r == ';' || r == '-' && depth == 0 && !strings.HasPrefix(literal, "-"):
				t.Fatalf("%s %q: %s", typ.Name, in, literal)
			case r == '(' || r == '[':
				depth++
			case r == ')' || r == ']':
				depth--
			}
		}
		if inside || depth != 0 {
			t.Fatalf("%s %q: %s", typ.Name, in, literal)
		}
		if _, err := Store(typ, format, in); err == nil && typ.kind == kindArray {
			return
		}
	})
}

// TestMatrix checks arrays with two dimensions in both formats.
func TestMatrix(t *testing.T) {
	b := array.NewListBuilder(memory.DefaultAllocator, arrow.ListOf(arrow.PrimitiveTypes.Int32))
	inner := b.ValueBuilder().(*array.ListBuilder)
	numbers := inner.ValueBuilder().(*array.Int32Builder)
	for _, row := range [][][]int32{{{1, 2}, {3, -1}}, {}, {{1}, {2, 3}}} {
		b.Append(true)
		for _, list := range row {
			inner.Append(true)
			for _, n := range list {
				if n < 0 {
					numbers.AppendNull()
					continue
				}
				numbers.Append(n)
			}
		}
	}
	a := b.NewArray()
	typ := OfField(arrow.Field{Type: a.DataType()})
	if typ.OID != JSON.OID || typ.Nested() == nil || typ.Nested().OID != Int4.Array {
		t.Fatalf("%+v", typ)
	}
	text, bin := CellOf(a, typ.Nested(), FormatText), CellOf(a, typ.Nested(), FormatBinary)
	for row, want := range []struct{ text, bin string }{
		{"{{1,2},{3,NULL}}", "00000002" + "00000001" + "00000017" + "0000000200000001" + "0000000200000001" +
			"0000000400000001" + "0000000400000002" + "0000000400000003" + "ffffffff"},
		{"{}", "00000000" + "00000000" + "00000017"},
	} {
		if got, err := text(nil, row); string(got) != want.text || err != nil {
			t.Errorf("%d: %s %v", row, got, err)
		}
		if got, err := bin(nil, row); hex.EncodeToString(got) != want.bin || err != nil {
			t.Errorf("%d: %x %v", row, got, err)
		}
	}
	for _, cell := range []Cell{text, bin} {
		var failed *Error
		if _, err := cell(nil, 2); !errors.As(err, &failed) || failed.State != "2202E" {
			t.Errorf("lists of different lengths: %v", err)
		}
	}
}

// TestStoredTexts checks that bytes that are no text of PostgreSQL are not stored, in either format.
func TestStoredTexts(t *testing.T) {
	for _, typ := range []*Type{Text, JSON, Int8, Bool, TimestampTZ, Bytea} {
		for _, text := range []string{"a\x00b", "a\xff", "\xed\xa0\x80"} {
			var e *Error
			if stored, err := Store(typ, FormatText, []byte(text)); !errors.As(err, &e) || e.State != "22021" {
				t.Errorf("%s %q as text: %q, %v", typ.Name, text, stored.Text, err)
			}
			if typ != Text && typ != JSON {
				continue
			}
			if stored, err := Store(typ, FormatBinary, []byte(text)); !errors.As(err, &e) || e.State != "22021" {
				t.Errorf("%s %q as binary: %q, %v", typ.Name, text, stored.Text, err)
			}
		}
	}
	if stored, err := Store(Bytea, FormatBinary, []byte("a\x00\xff")); err != nil || stored.Text != "a\x00\xff" {
		t.Errorf("%q, %v", stored.Text, err)
	}
}

// TestSpelledTimes checks texts of times that are no times.
func TestSpelledTimes(t *testing.T) {
	for _, text := range []string{
		"Jan 2026", "Jan Feb 2026", "5 6 2026", "Jan 5 2026 13:00 PM", "Jan 5 2026 0:30 AM", "Jan 5 2026 10:00 XYZ",
		"Janu 5 2026", "Jan 5 2026 2026-01-05", "Jan 5 2026 10:00 11:00", "Jan 5 2026 PM", "2026.13.05",
		"Jan 5 2026 10:00 Local/Local", "",
	} {
		if literal, err := MomentLiteral(text); err == nil {
			t.Errorf("%q is %s", text, literal)
		}
	}
}
