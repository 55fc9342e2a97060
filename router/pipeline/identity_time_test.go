package pipeline

import "testing"

// TestIdentityTimeIndex tests the rules for the time of a row.
func TestIdentityTimeIndex(t *testing.T) {
	runIdentityCases(t, []identityCase{
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
			`!two fields have the column name "a.b"`,
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
			skipped 2 of 3: record 0: time index "at": time "9999-01-01T00:00:00Z" cannot be read as RFC 3339: ` +
				`input is out of range; nanoseconds hold 1677-09-21 00:12:44 to 2262-04-11 23:47:16 | record 1: ` +
				`time index "at": time "0001-01-01T00:00:00Z" cannot be read as RFC 3339: ` +
				`input is out of range; nanoseconds hold 1677-09-21 00:12:44 to 2262-04-11 23:47:16`,
		},
		{
			"rfc3339 without a zone",
			changes{timeIndex("at;rfc3339")},
			`[{"at":"2026-01-01T00:00:00"}]`,
			`!cannot be read as RFC 3339: premature end of input at byte 19; a ` +
				`time in RFC 3339 ends with an offset, such as Z or +02:00`,
		},
		{
			"Z for an offset",
			changes{timeIndex("at;datestr;%Y-%m-%dT%H:%M:%S%z")},
			`[{"at":"2026-01-01T00:00:00Z"}]`,
			`!input contains invalid characters at byte 19 (%z); %#z accepts Z as well as offsets`,
		},
		{
			"Z for an offset with a colon",
			changes{timeIndex("at;datestr;%Y-%m-%dT%H:%M:%S %:z")},
			`[{"at":"2026-01-01T00:00:00 z"}]`,
			`!(%:z); %#z accepts Z as well as offsets`,
		},
		{"not rfc3339", changes{timeIndex("at;rfc3339")}, `[{"at":"2026-01-05"}]`, `!record 0: time index "at": `},
		{
			"bool",
			changes{timeIndex("at;epoch;ms")},
			`[{"at":true}]`,
			`!record 0: time index "at": expected a number, or a number in a string, actual Boolean`,
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
	})
}

// TestIdentityVariables tests the rules for variables in the names of tables.
func TestIdentityVariables(t *testing.T) {
	runIdentityCases(t, []identityCase{
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
	})
}
