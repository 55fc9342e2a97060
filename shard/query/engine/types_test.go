package engine

import (
	"fmt"
	"math"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"

	"github.com/google/go-cmp/cmp"
)

// allTypes has a column of every type.
var allTypes = cols("ts:TimestampNanosecond", "b:Boolean", "i8:Int8", "i16:Int16", "i32:Int32", "i64:Int64",
	"u8:UInt8", "u16:UInt16", "u32:UInt32", "u64:UInt64", "f32:Float32", "f64:Float64", "s:String", "bin:Binary",
	"j:Json", "t0:TimestampSecond", "t3:TimestampMillisecond", "t6:TimestampMicrosecond", "t9:TimestampNanosecond")

var allRows = [][]any{
	{
		1_700_000_000_123_456_789, true, -128, -32768, math.MinInt32, math.MinInt64, 0, 0, 0, 0,
		-1.5, math.SmallestNonzeroFloat64, "", "\x00\xff", `{"k":1}`, -1, -1, -1, -1,
	},
	{
		1_700_000_000_123_456_790, false, 127, 32767, math.MaxInt32, math.MaxInt64, 255, 65535, math.MaxUint32, int64(-1),
		1.5, math.MaxFloat64, "twelve bytes", "", `[1, 2]`, 1_700_000_000, 1_700_000_000_123, 1_700_000_000_123_456,
		1_700_000_000_123_456_789,
	},
	{1_700_000_000_123_456_791, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil},
	{1_700_000_000_123_456_792, true, 1, 1, 1, 1, 1, 1, 1, 1, 0.25, 0.1, "thirteen byte", "abc", `"é"`, 0, 0, 0, 0},
}

// allWant are the rows in the expected Arrow form.
var allWant = []string{
	`2023-11-14T22:13:20.123456789|true|-128|-32768|-2147483648|-9223372036854775808|0|0|0|0|-1.5|5e-324||AP8=|{"k":1}|` +
		`1969-12-31T23:59:59|1969-12-31T23:59:59.999|1969-12-31T23:59:59.999999|1969-12-31T23:59:59.999999999`,
	`2023-11-14T22:13:20.12345679|false|127|32767|2147483647|9223372036854775807|255|65535|4294967295|` +
		`18446744073709551615|1.5|1.7976931348623157e+308|twelve bytes||[1, ` +
		`2]|2023-11-14T22:13:20|2023-11-14T22:13:20.123|2023-11-14T22:13:20.123456|2023-11-14T22:13:20.123456789`,
	`2023-11-14T22:13:20.123456791|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|` +
		`NULL|NULL|NULL`,
	`2023-11-14T22:13:20.123456792|true|1|1|1|1|1|1|1|1|0.25|0.1|thirteen ` +
		`byte|YWJj|"é"|1970-01-01T00:00:00|1970-01-01T00:00:00|1970-01-01T00:00:00|1970-01-01T00:00:00`,
}

const allArrow = `ts:timestamp[ns] b:bool i8:int8 i16:int16 i32:int32 i64:int64 u8:uint8 u16:uint16 u32:uint32 ` +
	`u64:uint64 ` +
	`f32:float32 f64:float64 s:utf8 bin:binary j:utf8 t0:timestamp[s] t3:timestamp[ms] t6:timestamp[us] t9:timestamp[ns]`

