package segment

import (
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
)

// query runs a statement in an engine that did not write the files.
func query(t *testing.T, statement string) string {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintln(&out, strings.Join(names, "|"))
	for rows.Next() {
		vals := make([]sql.NullString, len(names))
		ptrs := make([]any, len(names))
		for i := range vals {
			ptrs[i] = &vals[i]
		}
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		for i, v := range vals {
			if i > 0 {
				fmt.Fprint(&out, "|")
			}
			if v.Valid {
				fmt.Fprint(&out, v.String)
			} else {
				fmt.Fprint(&out, "NULL")
			}
		}
		fmt.Fprintln(&out)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestEveryTypeReadsInDuckDB writes the extreme values of every type in every possible encoding,
// and makes DuckDB read the types and values.
func TestEveryTypeReadsInDuckDB(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "b:Boolean", "i8:Int8", "i16:Int16", "i32:Int32", "i64:Int64",
		"u8:UInt8", "u16:UInt16", "u32:UInt32", "u64:UInt64", "f32:Float32", "f64:Float64", "s:String",
		"bin:Binary", "j:Json",
		"tss:TimestampSecond", "tms:TimestampMillisecond", "tus:TimestampMicrosecond", "tns:TimestampNanosecond")
	edge := []row{
		{
			"ts": 0, "b": true, "i8": math.MinInt8, "i16": math.MinInt16, "i32": math.MinInt32, "i64": int64(math.MinInt64),
			"u8": 0, "u16": 0, "u32": 0, "u64": 0, "f32": 1.5, "f64": -math.MaxFloat64, "s": "ünï\x00\"", "bin": "\x00\xff",
			"j":   `{"a":[1]}`,
			"tss": -1, "tms": -1, "tus": -1, "tns": -1,
		},
		{
			"ts": 1, "b": false, "i8": math.MaxInt8, "i16": math.MaxInt16, "i32": math.MaxInt32, "i64": int64(math.MaxInt64),
			"u8": math.MaxUint8, "u16": math.MaxUint16, "u32": math.MaxUint32, "u64": uint64(math.MaxUint64), "f32": -0.25,
			"f64": math.SmallestNonzeroFloat64,
			"s":   "", "bin": "", "j": "null", "tss": 1700000000, "tms": 1700000000123, "tus": 1700000000123456,
			"tns": 1700000000123456789,
		},
		{"ts": 2},
	}
	var spread, same []row
	for i := range 2000 {
		r := row{}
		for name, v := range edge[i%3] {
			r[name] = v
		}
		r["ts"] = i
		same = append(same, r)
		if i >= 3 {
			r = row{
				"ts": i, "i64": i * 7919, "u64": i * 31, "f64": float64(i), "s": fmt.Sprint("value ", i*7919),
				"j": fmt.Sprint(i), "i32": -i, "tms": i * 1000,
			}
		}
		spread = append(spread, r)
	}
	want := "ts|b|i8|i16|i32|i64|u8|u16|u32|u64|f32|f64|s|bin|j|tss|tms|tus|tns\n" +
		"1970-01-01 00:00:00|true|-128|-32768|-2147483648|-9223372036854775808|0|0|0|0|1.5|" +
		"-1.7976931348623157e+308|ünï\x00\"|\\x00\\xFF|{\"a\":[1]}|1969-12-31 23:59:59|1969-12-31 23:59:59.999|1969-12-31 " +
		"23:59:59.999999|1969-12-31 23:59:59.999999999\n" +
		"1970-01-01 00:00:00.000000001|false|127|32767|2147483647|9223372036854775807|255|65535|4294967295|" +
		"18446744073709551615|-0.25|5e-324||||2023-11-14 22:13:20|2023-11-14 22:13:20.123|2023-11-14 " +
		"22:13:20.123456|2023-11-14 22:13:20.123456789\n"
	want = strings.Replace(want, "-0.25|5e-324||||", "-0.25|5e-324|||null|", 1)
	want += "1970-01-01 00:00:00.000000002" + strings.Repeat("|NULL", 18) + "\n"
	for name, rows := range map[string][]row{"few rows": edge, "dictionaries": same, "deltas": spread} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			half := len(rows) / 2
			m := write(t, dir, tab, batchOf(t, tab, rows[:half]...), batchOf(t, tab, rows[half:]...))[0]
			file := filepath.Join(dir, FileName(m.ID))
			got := query(t, fmt.Sprintf(`select columns(*)::varchar from read_parquet('%s') order by ts limit 3`, file))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			got = query(t, fmt.Sprintf(`select count(*), sum(ts::timestamp_ns::varchar::timestamp_ns = make_timestamp_ns(0)) `+
				`is null from read_parquet('%s')`, file))
			if !strings.Contains(got, fmt.Sprint(len(rows))) {
				t.Errorf("count: %s", got)
			}
			got = query(t, fmt.Sprintf(`select string_agg(column_type, ' ') from (describe select * from read_parquet('%s'))`,
				file))
			types := "TIMESTAMP_NS BOOLEAN TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT FLOAT DOUBLE " +
				"VARCHAR BLOB VARCHAR TIMESTAMP TIMESTAMP TIMESTAMP TIMESTAMP_NS"
			if !strings.Contains(got, types) {
				t.Errorf("types: %s", got)
			}
		})
	}
}

