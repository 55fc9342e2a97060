package pipeline

import (
	"testing"
)

func TestTransform(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{
			"listed only", timeList + "- {field: 'n, count', type: int32}\n- {field: s, type: string}", nil,
			`[{"t":5,"n":"7","s":true,"x":1},{"t":"6"}]`, `
			t
			t TimestampSecond TIMESTAMP: 5 6
			count Int32: 7 -
			s String: "true" -`,
		},
		{"no time index adds one, last", "transform:\n- {field: n, type: uint8, tag: true}", nil, `[{"n":255}]`, `
			t
			n UInt8 TAG: 255
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`},
		{"time index in the middle", "transform:\n- {fields: [a, b], type: float64}\n- {field: t, type: time, index: " +
			"time}\n- {field: c, type: bool}", nil, `[{"t":5,"a":1,"c":"false"}]`, `
			t
			a Float64: 1.0
			b Float64: -
			t TimestampNanosecond TIMESTAMP: 5
			c Boolean: 0`},
		{
			"version 2 keeps the rest", "version: 2\n" + timeList + "- {field: 'n, m', type: int8}", nil,
			`[{"t":5,"n":1,"z":1,"b":{"y":[1,1.0]},"a":null,"f":0.5},{"t":6,"a":"x","m":9}]`, `
			t
			t TimestampSecond TIMESTAMP: 5 6
			m Int8: 1 -
			b Json: "{\"y\":[1,1.0]}" -
			f Float64: 0.5 -
			z Int64: 1 -
			a String: - "x"`,
		},
		{"time index missing", timeList, nil, `[{"x":1}]`, `!record 0: time index "t" must not be null`},
		{"time index null", timeList, nil, `[{"t":null}]`, `!record 0: time index "t" must not be null`},
		{
			"time index, now", "transform:\n- {field: t, type: epoch, index: timestamp, on_failure: default}", nil,
			`[{"t":null},{}]`, `
			t
			t TimestampNanosecond TIMESTAMP: now+0 now+1`,
		},
		{
			"time index, bad in spite of default",
			"transform:\n- {field: t, type: epoch, index: timestamp, on_failure: default}", nil, `[{"t":"x"}]`,
			`!Transform of field "t": expected TimestampNanosecond, found string; add a ` + "`date`" +
				` processor for the field, with the formats of its texts: "x"`,
		},
		{
			"failure", timeList + "- {field: n, type: int8}", nil, `[{"t":1,"n":"x"}]`,
			`!record 0: Transform of field "n": expected Int8, found string: "x"`,
		},
		{
			"failure skipped", timeList + "- {field: n, type: int8}",
			[]func(*Request){skipErrors},
			`[{"t":1,"n":"x"},{"t":2,"n":3},{"t":3,"n":300}]`, `
			t
			t TimestampSecond TIMESTAMP: 2
			n Int8: 3
			skipped 2 of 3: record 0: Transform of field "n": expected Int8, found string: "x" | record 2: ` +
				`Transform of field "n": expected Int8, found integer: 300`,
		},
		{
			"on_failure and default", timeList + `
- {field: a, type: int8, on_failure: ignore}
- {field: b, type: int8, on_failure: default}
- {field: c, type: int8, default: 7}
- {field: d, type: string, default: 1.5}
- {field: e, type: boolean, on_failure: default, default: "true"}`, nil,
			`[{"t":1,"a":"x","b":"x","c":"x","e":"x"},{"t":2},{"t":3,"a":null,"b":null,"c":null,"d":null,"e":null}]`, `
			t
			t TimestampSecond TIMESTAMP: 1 2 3
			a Int8: - - -
			b Int8: 0 - -
			c Int8: 7 7 -
			d String: "1.5" "1.5" -
			e Boolean: 1 1 -`,
		},
		{
			"existing table", timeList + "- {field: n, type: int64}\n- {field: k, type: string, tag: true}",
			[]func(*Request){having("t TimestampMillisecond ti, n Int32, k String tag, d Int64 default 7, z String")},
			`[{"t":5,"n":1,"k":"a"}]`, `
			t
			t TimestampMillisecond TIMESTAMP: 5000
			d Int64: 7
			k String TAG: "a"
			n Int32: 1`,
		},
		{"existing table, other type", timeList + "- {field: n, type: string}", []func(*Request){
			having("t TimestampSecond ti, n Int32"), skipErrors,
		}, `[{"t":5,"n":1},{"t":6}]`, `
			t
			t TimestampSecond TIMESTAMP: 6
			n Int32: -
			skipped 1 of 2: record 0: column "n" of table "t": expected Int32, actual String: "1"`},
		{
			"existing table, other role", timeList + "- {field: n, type: string}",
			[]func(*Request){having("t TimestampSecond ti, n String tag")},
			`[{"t":5,"n":1}]`,
			`!table "t" has the column "n" as TAG, but the pipeline lists it as FIELD`,
		},
		{
			"existing table, other time index", timeList,
			[]func(*Request){having("u TimestampSecond ti")},
			`[{"t":5}]`,
			`!table "t" has the time index "u", but these records have "t"; make "u" the time index of the pipeline, ` +
				`in its transform list or by date or epoch; or drop or rename`,
		},
		{
			"empty list is none", "transform: []", nil, `[{"a":1}]`,
			"t\nsvc_timestamp TimestampNanosecond TIMESTAMP: now+0\na Int64: 1",
		},
		{
			"transforms wins", "transform: [{field: a, type: string}]\ntransforms: [{field: b, type: string}]", nil,
			`[{"a":1,"b":2}]`, `
			t
			b String: "2"
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0`,
		},
		{
			"null into not null", timeList + "- {field: n, type: int64}",
			[]func(*Request){having("t TimestampSecond ti, n Int64 not null")},
			`[{"t":5}]`, `!missing column "n"`,
		},
	})
}

