package pipeline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type changes = []func(*Request)

// TestIdentity has a case per rule of what becomes of records.
func TestIdentity(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change changes
		in     string // a JSON array of records
		want   string // a dump, or the error's text after a !
	}{
		// Flattening and types.
		{"worked example 1", nil, `[{"u":"ann","n":1},{"u":"bob","x":{"y":true}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			n Int64: 1 -
			u String: "ann" "bob"
			x.y Boolean: - 1`},
		{
			"every type", nil,
			`[{"s":"x","i":-5,"f":1.0,"e":1e3,"b":false,"a":[1, {"z":0,"a":1.50}],"n":null,"o":{},"big":9223372036854775808}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "[1,{\"a\":1.5,\"z\":0}]"
			b Boolean: 0
			big UInt64: 9223372036854775808
			e Float64: 1000.0
			f Float64: 1.0
			i Int64: -5
			s String: "x"`,
		},
		{"empty record", nil, `[{}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"no records", nil, `[]`, ``},
		{"null is nothing at every level", nil, `[{"a":null,"b":{"c":null,"d":{"e":null}}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"worked example 5: max_nested_levels=2", changes{levels(2)}, `[{"a":{"b":{"c":1}},"e":[1,{"z":0}]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.b String: "{\"c\":1}"
			e String: "[1,{\"z\":0}]"`},
		{"one level", changes{levels(1)}, `[{"a":{"b": 1},"c":{}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "{\"b\":1}"
			c String: "{}"`},
		{"default is ten levels", nil, `[{"1":{"2":{"3":{"4":{"5":{"6":{"7":{"8":{"9":{"10":{"11":0}}}}}}}}}}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			1.2.3.4.5.6.7.8.9.10 String: "{\"11\":0}"`},
		{"empty objects", changes{levels(2)}, `[{"a":{},"b":{"c":{}}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			b.c String: "{}"`},
		{"empty arrays", nil, `[{"a":[],"b":[ ]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "[]"
			b String: "[]"`},
		{"escapes in keys and values", nil, `[{"a\u0062":"x\ty\u00e9","q\"":"\ud83d"},{"ab":"z","q\"":"\\"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			ab String: "x\tyé" "z"
			q" String: "�" "\\"`},

		// Order of columns.
		{"keys of a record are sorted per level", nil, `[{"b":{"z":1,"a":2},"a":3,"b.m":4},{"c":1,"aa":2,"b":{"b":5}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Int64: 3 -
			b.a Int64: 2 -
			b.z Int64: 1 -
			b.m Int64: 4 -
			aa Int64: - 2
			b.b Int64: - 5
			c Int64: - 1`},

		// The same name twice.
		{"last of equal keys wins", nil, `[{"a":1,"b":2,"a":"x"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "x"
			b Int64: 2`},
		{"last of equal keys is null", nil, `[{"a":1,"a":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"last of equal objects wins", nil, `[{"a":{"x":1},"a":{"y":2}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.y Int64: 2`},
		{"equal by escape", nil, `[{"a":1,"\u0061":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 2`},
		{"colliding names", nil, `[{"a.b":1,"a":{"b":2}}]`, `!record 0: two fields become the column "a.b"`},
		{"colliding names the other way round", nil, `[{"a":{"b":2},"a.b":1}]`, `!two fields become the column "a.b"`},
		{"no name collides with a null", nil, `[{"a":{"b":5},"a.b":null},{"a":{"b":null},"a.b":6}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a.b Int64: 5 6`},
		{"an integer beyond int64", nil, `[{"id":12345678901234567890},{"id":12345678901234567891},{"id":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			id UInt64: 12345678901234567890 12345678901234567891 3`},
		{"a column that turns out unsigned", nil, `[{"id":1},{"x":2},{"id":18446744073709551615}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2
			id UInt64: 1 - 18446744073709551615
			x Int64: - 2 -`},
		{
			"unsigned beside a negative", nil, `[{"id":-1},{"id":9223372036854775808}]`,
			`!column "id": expected Int64 as in an earlier record, actual UInt64: 9223372036854775808`,
		},
		{"a negative beside unsigned", nil, `[{"id":9223372036854775808},{"id":-1}]`, `!column "id"`},
		{
			"a dropped record leaves no type",
			changes{skipErrors},
			`[{"id":1,"z":1},{"id":9223372036854775808,"z":"text"},{"id":-1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			id Int64: 1 -1
			z Int64: 1 -
			skipped 1 of 3: record 1: column "z": expected Int64 as in an earlier record, actual String: "text"`,
		},
		{
			"unsigned in a table's column",
			changes{having("svc_timestamp TimestampNanosecond ti, u UInt64, j Json")},
			`[{"u":9223372036854775808,"j":9223372036854775808}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			j Json: "9223372036854775808"
			u UInt64: 9223372036854775808`,
		},
		{
			"unsigned in a signed column",
			changes{having("svc_timestamp TimestampNanosecond ti, u Int64")},
			`[{"u":9223372036854775808}]`, `!expected Int64, actual UInt64: 9223372036854775808`,
		},
		{
			"unsigned in a float column",
			changes{having("svc_timestamp TimestampNanosecond ti, u Float64")},
			`[{"u":9223372036854775809}]`, `!without loss`,
		},
		{"an exact float", nil, `[{"id":18446744073709551616}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			id Float64: 1.8446744073709552e19`},
		{
			"an integer that nothing holds", nil, `[{"id":18446744073709551617}]`,
			`!beyond -9223372036854775808 to 18446744073709551615`,
		},
		{"scalar and object by one key", nil, `[{"a":1},{"a":{"b":2}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Int64: 1 -
			a.b Int64: - 2`},

		// Conflicts in the batch.
		{
			"worked example 2", nil, `[{"n":1},{"n":"two"}]`,
			`!record 1: column "n": expected Int64 as in an earlier record, actual String: "two"`,
		},
		{"worked example 2, skip_error", changes{skipErrors}, `[{"n":1},{"n":"two"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			n Int64: 1
			skipped 1 of 2: record 1: column "n": expected Int64 as in an earlier record, actual String: "two"`},
		{
			"bool against string", nil, `[{"a":true},{"a":"true"}]`,
			`!record 1: column "a": expected Boolean as in an earlier record, actual String`,
		},
		{"string against array is none", nil, `[{"a":"x"},{"a":[1]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a String: "x" "[1]"`},
		{"who comes first decides", changes{skipErrors}, `[{"a":"x"},{"a":1},{"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "x"
			skipped 2 of 3: record 1: column "a": expected String as in an earlier record, actual Int64: 1 | record 2: ` +
			`column "a": expected String as in an earlier record, actual Int64: 2`},
		{
			"columns of a dropped record vanish",
			changes{skipErrors},
			`[{"a":1},{"new":{"x":1,"y":2},"a":"bad"},{"new":{"x":"s"},"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			a Int64: 1 2
			new.x String: - "s"
			skipped 1 of 3: record 1: column "a": expected Int64 as in an earlier record, actual String: "bad"`,
		},
		{
			"variables of the client refused",
			changes{skipErrors, func(q *Request) { q.NoClientVariables = true }},
			`[{"a":1,"svc_ttl":"1d"},{"a":2,"svc_ttl":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 2
			skipped 1 of 2: record 0: the record sets svc_ttl, and this server lets only pipelines set table options`,
		},
		{"a dropped first record decides nothing", changes{skipErrors}, `[{"a":1,"svc_ttl":"soon"},{"a":"x"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a String: "x"
			skipped 1 of 2: record 0: Failed to parse table option, key: ttl, value: ` +
			`soon (want an integer with a unit at "soon")`},

		// Not a record.
		{"not an object", nil, `[1]`, `!record 0: Top level value must be map`},
		{"not an object, skip_error", changes{skipErrors}, `[[{}],"x",{"a":1},null]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+2
			a Int64: 1
			skipped 3 of 4: record 0: Top level value must be map | record 1: Top level value must be map | record 3: ` +
			`Top level value must be map`},

		// The time index.
		{"the client's svc_timestamp is dropped", nil, `[{"svc_timestamp":"x","a":1},{"svc_timestamp":[{}]}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Int64: 1 -`},
		{
			"another name for it",
			changes{func(q *Request) { q.TimestampColumn = "timestamp" }},
			`[{"timestamp":1,"svc_timestamp":2}]`, `
			t
			timestamp TimestampNanosecond TIMESTAMP: now+0
			svc_timestamp Int64: 2`,
		},
		{"worked example 3", changes{timeIndex("at;epoch;s")}, `[{"at":"1700000000","m":"hi"}]`, `
			t
			at TimestampSecond TIMESTAMP: 1700000000
			m String: "hi"`},
		{"worked example 4", changes{timeIndex("at;datestr;%Y-%m-%d %H:%M:%S%:z")}, `[{"at":"2024-05-06 07:08:09+02:00"}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1714972089000000000`},
		{
			"datestr without offset is UTC",
			changes{timeIndex("at;datestr;%Y-%m-%dT%H:%M:%S%.f")},
			`[{"at":"2024-05-06T07:08:09.5"}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1714979289500000000`,
		},
		{"epoch units", changes{timeIndex("at;epoch;us")}, `[{"at":-7},{"at":"-8"}]`, `
			t
			at TimestampMicrosecond TIMESTAMP: -7 -8`},
		{"nested field", changes{timeIndex("a.b;epoch;ms")}, `[{"a":{"b":5,"c":1}},{"a.b":6}]`, `
			t
			a.b TimestampMillisecond TIMESTAMP: 5 6
			a.c Int64: 1 -`},
		{
			"colliding time index",
			changes{timeIndex("a.b;epoch;ms")},
			`[{"a.b":6,"a":{"b":5}}]`,
			`!two fields become the column "a.b"`,
		},
		{
			"the last nanosecond is infinity",
			changes{timeIndex("at;epoch;ns")},
			`[{"at":9223372036854775807}]`,
			`!out of range, which is -9223372036854775806 to 9223372036854775806`,
		},
		{"and the first one", changes{timeIndex("at;epoch;us")}, `[{"at":-9223372036854775807}]`, `!out of range`},
		{"the last time", changes{timeIndex("at;epoch;ns")}, `[{"at":9223372036854775806},{"at":"-9223372036854775806"}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 9223372036854775806 -9223372036854775806`},
		{"svc_timestamp is a field then", changes{timeIndex("at;epoch;ms")}, `[{"at":1,"svc_timestamp":2}]`, `
			t
			at TimestampMillisecond TIMESTAMP: 1
			svc_timestamp Int64: 2`},
		{
			"missing",
			changes{timeIndex("at;epoch;ms")},
			`[{"a":1}]`,
			`!record 0: time index "at": the field is missing or null`,
		},
		{
			"null",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":null}]`,
			`!record 0: time index "at": the field is missing or null`,
		},
		{
			"fractions, rounded down",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":1.5},{"at":-1.5},{"at":"-0.25"},{"at":1.7e12}]`, `
			t
			at TimestampMillisecond TIMESTAMP: 1 -2 -1 1700000000000`,
		},
		{
			"fractions in a finer column",
			changes{timeIndex("at;epoch;s"), having("at TimestampNanosecond ti")},
			`[{"at":1767607200.123456},{"at":"1767607200.123456789"},{"at":-1.5},{"at":"-0.0000000001"}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1767607200123456000 1767607200123456789 -1500000000 -1`,
		},
		{
			"fractions in a coarser column",
			changes{timeIndex("at;epoch;ms"), having("at TimestampSecond ti")},
			`[{"at":1999.5},{"at":-0.5}]`, `
			t
			at TimestampSecond TIMESTAMP: 1 -1`,
		},
		{
			"fractions at the ends of time",
			changes{timeIndex("at;epoch;s"), having("at TimestampNanosecond ti")},
			`[{"at":"9223372036.854775806"},{"at":"-9223372036.854775806"},{"at":-9223372036.5}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 9223372036854775806 -9223372036854775806 -9223372036500000000`,
		},
		{
			"a fraction beyond the last time",
			changes{timeIndex("at;epoch;s"), having("at TimestampNanosecond ti"), skipErrors},
			`[{"at":9223372036.9},{"at":"9223372036.854775807"},{"at":-9223372036.9},{"at":1}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1000000000
			skipped 3 of 4: record 0: time index "at": ` +
				`9223372036 of TimestampSecond is out of the range of a TimestampNanosecond, ` +
				`which is 1677-09-21 00:12:44 to 2262-04-11 23:47:16 | record 1: time index "at": ` +
				`9223372036 of TimestampSecond is out of the range of a TimestampNanosecond, ` +
				`which is 1677-09-21 00:12:44 to 2262-04-11 23:47:16 | record 2: time index "at": ` +
				`-9223372037 of TimestampSecond is out of the range of a TimestampNanosecond, ` +
				`which is 1677-09-21 00:12:44 to 2262-04-11 23:47:16`,
		},
		{
			"a fraction out of range",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":1e300}]`,
			`!record 0: time index "at": 1e+300 of TimestampMillisecond is out of range`,
		},
		{
			"rfc3339",
			changes{timeIndex("at;rfc3339")},
			`[{"at":"2026-01-05T10:00:00.123456789+02:00"},{"at":"2026-01-05T08:00:00Z"}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1767600000123456789 1767600000000000000`,
		},
		{
			"a year that nanoseconds do not hold",
			changes{timeIndex("at;rfc3339"), skipErrors},
			`[{"at":"9999-01-01T00:00:00Z"},{"at":"0001-01-01T00:00:00Z"},{"at":"2026-01-01T00:00:00Z"}]`, `
			t
			at TimestampNanosecond TIMESTAMP: 1767225600000000000
			skipped 2 of 3: record 0: time index "at": time "9999-01-01T00:00:00Z" does not match pattern "%+": ` +
				`input is out of range; nanoseconds hold 1677-09-21 00:12:44 to 2262-04-11 23:47:16 | record 1: ` +
				`time index "at": time "0001-01-01T00:00:00Z" does not match pattern "%+": ` +
				`input is out of range; nanoseconds hold 1677-09-21 00:12:44 to 2262-04-11 23:47:16`,
		},
		{
			"rfc3339 without a zone",
			changes{timeIndex("at;rfc3339")},
			`[{"at":"2026-01-01T00:00:00"}]`,
			`!(%+); a time of RFC 3339 ends in a zone, as Z or +02:00`,
		},
		{
			"Z for an offset",
			changes{timeIndex("at;datestr;%Y-%m-%dT%H:%M:%S%z")},
			`[{"at":"2026-01-01T00:00:00Z"}]`,
			`!input contains invalid characters at byte 19 (%z); %#z reads Z as well as offsets`,
		},
		{
			"Z for an offset with a colon",
			changes{timeIndex("at;datestr;%Y-%m-%dT%H:%M:%S %:z")},
			`[{"at":"2026-01-01T00:00:00 z"}]`,
			`!(%:z); %#z reads Z as well as offsets`,
		},
		{"not rfc3339", changes{timeIndex("at;rfc3339")}, `[{"at":"2026-01-05"}]`, `!record 0: time index "at": `},
		{
			"bool",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":true}]`,
			`!record 0: time index "at": expected a number, or a string holding one, actual Boolean`,
		},
		{
			"spaces",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":" 1"}]`,
			`!record 0: time index "at": the string " 1" is not a number of TimestampMillisecond; ` +
				`for times as text use at;rfc3339`,
		},
		{
			"datestr of a number",
			changes{timeIndex("at;datestr;%s")},
			`[{"at":1}]`,
			`!record 0: time index "at": expected a string (for times as numbers use at;epoch;s, or ms, us or ns), actual Int64`,
		},
		{
			"seconds out of range",
			changes{timeIndex("at;epoch;s")},
			`[{"at":9200000000001}]`,
			`!record 0: time index "at": 9200000000001 of TimestampSecond is out of range`,
		},
		{
			"milliseconds out of range",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":-9200000000000001}]`,
			`!record 0: time index "at": -9200000000000001 of TimestampMillisecond is out of range`,
		},
		{"at the edge", changes{timeIndex("at;epoch;s")}, `[{"at":-9200000000000},{"at":9200000000000}]`, `
			t
			at TimestampSecond TIMESTAMP: -9200000000000 9200000000000`},
		{"skip_error drops", changes{timeIndex("at;epoch;ms"), skipErrors}, `[{"at":"x"},{"at":2},{}]`, `
			t
			at TimestampMillisecond TIMESTAMP: 2
			skipped 2 of 3: record 0: time index "at": the string "x" is not a number of TimestampMillisecond; ` +
			`for times as text use at;rfc3339 or at;datestr;PATTERN | record 2: time index "at": the field is missing or null`},
		{
			"ignore_errors takes the clock",
			changes{timeIndex("at;epoch;s"), ignoreErrors},
			`[{"at":"x"},{"at":[1]},{"at":3},{}]`, `
			t
			at TimestampSecond TIMESTAMP: 1700000000 1700000000 3 1700000000`,
		},

		// Variables.
		{"suffix", nil, `[{"a":1},{"a":"x","svc_table_suffix":"_x"},{"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			a Int64: 1 2
			t_x
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a String: "x"`},
		{"numeric suffix", nil, `[{"svc_table_suffix":7}]`, `
			t7
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{
			"illegal suffix", nil, `[{"svc_table_suffix":" x"}]`,
			`!record 0: Invalid table name: "t x"; a table name begins with a letter or one of _ : ` +
				`- and continues with these, digits or . @ #`,
		},
		{"every option", nil, `[{"svc_ttl":"7d","svc_append_mode":false,"svc_merge_mode":"last_row",` +
			`"svc_physical_table":"p","svc_skip_wal":"TRUE","svc_auto_create_table":"false"}]`, `
			t ttl=7days merge_mode=last_row skip_wal=true physical_table=p append_mode=false nocreate
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"svc_table_ttl is svc_ttl, which wins", nil, `[{"svc_table_ttl":"1d"},{"svc_table_ttl":"1d","svc_ttl":"2d"}]`, `
			t ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			t ttl=2days
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1`},
		{"equal options by different texts", nil, `[{"svc_ttl":"1d"},{"svc_ttl":"24h"},{"svc_table_ttl":"1day"}]`, `
			t ttl=1day
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2`},
		{"null is not set", nil, `[{"svc_ttl":null,"svc_table_suffix":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"nested is an ordinary field", nil, `[{"a":{"svc_ttl":"1d"},"svc_ttl":{"x":1}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a.svc_ttl String: "1d"
			svc_ttl.x Int64: 1`},
		{"last_non_null turns append mode off", nil, `[{"svc_merge_mode":"last_non_null"}]`, `
			t merge_mode=last_non_null append_mode=false
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{
			"last_non_null with append mode", nil, `[{"svc_merge_mode":"last_non_null","svc_append_mode":"true"}]`,
			`!record 0: Invalid table options, merge_mode: last_non_null with append_mode: true; ` +
				`only last_row is allowed with append mode. Set append_mode to false`,
		},
		{"bad boolean", nil, `[{"svc_auto_create_table":"yes"}]`, `!hint must be a boolean`},
		{"bad skip_wal", nil, `[{"svc_skip_wal":1}]`, `!key: skip_wal, value: 1`},
		{"bad ttl", nil, `[{"svc_ttl":[1]}]`, `!key: ttl, value: [1]`},
		{"instant", nil, `[{"svc_ttl":"instant"}]`, `
			t ttl=instant discard
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"hints are defaults", changes{
			hints(map[string]string{"ttl": "3d", "skip_wal": "true", "read_preference": "leader"}),
		}, `[{},{"svc_ttl":"1d"}]`, `
			t ttl=3days skip_wal=true
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			t ttl=1day skip_wal=true
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1`},
		{"auto-create is off for all", changes{func(q *Request) { q.AutoCreate = false }}, `[{"a":1}]`, `
			t nocreate
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1`},

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
			"another time index, and no time",
			changes{having("ts TimestampNanosecond ti")},
			`[{"a":1}]`,
			`!record 0: table "t" has the time index "ts", and these records bring "svc_timestamp"; ` +
				`if they have a time in "ts", send custom_time_index=ts;rfc3339 (or ;epoch;ms, ;datestr;PATTERN); ` +
				`if they have none, the table needs svc_timestamp TIMESTAMP(9) TIME INDEX in CREATE TABLE`,
		},
		{
			"the time of arrival before",
			changes{having(now), timeIndex("at;epoch;ms")},
			`[{"at":1}]`,
			`!record 0: table "t" has the time index "svc_timestamp", and these records bring "at"; ` +
				`rows without custom_time_index go there, with the time of their arrival; to have the time of "at", ` +
				`drop or rename the table and send all rows again`,
		},
		{
			"another field before",
			changes{having("ts TimestampNanosecond ti"), timeIndex("at;epoch;ms")},
			`[{"at":1}]`,
			`!and these records bring "at"; name "ts" by custom_time_index; or drop or rename`,
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

		// Names and limits.
		{
			"reserved name", nil, `[{"__sequence":1}]`,
			`!record 0: Invalid column name: __sequence is reserved for internal use; ` + nameAdvice,
		},
		{
			"hidden name", nil, `[{"__op_type":1}]`,
			`!record 0: Invalid column name: __op_type is reserved for internal use; ` + nameAdvice,
		},
		{
			"NUL in a name", nil, `[{"a\u0000b":1}]`,
			`!record 0: Invalid column name: "a\x00b" contains a NUL character; ` + nameAdvice,
		},
		{"empty name", nil, `[{"":1}]`, `!record 0: Invalid column name: it is empty; ` + nameAdvice},
		{"empty segment", nil, `[{"a":{"":1}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a. Int64: 1`},
		{"a bad name with a null", nil, `[{"":null,"__sequence":null}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"long name", nil, `[{"a":{"` + strings.Repeat("k", 1023) + `":1}}]`, `!has 1025 bytes, at most 1024`},
		{"longest name", changes{skipErrors}, `[{"` + strings.Repeat("k", 1024) + `":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			` + strings.Repeat("k", 1024) + ` Int64: 1`},
		{"too many columns", changes{maxColumnsOf(3), skipErrors}, `[{"a":1},{"b":1,"c":1},{"b":2},{"c":1},{"a":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2 now+4
			a Int64: 1 - 3
			b Int64: - 2 -
			skipped 2 of 5: record 1: table "t" would get more than 3 columns with "c"; ` + manyColumnsAdvice +
			` | record 3: table "t" would get more than 3 columns with "c"; ` + manyColumnsAdvice},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := both(t, tt.change, elements(tt.in))
			if want, isErr := strings.CutPrefix(tt.want, "!"); isErr {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s\n%s", err, want, got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(trimLines(tt.want), trimLines(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const manyColumnsAdvice = "store fields that vary in an array, or lower max_nested_levels"

// Fields that are named tags become tags where their column is new and holds texts.
func TestIdentityTags(t *testing.T) {
	tags := func(q *Request) { q.Tags = map[string]bool{"host": true, "n": true, "old": true} }
	got, err := both(t, []func(*Request){tags}, []string{`{"n":1,"host":"a","other":"b","old":"c"}`})
	want := "t\n  svc_timestamp TimestampNanosecond TIMESTAMP: now+0\n  host String TAG: \"a\"\n  n Int64: " +
		"1\n  old String TAG: \"c\"\n  other String: \"b\"\n"
	if err != nil || got != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
	got, err = both(t, []func(*Request){tags, having("svc_timestamp TimestampNanosecond ti, old String")},
		[]string{`{"old":"c","host":"a"}`})
	if err != nil || !strings.Contains(got, "old String: ") || !strings.Contains(got, "host String TAG: ") {
		t.Errorf("in a table that exists\n%s%v", got, err)
	}
}

// Fields that are named JSON are kept whole where their column is new.
func TestIdentityJSON(t *testing.T) {
	asJSON := func(q *Request) { q.JSON = []string{"tags", "old"} }
	records := []string{`{"tags":{"b":[1],"a":"x"},"o":{"tags":{"p":1}}}`, `{"tags":"text"}`, `{"tags":null,"n":1}`}
	got, err := both(t, []func(*Request){asJSON}, records)
	want := "t\n  svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1 now+2\n" +
		"  o.tags.p Int64: 1 - -\n  tags Json: \"{\\\"a\\\":\\\"x\\\",\\\"b\\\":[1]}\" \"\\\"text\\\"\" -\n" +
		"  n Int64: - - 1\n"
	if err != nil || got != want {
		t.Errorf("got\n%s%v\nwant\n%s", got, err, want)
	}
	got, err = both(t, []func(*Request){asJSON, having("svc_timestamp TimestampNanosecond ti, old String")},
		[]string{`{"old":{"c":"d"}}`})
	if err != nil || !strings.Contains(got, "old.c String: ") {
		t.Errorf("in a table where it is a text\n%s%v", got, err)
	}
}