// TestNamesInDuckDB writes column names that would confuse an engine that ignores case or splits
// names at dots.
func TestNamesInDuckDB(t *testing.T) {
	tab := tableOf(t, "ts:TimestampMillisecond:TIMESTAMP", "a.b:Int64", "A.B:Int64", `q"u'o`+"`:Int64", " :Int64",
		"日本:Int64", "a:Int64")
	dir := t.TempDir()
	m := write(t, dir, tab, batchOf(t, tab, row{
		"ts": 1, "a.b": 1, "A.B": 2, `q"u'o` + "`": 3, " ": 4, "日本": 5, "a": 6,
	}))[0]
	got := query(t, fmt.Sprintf(`select * exclude (ts) from read_parquet('%s')`, filepath.Join(dir, FileName(m.ID))))
	want := `a.b|A.B#3|q"u'o` + "`| |日本|a\n1|2|3|4|5|6\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m.Columns[2].Name != "A.B#3" || m.Columns[2].ID != 3 {
		t.Errorf("meta has %+v", m.Columns[2])
	}
}

// TestFiltersInDuckDB makes the engine prune by the bounds in the file.
func TestFiltersInDuckDB(t *testing.T) {
	tab := tableOf(t, "host:String:TAG", "ts:TimestampMillisecond:TIMESTAMP", "f:Float64", "u:UInt32")
	var batches []*column.Batch
	for b := range 5 {
		var rows []row
		for i := range 1000 {
			f := float64(i) - 500
			if i%10 == 0 {
				f = math.NaN()
			}
			rows = append(rows, row{"host": fmt.Sprint("h", i%7), "ts": b*1000 + i, "f": f, "u": int64(i) << 22})
		}
		batches = append(batches, batchOf(t, tab, rows...))
	}
	dir := t.TempDir()
	m := write(t, dir, tab, batches...)[0]

	for where, want := range map[string]int{
		"host = 'h3'":                       5 * 143,
		"ts >= make_timestamp(4e6::bigint)": 1000,
		"f > 400":                           5 * 90, // NaN sorts after all numbers, see below
		"u > 4000000000":                    5 * 46,
		"u >= 2147483648":                   5 * 488,
		"host is null":                      0,
	} {
		clause := where
		if strings.HasPrefix(where, "f ") {
			clause += " and not isnan(f)"
		}
		got := query(t, fmt.Sprintf(`select count(*) as n from read_parquet('%s') where %s`,
			filepath.Join(dir, FileName(m.ID)), clause))
		if got != fmt.Sprintf("n\n%d\n", want) {
			t.Errorf("%s: %s, want %d", where, got, want)
		}
	}
}