func TestAllTypes(t *testing.T) {
	dir := t.TempDir()
	e := openEngine(t, dir)
	for name, tab := range map[string]query.Table{
		"batch":   table("t", allTypes, batch(t, allTypes, allRows...)),
		"batches": table("t", allTypes, batch(t, allTypes, allRows[:1]...), batch(t, allTypes, allRows[1:]...)),
		"segment": table("t", allTypes, fileOf(t, dir, 0, allTypes, allRows...)),
		"segments": table("t", allTypes, fileOf(t, dir, 0, allTypes, allRows[2:]...),
			fileOf(t, dir, 0, allTypes, allRows[:2]...)),
		"segment + batch": table("t", allTypes, fileOf(t, dir, 0, allTypes, allRows[:3]...), batch(t, allTypes, allRows[3])),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ask(e, "SELECT * FROM t ORDER BY ts", tab)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(allWant, a.rows); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			got := ""
			for i, f := range a.schema.Fields() {
				if i > 0 {
					got += " "
				}
				got += f.Name + ":" + f.Type.String()
				if json, _ := f.Metadata.GetValue(plan.TypeKey); (json == plan.TypeJSON) != (f.Name == "j") {
					t.Errorf("column %s: metadata %q", f.Name, json)
				}
			}
			if diff := cmp.Diff(allArrow, got); diff != "" {
				t.Errorf("types: -want +got:\n%s", diff)
			}
			// The types in DuckDB, and functions on them.
			for sql, want := range map[string]string{
				"SELECT typeof(any_value(j)), typeof(any_value(t0)), typeof(any_value(t3)), typeof(any_value(t6)), " +
					"typeof(any_value(ts)) FROM t": "JSON|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP|TIMESTAMP_NS",
				"SELECT j->>'$.k', j->'k' FROM t WHERE s = ''":                      "1|1",
				"SELECT sum(i64), sum(u64), sum(b::int), avg(f64) > 0 FROM t":       "0|18446744073709551616|2|true",
				"SELECT epoch_ns(max(ts)) FROM t":                                   "1700000000123456792",
				"SELECT count(*) FROM t WHERE t9 = '2023-11-14 22:13:20.123456789'": "1",
				"SELECT count(*) FROM t WHERE t0 = '2023-11-14 22:13:20'":           "1",
				"SELECT count(*) FROM t WHERE t3 >= '2023-11-14 22:13:20.123'":      "1",
				"SELECT count(*), count(b), count(s), count(bin) FROM t":            "4|3|3|3",
			} {
				if got := mustQuery(t, e, sql, tab); len(got) != 1 || got[0] != want {
					t.Errorf("%s: got %q, want %q", sql, got, want)
				}
			}
		})
	}
}

