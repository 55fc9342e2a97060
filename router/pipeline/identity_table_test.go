package pipeline

import "testing"

// TestIdentityTable tests the rules for existing tables.
func TestIdentityTable(t *testing.T) {
	runIdentityCases(t, []identityCase{
		// An existing table.
		{
			"lenient numbers",
			changes{having("svc_timestamp TimestampNanosecond ti, d Float64, f Float32, b Int8, u UInt16, w UInt64")},
			`[{"d":1,"f":2,"b":-128,"u":65535,"w":9223372036854775807},{"d":9007199254740992,"f":0.1},{"d":2.5,"f":16777216}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			b Int8: -128 - -
			d Float64: 1.0 9007199254740992.0 2.5
			f Float32: 2.0 0.1 16777216.0
			u UInt16: 65535 - -
			w UInt64: 9223372036854775807 - -`,
		},
		{
			"int64 beyond 2^53",
			changes{having("svc_timestamp TimestampNanosecond ti, d Float64")},
			`[{"d":9007199254740993}]`,
			`!record 0: column "d" of table "t": expected Float64, actual Int64 9007199254740993, which it cannot hold ` +
				`without loss`,
		},
		{
			"float32 overflow",
			changes{having("svc_timestamp TimestampNanosecond ti, f Float32")},
			`[{"f":1e300}]`,
			`!expected Float32, actual Float64 1e300`,
		},
		{
			"float32 precision",
			changes{having("svc_timestamp TimestampNanosecond ti, f Float32")},
			`[{"f":0.123456789012}]`, `!expected Float32, actual Float64 0.123456789012`,
		},
		{
			"float32 integer",
			changes{having("svc_timestamp TimestampNanosecond ti, f Float32")},
			`[{"f":16777217}]`,
			`!expected Float32, actual Int64 16777217`,
		},
		{
			"int8 range",
			changes{having("svc_timestamp TimestampNanosecond ti, b Int8")},
			`[{"b":128}]`,
			`!expected Int8, actual Int64 128`,
		},
		{
			"unsigned",
			changes{having("svc_timestamp TimestampNanosecond ti, b UInt64")},
			`[{"b":-1}]`,
			`!expected UInt64, actual Int64 -1`,
		},
		{
			"no text from numbers",
			changes{having("svc_timestamp TimestampNanosecond ti, s String")},
			`[{"s":1}]`,
			`!record 0: column "s" of table "t": expected String, actual Int64`,
		},
		{
			"no numbers from floats",
			changes{having("svc_timestamp TimestampNanosecond ti, n Int64")},
			`[{"n":1.0}]`,
			`!column "n" of table "t": expected Int64, actual Float64`,
		},
		{
			"booleans are exact",
			changes{having("svc_timestamp TimestampNanosecond ti, n Boolean")},
			`[{"n":1}]`,
			`!column "n" of table "t": expected Boolean, actual Int64`,
		},
		{
			"a timestamp field takes no integer",
			changes{having("svc_timestamp TimestampNanosecond ti, x TimestampSecond")},
			`[{"x":1}]`,
			`!expected TimestampSecond, actual Int64`,
		},
		{
			"conflicts are skipped by record",
			changes{skipErrors, having("svc_timestamp TimestampNanosecond ti, n Int64")},
			`[{"n":1},{"n":"x"},{"n":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			n Int64: 1 3
			skipped 1 of 3: record 1: column "n" of table "t": expected Int64, actual String: "x"`,
		},
		{
			"json takes anything",
			changes{having("svc_timestamp TimestampNanosecond ti, j Json, a.j Json")},
			`[{"j":1},{"j":"x\""},{"j":1.50},{"j":true},{"j":[ 1]},{"j":{"b":1,"a":{}},"a":{"j":{"k": 1}}},{"j":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2 now+3 now+4 now+5 now+6
			a.j Json: - - - - - "{\"k\":1}" -
			j Json: "1" "\"x\\\"\"" "1.5" "true" "[1]" "{\"a\":{},\"b\":1}" -`,
		},
		{"tags are adopted", changes{having("svc_timestamp TimestampNanosecond ti, k String tag")}, `[{"k":"x","v":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			k String TAG: "x"
			v Int64: 1`},
		{
			"not null",
			changes{having("svc_timestamp TimestampNanosecond ti, k Int64 not null")},
			`[{"k":1},{"v":1}]`,
			`!record 1: missing column "k"`,
		},
		{
			"null into not null",
			changes{having("svc_timestamp TimestampNanosecond ti, k Int64 not null"), skipErrors},
			`[{"k":null},{"k":2,"v":"x"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			k Int64: 2
			v String: "x"
			skipped 1 of 2: record 0: missing column "k": table "t" has it NOT NULL and without a default`,
		},
		{
			"defaults",
			changes{
				having("svc_timestamp TimestampNanosecond ti, k Int64 default 7, s String default 'it''s', b Boolean default " +
					"true, f Float64 default 0.5, x TimestampMillisecond default now(), n Int64 default NULL"),
			},
			`[{},{"k":1,"s":"x","b":false,"f":2},{"n":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			b Boolean: 1 0 1
			f Float64: 0.5 2.0 0.5
			k Int64: 7 1 7
			n Int64: - - 1
			s String: "it's" "x" "it's"
			x TimestampMillisecond: 1700000000000 1700000000000 1700000000000`,
		},
		{
			"another time index, and records without a time",
			changes{having("ts TimestampNanosecond ti")},
			`[{"a":1}]`,
			`!record 0: table "t" has the time index "ts", but these records have "svc_timestamp"; ` +
				`if they have a time in "ts", add the parameter custom_time_index=ts;rfc3339 (or ;epoch;ms, ` +
				`;datestr;PATTERN) to the URL of the request: ` +
				`/v1/ingest?table=t&pipeline_name=svc_identity&custom_time_index=ts;rfc3339; ` +
				`if they have none, the table needs svc_timestamp TIMESTAMP(9) TIME INDEX in CREATE TABLE`,
		},
		{
			"the time of arrival before",
			changes{having(now), timeIndex("at;epoch;ms")},
			`[{"at":1}]`,
			`!record 0: table "t" has the time index "svc_timestamp", but these records have "at"; ` +
				`without custom_time_index, rows get the time of their arrival there; to use the time of "at", ` +
				`drop or rename the table and send all rows again`,
		},
		{
			"another field before",
			changes{having("ts TimestampNanosecond ti"), timeIndex("at;epoch;ms")},
			`[{"at":1}]`,
			`!but these records have "at"; name "ts" by custom_time_index; or drop or rename`,
		},
		{"another unit, rounded down", changes{having("svc_timestamp TimestampMillisecond ti")}, `[{"a":1}]`, `
			t
			svc_timestamp TimestampMillisecond TIMESTAMP: 1700000000000
			a Int64: 1`},
		{
			"custom index into another unit",
			changes{timeIndex("at;epoch;ms"), having("at TimestampSecond ti")},
			`[{"at":-1},{"at":1999}]`, `
			t
			at TimestampSecond TIMESTAMP: -1 1`,
		},
		{
			"custom index into a finer unit",
			changes{timeIndex("at;epoch;s"), having("at TimestampNanosecond ti"), skipErrors},
			`[{"at":1},{"at":9223372037}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1000000000
			skipped 1 of 2: record 1: time index "at": ` +
				`9223372037 of TimestampSecond is out of the range of a TimestampNanosecond, ` +
				`which is 1677-09-21 00:12:44 to 2262-04-11 23:47:16`,
		},
		{
			"options of an existing table stay",
			changes{having("svc_timestamp TimestampNanosecond ti")},
			`[{"svc_ttl":"instant"}]`, `
			t ttl=instant
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`,
		},
		{"an existing instant table", changes{having("svc_timestamp TimestampNanosecond ti", "ttl", "instant")}, `[{}]`, `
			t discard
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"no new column without auto-create", changes{
			having("svc_timestamp TimestampNanosecond ti, a Int64"), skipErrors,
			hints(map[string]string{"auto_create_table": "false"}),
		}, `[{"a":1},{"b":1}]`, `
			t nocreate
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1
			skipped 1 of 2: record 1: table "t" has no column "b", and adding columns is disabled with auto_create_table`},
	})
}