func TestAutoTransform(t *testing.T) {
	checkPipelines(t, nil, []pipelineCase{
		{"no time", "processors: [{letter: {field: a}}]", nil, `[{"b":1,"a":"X","o":{"p":"q"},"l":[1],"svc_timestamp":3}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a String: "x"
			b Int64: 1
			l Json: "[1]"
			o Json: "{\"p\":\"q\"}"`},
		{
			"date", "processors: [{date: {field: time, formats: ['%Y-%m-%d %H:%M:%S%.3f']}}]", nil,
			`[{"id":"2436","time":"2024-05-25 20:16:37.217"}]`, `
			t
			time TimestampNanosecond TIMESTAMP: 1716668197217000000
			id String: "2436"`,
		},
		{
			"date that a record may lack", "processors: [{date: {field: time, ignore_missing: true}}]", nil,
			`[{"time":"2024-05-25T20:16:37Z"},{"x":1}]`, `
			t
			time TimestampNanosecond TIMESTAMP: 1716668197000000000 now+1
			x Int64: - 1`,
		},
		{
			"two dates", "processors: [{date: {fields: [a, b], ignore_missing: true}}]", nil, `[]`,
			`!2 fields could be the time index`,
		},
		{
			"one that must be there", "processors: [{date: {field: a, ignore_missing: true}}, {date: {field: 'b, c'}}]", nil,
			`[{"b":"2024-05-25T20:16:37Z"}]`, `
			t
			c TimestampNanosecond TIMESTAMP: 1716668197000000000
			b String: "2024-05-25T20:16:37Z"`,
		},
		{"types must agree", "{}", []func(*Request){skipErrors}, `[{"a":1,"b":1},{"c":1,"a":"x"},{"a":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+2
			a Int64: 1 2
			b Int64: 1 -
			skipped 1 of 3: record 1: column "a": expected Int64 as in an earlier record, actual String: "x"`},
		{"existing table", "{}", []func(*Request){
			having("svc_timestamp TimestampNanosecond ti, a Float64, j Json, s String"),
		}, `[{"a":1,"j":"x"},{"a":0.5,"j":{"b":1}}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0 now+1
			a Float64: 1.0 0.5
			j Json: "\"x\"" "{\"b\":1}"`},
		{"same key twice", "{}", nil, `[{"b":1,"a":1,"b":2}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a Int64: 1
			b Int64: 2`},
		{"escapes", "{}", nil, `[{"a\n\"b":"c\u00e4\t"}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			a
			"b String: "cä\t"`},
		{"no map", "{}", []func(*Request){skipErrors}, `[7,{"a":1}]`, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			a Int64: 1
			skipped 1 of 2: record 0: Top level value must be map`},
		{"syntax", "{}", nil, `{"a":1,}`, `!a key in quotes`},
		{"text", "processors: [{letter: {field: message, method: upper}}]", nil, "text:hello", `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			message String: "HELLO"`},
		{
			"processor fails", "processors: [{letter: {field: x}}, {letter: {field: a}}]", nil, `[{"x":"","a":7}]`,
			`!record 0: Processor letter: expected a string, found an integer: 7 (field "a", processors[1])`,
		},
	})
}