// TestEncodings covers every width and encoding of a batch, at every offset within a chunk.
func TestEncodings(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "v:Int64")
	ranges := map[string][2]int64{
		"width 0": {7, 1}, "width 1": {-5, 200}, "width 2": {-1000, 60_000}, "width 4": {1 << 40, 1 << 31},
		"width 8": {math.MinInt64, math.MaxInt64},
	}
	for name, r := range ranges {
		t.Run(name, func(t *testing.T) {
			value := func(i int) int64 {
				if name == "width 8" {
					return int64(uint64(i) * 0x9e3779b97f4a7c15)
				}
				return r[0] + int64(i*7919)%r[1]
			}
			// Batches of uneven lengths, so that chunks are filled from several batches.
			tab := table("t", columns)
			var sum uint64
			nulls, n := 0, 0
			for _, size := range []int{1, 3, 2047, 2048, 2049, 5000, 63, 64, 65, 1} {
				var rows [][]any
				for range size {
					if n%5 == 3 {
						rows = append(rows, []any{n, nil})
						nulls++
					} else {
						rows = append(rows, []any{n, value(n)})
						sum += uint64(value(n)) * uint64(n%13)
					}
					n++
				}
				tab.Batches = append(tab.Batches, batch(t, columns, rows...))
			}
			got := mustQuery(t, e, `SELECT count(*), count(*) - count(v), sum(epoch(ts)::BIGINT),
				(sum(v::HUGEINT * (epoch(ts)::BIGINT % 13)) % 18446744073709551616 + 18446744073709551616) % `+
				`18446744073709551616 FROM t`, tab)
			want := fmt.Sprintf("%d|%d|%d|%d", n, nulls, n*(n-1)/2, sum)
			if diff := cmp.Diff([]string{want}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestStrings(t *testing.T) {
	e := openEngine(t, t.TempDir())
	columns := cols("ts:TimestampSecond", "few:String", "mid:String", "one:String", "many:String")
	text := func(kind string, i int) string {
		s := fmt.Sprintf("%s-%d-", kind, i)
		for len(s) < i%30 {
			s += "é"
		}
		return s
	}
	tab, n := table("t", columns), 0
	var want []string
	for _, size := range []int{3000, 10, 1, 700, 4000} {
		var rows [][]any
		for range size {
			row := []any{n, text("few", n%7), text("some", n%1000), "always the same", text("many", n)}
			line := fmt.Sprintf("%d|%s|%s|%s|%s", n, row[1], row[2], row[3], row[4])
			if n%11 == 5 {
				row[1], row[4] = nil, nil
				line = fmt.Sprintf("%d|NULL|%s|%s|NULL", n, row[2], row[3])
			}
			rows, want = append(rows, row), append(want, line)
			n++
		}
		tab.Batches = append(tab.Batches, batch(t, columns, rows...))
	}
	got := mustQuery(t, e, "SELECT epoch(ts)::BIGINT, few, mid, one, many FROM t ORDER BY ts", tab)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Types that only expressions have must come out as something, and never as a crash.
func TestResultTypes(t *testing.T) {
	e := openEngine(t, t.TempDir())
	for sql, want := range map[string]string{
		"NULL":                        "int32 NULL",
		"1::HUGEINT":                  "decimal(38, 0) 1",
		"sum(x) FROM (SELECT 5 AS x)": "decimal(38, 0) 5",
		"(-170141183460469231731687303715884105727)::HUGEINT": "decimal(38, 0) -1.7014118346046923173168730371588410573e+38",
		"1::UHUGEINT":                                  "utf8 1",
		"1.25::DECIMAL(10,2)":                          "decimal(10, 2) 1.25",
		"1.25::DECIMAL(4,2)":                           "decimal(4, 2) 1.25",
		"DATE '2026-01-02'":                            "date32 2026-01-02",
		"TIME '01:02:03.000004'":                       "time64[us] 01:02:03.000004",
		"TIMETZ '01:02:03+01'":                         "utf8 01:02:03+01",
		"TIMESTAMPTZ '2026-01-02 03:04:05+01'":         "timestamp[us, tz=UTC] 2026-01-02T02:04:05Z",
		"INTERVAL 25 HOUR":                             "utf8 25:00:00",
		"'6f1e2c3a-0000-4000-8000-000000000001'::UUID": "utf8 6f1e2c3a-0000-4000-8000-000000000001",
		"'101'::BIT":                                   "utf8 101",
		"'\\xAA'::BLOB":                                "binary qg==",
		"'a'::ENUM('a', 'b')":                          "utf8 a",
		"[1, NULL, 3]":                                 "list<l: int32, nullable> [1,null,3]",
		"[[1], []]":                                    "list<l: list<l: int32, nullable>, nullable> [[1],[]]",
		"[INTERVAL 1 DAY]":                             "utf8 [1 day]",
		"{'a': 1, 'b': 'x'}":                           "struct<a: int32 nullable, b: utf8 nullable> {\"a\":1,\"b\":\"x\"}",
		"{'a': 'x'::ENUM('x')}":                        "utf8 {'a': x}",
		"MAP {'k': 1}":                                 "map<utf8, int32, items_nullable> [{\"key\":\"k\",\"value\":1}]",
		"[1, 2, 3]::INTEGER[3]":                        "fixed_size_list<: int32, nullable>[3] [1,2,3]",
		"union_value(n := 1)":                          "utf8 1",
		"'{\"a\": 1}'::JSON":                           "utf8 {\"a\": 1}",
		"12345678901234567890123456789012345678901234567890::BIGNUM": "",
		"true":             "bool true",
		"'NaN'::DOUBLE":    "float64 NaN",
		"'1 day'::VARIANT": "",
		"TIMESTAMP_NS '2026-01-02 03:04:05.123456789'": "timestamp[ns] 2026-01-02T03:04:05.123456789",
		"TIMESTAMP 'infinity'":                         "",
	} {
		a, err := ask(e, "SELECT "+sql)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", sql, err)
			}
			continue
		}
		got := a.schema.Field(0).Type.String() + " " + a.rows[0]
		if want != "" && got != want {
			t.Errorf("%s:\n got %s\nwant %s", sql, got, want)
		}
	}
}

func TestExposedNames(t *testing.T) {
	var columns []schema.Column
	for _, n := range []string{"A", "a", "b", "a_1", "A", "", "rowid", "Ä", "ä", "x\x00y"} {
		columns = append(columns, schema.Column{Name: n})
	}
	want := []string{"A", "a_2", "b", "a_1", "A_3", "_", "rowid", "Ä", "ä", "x\ufffdy"}
	if diff := cmp.Diff(want, plan.ExposedNames(columns)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestTypesSentAsText checks that the types of columns that Arrow lacks are sent with the column.
func TestTypesSentAsText(t *testing.T) {
	e := openEngine(t, t.TempDir())
	a, err := ask(e, "SELECT uuid '2d89ebe6-1e13-47e5-803a-b81c87660b66', INTERVAL 1 DAY, TIMETZ '10:00:00+02', "+
		"1::UHUGEINT, [INTERVAL 1 DAY], 'a'::ENUM('a'), 1, 'text'")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"UUID", "INTERVAL", "TIME WITH TIME ZONE", "UHUGEINT", "INTERVAL[]", "", "", ""}
	for i, f := range a.schema.Fields() {
		if got, _ := f.Metadata.GetValue(plan.SQLTypeKey); got != want[i] {
			t.Errorf("column %d: %q, want %q", i, got, want[i])
		}
	}
}
